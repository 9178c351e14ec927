/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table is an array of words, two of which stand for each function. A word is empty, or stands for the one call of
 * all functions that share it, or says that there were several. Whatever comes in which order, by however many
 * threads, the same remains. Functions that share a word make each other have several callers, so that a call is lost,
 * unless the other word is the function's own; but none is taken for the only one that is not.
 *
 * Which function a call led to, the next newer call tells, or the sample: where it comes from. That is mostly the one
 * that the call's target lies in; if not, the target has jumped there (a tail call, code without a symbol), and the
 * call counts for both.
 *
 * What a call teaches depends on what was mapped at the time. So a reader that saw a call passes over it only while
 * the maps are the same: otherwise what it learns would depend on which samples it happened to read before.
 */
#include "attrib/callers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"

#define SLOTS_MIN (1u << 16)
#define SLOTS_MAX (1u << 20)
#define SLOTS_OF_SAMPLE 64u
#define SEVERAL 2u
#define THREADS 64u
#define JUMPING 65536u /* threads that are told apart */
#define SEEN_BITS 13
#define SEEN (1u << SEEN_BITS)
#define ENTRY 24  /* bytes of a branch record: from, to, flags */
#define CALL 16	  /* of them, without the flags */
#define STRIDE 8u /* entries that are compared at once */

struct callers {
	u32 depth, mask;
	bool indexed, stitches;
	u64 *slots; /* 0, a call (odd), or SEVERAL */
	pthread_mutex_t lock;
	struct map jumping; /* of threads; when it is full, all are taken for such */
};

/* The last sample of a thread. */
struct last {
	u32 pid, tid, n; /* entries */
	struct u64s branches;
	u64 code; /* code_at */
};

/* A call that was learned, with the other arguments of learn(). */
struct lesson {
	u32 pid, tid;
	u64 code, site, target, from;
};

struct caller_reader {
	struct callers *to;
	struct functions *functions;
	struct last threads[THREADS];
	struct lesson seen[SEEN];
};

struct callers *callers_new(u64 samples, u32 depth, bool stitches)
{
	struct callers *c = mem_zalloc(sizeof(*c));
	u32 slots = hash_slots(samples * SLOTS_OF_SAMPLE, SLOTS_MIN, SLOTS_MAX);

	c->depth = depth;
	c->stitches = stitches;
	c->mask = slots - 1;
	c->slots = mem_zalloc(slots * sizeof(*c->slots));
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void callers_free(struct callers *c)
{
	if (!c)
		return;
	pthread_mutex_destroy(&c->lock);
	map_free(&c->jumping);
	free(c->slots);
	free(c);
}

bool callers_indexed(const struct callers *c)
{
	return c->indexed;
}

bool callers_stitch(const struct callers *c)
{
	return c->stitches;
}

static u64 thread_key(u32 pid, u32 tid, const struct space *space)
{
	return hash_mix(hash_mix(hash_mix(0, pid), tid), space ? space->id : 0);
}

bool callers_jumps(const struct callers *c, u32 pid, u32 tid, const struct space *space)
{
	return c->jumping.n == JUMPING || map_get(&c->jumping, thread_key(pid, tid, space)) != ID_NONE;
}

static void add_jumping(struct caller_reader *r, const struct asker *who)
{
	struct callers *c = r->to;

	pthread_mutex_lock(&c->lock);
	if (c->jumping.n < JUMPING)
		map_set(&c->jumping, thread_key(who->pid, who->tid, functions_maps(r->functions, who).space), 0);
	pthread_mutex_unlock(&c->lock);
}

static u64 key_of(const struct callee *f)
{
	return hash_finish(hash_finish(f->pid) ^ f->name);
}

static u64 call_of(u64 key, u64 site, u64 target)
{
	return hash_finish(key ^ hash_finish(hash_finish(site) ^ target)) | 1;
}

static void put(u64 *slot, u64 what)
{
	u64 was = __atomic_load_n(slot, __ATOMIC_RELAXED);

	if (was == what || was == SEVERAL)
		return;
	if (!was && __atomic_compare_exchange_n(slot, &was, what, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	if (was != what)
		__atomic_store_n(slot, SEVERAL, __ATOMIC_RELAXED);
}

void callers_add(struct callers *c, const struct callee *f, u64 site, u64 target)
{
	u64 key = key_of(f), call = call_of(key, site, target);

	put(&c->slots[key & c->mask], call);
	put(&c->slots[key >> 32 & c->mask], call);
}

bool callers_only(const struct callers *c, const struct callee *f, u64 site, u64 target)
{
	u64 key = key_of(f), call = call_of(key, site, target);

	return c->slots[key & c->mask] == call || c->slots[key >> 32 & c->mask] == call;
}

struct caller_reader *caller_reader_new(struct callers *c, const struct procs *procs, struct dsos *dsos)
{
	struct caller_reader *r = mem_zalloc(sizeof(*r));

	r->to = c;
	r->functions = functions_new(procs, dsos);
	return r;
}

void caller_reader_free(struct caller_reader *r)
{
	if (r)
		functions_free(r->functions);
	free(r);
}

/* Stands for what was mapped: by numbers, and not by where these are in memory, so that in each run lessons share
 * their slots with the same others, and a report takes as long as the last one. */
static u64 code_at(struct caller_reader *r, const struct asker *who)
{
	const struct maps maps = functions_maps(r->functions, who);

	return (u64)(maps.space ? maps.space->id : 0) << 32 | maps.n;
}

/* Where a lesson stands in the table. Another one there costs the time to learn anew: this has to be quick. */
static u32 slot_of(u64 whose, u64 site, u64 from)
{
	return (u32)(((whose ^ site) * 0x9e3779b97f4a7c15u + from) * 0xbf58476d1ce4e5b9u >> (64 - SEEN_BITS));
}

/* Can the thread be in the one function because it called the other one, and that is going on? */
static bool may_lead(struct caller_reader *r, const struct asker *who, u64 called, u64 at)
{
	const struct function to = function_at(r->functions, who, called), in = function_at(r->functions, who, at);

	return function_may_be(&to, &in) || function_binds(&to, &in) ||
	       function_may_jump(r->functions, who, called, at);
}

/* Is it a call that a function made of itself to which code comes back without returns? Such calls look as if they
 * held when they do not any longer. */
static bool may_be_left(struct caller_reader *r, const struct asker *who, const struct branch_entry *call)
{
	const struct function to = function_at(r->functions, who, call->to),
			      in = function_at(r->functions, who, call->from);

	return function_is(&to, &in) && function_comes_back(r->functions, who, call->to);
}

/* A call to a function. from: the place in the function that was called at which the next newer one was made; 0:
 * nobody knows. code: code_at. */
static void learn(struct caller_reader *r, const struct asker *who, u64 code, const struct branch_entry *call,
		  u64 from)
{
	struct lesson *seen = &r->seen[slot_of(code + who->tid, call->from, from)];
	struct callee f = { .pid = who->pid };
	struct function to, in;

	if (seen->site == call->from && seen->from == from && seen->target == call->to && seen->code == code &&
	    seen->tid == who->tid && seen->pid == who->pid)
		return;
	*seen = (struct lesson){ who->pid, who->tid, code, call->from, call->to, from };
	if ((from && !may_lead(r, who, call->to, from)) || may_be_left(r, who, call))
		add_jumping(r, who);
	to = function_at(r->functions, who, call->to);
	in = from ? function_at(r->functions, who, from) : to;
	f.name = to.name;
	if (to.name)
		callers_add(r->to, &f, call->from, call->to);
	f.name = in.name;
	if (in.name && in.name != to.name)
		callers_add(r->to, &f, call->from, call->to);
}

static const u8 *entry_at(const struct u64s *branches, u32 i)
{
	return branches->p + (size_t)i * ENTRY;
}

/* How many entries the last sample has that are older than the oldest of n. */
static u32 older_in(const struct last *last, const struct u64s *branches, u32 n)
{
	u32 older = 0;

	while (n && older < last->n &&
	       memcmp(entry_at(&last->branches, last->n - 1 - older), entry_at(branches, n - 1), CALL) != 0)
		older++;
	return older;
}

/* How many of the oldest of n entries are those of the last sample that are not among its `older` ones. */
static u32 shared_with(const struct last *last, const struct u64s *branches, u32 n, u32 older)
{
	const u8 *a = entry_at(branches, n), *b = entry_at(&last->branches, last->n - older);
	u32 most = MIN(n, last->n - older), i = 0;

	for (; most - i >= STRIDE; i += STRIDE)
		if (memcmp(a - (size_t)(i + STRIDE) * ENTRY, b - (size_t)(i + STRIDE) * ENTRY, STRIDE * ENTRY) != 0)
			break;
	a -= (size_t)i * ENTRY;
	b -= (size_t)i * ENTRY;
	while (i < most && !memcmp(a -= ENTRY, b -= ENTRY, CALL))
		i++;
	return i;
}

/* How many of the newest entries, at most so many, are calls of user space. */
static u32 count_calls(const struct sample_stack *s, u32 most)
{
	u32 n = 0;

	while (n < most && u64s_at(&s->branches, n * 3) && u64s_at(&s->branches, n * 3 + 1))
		n++;
	return n;
}

/* How many of the oldest of n entries are those of the thread's last sample. Its own oldest may have been overwritten
 * since. */
static u32 known_of(const struct last *last, const struct last *now, u32 n)
{
	if (last->pid != now->pid || last->tid != now->tid || last->code != now->code)
		return 0;
	return shared_with(last, &now->branches, n, older_in(last, &now->branches, n));
}

/* Takes the sample for its thread's last one, with all the calls that it has: returns how many of the oldest are those
 * of the one before. */
static u32 replace_last(struct caller_reader *r, const struct sample_stack *s, u64 code, u32 *calls)
{
	struct last *last = &r->threads[s->tid % THREADS], now = { s->pid, s->tid, 0, s->branches, code };
	u32 n = s->nr_branches, known = known_of(last, &now, n), fresh;

	/* What is known are calls; nearly always the others are, too. */
	fresh = count_calls(s, n - known);
	if (fresh < n - known) {
		n = fresh;
		known = known_of(last, &now, n);
	}
	*calls = now.n = n;
	*last = now;
	return known;
}

void callers_read(struct caller_reader *r, const struct sample_stack *s, u64 clock, bool user)
{
	struct asker who = { s->pid, s->tid, clock };
	u64 from = user ? s->ip : 0, code = code_at(r, &who);
	u32 n, shared = replace_last(r, s, code, &n);

	if (s->has_hw_idx && s->hw_idx && s->hw_idx < r->to->depth &&
	    !__atomic_load_n(&r->to->indexed, __ATOMIC_RELAXED))
		__atomic_store_n(&r->to->indexed, true, __ATOMIC_RELAXED);
	/* The newest of those that are shared may have gone on to another place. */
	for (u32 i = 0; i < n && i <= n - shared; i++) {
		struct branch_entry call = { u64s_at(&s->branches, i * 3), u64s_at(&s->branches, i * 3 + 1), 0 };

		learn(r, &who, code, &call, from);
		from = call.from;
	}
}
