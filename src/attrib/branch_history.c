/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/branch_history.h"

#include "attrib/lbr.h"
#include "attrib/place.h"

/* As many as have room, and as a chain has frames. */
#define MOST_BRANCHES ((CHAIN_WORDS - 2) / 4)
#define CALL_BYTES 8 /* of the longest call instruction */

bool branch_history_event(const struct event *e)
{
	return e->attr.sample_type & PERF_SAMPLE_BRANCH_STACK && !lbr_event(e);
}

/* Do the `n` branches at `at` begin where the `n` before them did? */
static bool repeats(const struct branch_entry *b, u32 at, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (b[at + i].from != b[at + i - n].from)
			return false;
	return true;
}

/* Reads the branches, without those that repeat what is already there. -> their number */
static u32 read_branches(const struct sample *s, struct branch_entry *b)
{
	u32 n = 0;

	for (u32 i = 0; i < s->nr_branches && n < MOST_BRANCHES; i++) {
		b[n++] = sample_branch(s, i);
		for (u32 loop = 1; loop <= n / 2; loop++)
			if (repeats(b, n - loop, loop)) {
				n -= loop;
				break;
			}
	}
	return n;
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
	w->v[w->n++] = address;
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

u32 branch_history_chain(const struct hit *h, u64 words[CHAIN_WORDS], u32 *exact)
{
	struct branch_entry b[MOST_BRANCHES];
	u32 n = read_branches(h->full, b);
	bool guest = h->cpumode == PERF_RECORD_MISC_GUEST_KERNEL || h->cpumode == PERF_RECORD_MISC_GUEST_USER;
	struct words w = { .v = words, .cpumode = ID_NONE };
	struct callers_left callers = { .chain = &h->s.chain, .cpumode = h->cpumode };

	put(&w, h->s.ip, h->cpumode);
	if (at_address(&callers))
		callers.at++; /* where the sample was taken */
	for (u32 i = 0; i < n; i++) {
		put_branch_end(&w, b[i].to, guest);
		put_branch_end(&w, b[i].from, guest);
		leave_out(&callers, &b[i]);
	}
	*exact = w.n;
	put_callers(&w, &callers);
	return w.n;
}
