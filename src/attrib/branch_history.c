/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/branch_history.h"

#include "attrib/lbr.h"
#include "attrib/place.h"

#define CALL_BYTES 8 /* of the longest call instruction */

bool branch_history_event(const struct event *e)
{
	return e->attr.sample_type & PERF_SAMPLE_BRANCH_STACK && !lbr_event(e);
}

/* Do the last `n` branches begin where the `n` before them did? */
static bool repeats(const struct branch_history *past, u32 n)
{
	const struct history_branch *last = past->v + past->n - n;

	for (u32 i = 0; i < n; i++)
		if (last[i].b.from != last[(s64)i - n].b.from)
			return false;
	return true;
}

/* The last `n` branches are another round of those before them. */
static void drop_round(struct branch_history *past, u32 n)
{
	struct history_branch *kept = &past->v[past->n - n - 1];

	for (u32 i = 1; i <= n; i++)
		kept->round_cycles += branch_cycles(kept[i].b.flags) + kept[i].round_cycles;
	kept->rounds++;
	past->n -= n;
}

void branch_history_read(const struct sample *s, struct branch_history *out)
{
	out->n = 0;
	for (u32 i = 0; i < s->nr_branches && out->n < HISTORY_BRANCHES; i++) {
		out->v[out->n++] = (struct history_branch){ .b = sample_branch(s, i) };
		for (u32 loop = 1; loop <= out->n / 2; loop++)
			if (repeats(out, loop)) {
				drop_round(out, loop);
				break;
			}
	}
}

struct words {
	u64 *v;
	u32 n, cpumode; /* of the address that comes next, unless a mark is put before it */
};

static void put(struct words *w, u64 address, u32 cpumode)
{
	if (cpumode != w->cpumode)
		w->v[w->n++] = cpumode_context(cpumode);
	w->cpumode = cpumode;
	w->v[w->n++] = IS_CONTEXT_MARK(address) ? 0 : address; /* there is no code */
}

/* Kernels lie in the upper half of the addresses. Whoever took the sample in a guest has the branches of the guest. */
static void put_branch_end(struct words *w, u64 address, bool guest)
{
	bool kernel = address >> 63;

	if (guest)
		put(w, address, kernel ? PERF_RECORD_MISC_GUEST_KERNEL : PERF_RECORD_MISC_GUEST_USER);
	else
		put(w, address, kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
}

/* Callers of a recorded chain: those from word `at` on. */
struct callers_left {
	const struct u64s *chain;
	u32 at, cpumode;
};

/* To the next address, over marks. A user part that comes in a record of its own (attrib/deferred.h) is not looked
 * into. */
static bool at_address(struct callers_left *c)
{
	for (; c->at < c->chain->n; c->at++) {
		u64 x = u64s_at(c->chain, c->at);

		if (!IS_CONTEXT_MARK(x))
			return true;
		if (x == PERF_CONTEXT_USER_DEFERRED || context_cpumode(x) == ID_NONE)
			return false;
		c->cpumode = context_cpumode(x);
	}
	return false;
}

/* Leaves out the next caller if the branch is the call that it made. */
static void leave_out(struct callers_left *c, const struct branch_entry *b)
{
	if (at_address(c) && u64s_at(c->chain, c->at) - b->from - 1 < CALL_BYTES)
		c->at++;
}

static void put_callers(struct words *w, struct callers_left *c)
{
	if (at_address(c) && w->n + 2 <= CHAIN_WORDS)
		put(w, u64s_at(c->chain, c->at++), c->cpumode);
	while (c->at < c->chain->n && w->n < CHAIN_WORDS)
		w->v[w->n++] = u64s_at(c->chain, c->at++);
}

u32 branch_history_chain(const struct hit *h, const struct branch_history *past, u64 words[CHAIN_WORDS], u32 *exact)
{
	bool guest = h->cpumode == PERF_RECORD_MISC_GUEST_KERNEL || h->cpumode == PERF_RECORD_MISC_GUEST_USER;
	struct words w = { .v = words, .cpumode = ID_NONE };
	struct callers_left callers = { .chain = &h->s.chain, .cpumode = h->cpumode };

	put(&w, h->s.ip, h->cpumode);
	if (at_address(&callers))
		callers.at++; /* where the sample was taken */
	for (u32 i = 0; i < past->n; i++) {
		put_branch_end(&w, past->v[i].b.to, guest);
		put_branch_end(&w, past->v[i].b.from, guest);
		leave_out(&callers, &past->v[i].b);
	}
	*exact = w.n;
	put_callers(&w, &callers);
	return w.n;
}
