/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of branch records.
 *
 * In call-stack mode the CPU writes an entry for each call into the next of its registers, and takes it back when the
 * call returns. So the registers hold the stack, from the newest call on, without frame pointers or unwind tables.
 * There are 8 to 64 of them: of a deeper stack the oldest calls are overwritten, and are not there either when the
 * newer ones have returned.
 *
 * Stitching. The calls that are missing were in the registers of an earlier sample of the thread, if it was taken
 * before they were overwritten. So the stack of each thread's last sample is kept, with what was stitched to it. The
 * oldest call of a new sample is looked for in it; from there towards newer calls both must agree until one of them
 * ends or until they part, and where they part, both calls must be made by one function. If the registers are not
 * full, another joint may be found: the function that made their oldest call has itself been called in the kept stack,
 * once.
 *
 * Where the CPU tells the register of the newest entry (hw_idx), a call of the kept stack can only be the same if it
 * was in the same register: each call is one register further than its caller, so registers tell the depth, modulo
 * their number. Newer CPUs do not tell (it is always 0 there).
 *
 * Such a joint says that the samples have a function in common, not that it was called once: the thread may have
 * returned from it, and have come to it again by another way, with registers that say the same. Its call is
 * overwritten then by calls that have returned since, and no record differs from those of a thread that never left.
 * Nor do the recording's other samples help: where they are few, a way to a function may have been overwritten each
 * time before one was taken, at each depth. So what is older in the kept stack is added call by call, and the code is
 * asked (function_called_at): each one only if its instruction is the only one that leads to the function that the
 * next newer call, or the sample, is in. Then whoever is in that function was called from there, whatever was
 * overwritten meanwhile, and whether or not it is still the same call. Functions whose address is kept somewhere may
 * be called from anywhere, so their calls are not added, nor is what is older.
 *
 * Two cases are left in which samples have to do. Code that starts a process or a thread calls the function that it
 * was given by its address: main, what a thread is made for. That stands beneath all that the thread does, and to be
 * in it by another way, the program would have to call it by its address a second time. And of code that is not there
 * (run-time compilers, another machine's files, files of more than 64 MB) nobody can tell. There a call is added if no
 * sample of the process shows its function called from elsewhere (attrib/callers.h).
 *
 * When not. Of a call that a function makes of itself, or that stands in one of the stacks more than once, nobody
 * knows which it is, and nothing is stitched. Nor where the caller is known to be recursive: one to which two calls of
 * some stack went. That is remembered, as the few registers of one sample may show only one of its calls.
 *
 * Calls that did not return (longjmp, exceptions) leave entries in the registers that are no longer true, and the
 * returns that come take others away in their place. That shows: a call site should lie in the function that the next
 * older call went to. It does not either after a jump to another function (tail calls, the PLT). Where an older call
 * went to that very function the two cannot be told apart, and where no jump leads from the code of the function that
 * was called to the other one (x86-64, attrib/jumps.h), it was a signal's handler, or another stack (coroutines): the
 * stack is cut there, better too short than wrong. Entries that are no longer true were made by calls within the
 * function that goes on, or of a coroutine by that function on another stack, so it can look as if they were its own
 * only if that one is recursive: its code calls itself, or two calls of some stack went to it. If any sample of the
 * recording shows that a thread does any of this, its stacks are cut there, too, from its first one on, and whether or
 * not stacks are stitched. So a pass over all samples comes before (pass/call_sites.c). Where few samples were taken,
 * perhaps none shows it. So a call that a function makes of itself counts as well, if its code also calls setjmp, or
 * code of its file switches between stacks by swapcontext.
 *
 * What cannot be seen: of code that is not there, a way to a function that was overwritten each time before a sample
 * was taken; and in a thread of which no sample shows a jump, jumps among functions that are recursive by way of each
 * other, or by other means than these.
 *
 * What it costs. Successive samples of a thread have most calls in common, and in registers that are full the oldest
 * ones are overwritten by as many new ones. So the sample's oldest call is looked for in the last sample, and from
 * there on both are compared, eight calls at once. Only what is new is looked at call by call: whether it contradicts
 * what called it, whether its function is recursive, and (attrib/callers.c) what it tells about callers. Without
 * stitching the last sample is kept for the same reason. If no two calls went to one function, none stands in the
 * stack twice; and a sample that begins with the call that the last one began with, of which nothing older was known,
 * has nothing to gain. Stitching asks of the same calls which functions they are in, one sample after the other (where
 * registers are not full, of all kept ones): there is a table of answers here.
 *
 * What is kept for a thread is found by its id in a table of fixed size, in which a newcomer replaces who was there:
 * that costs stitches, never frames that are wrong. Only threads of one lane replace each other, which one worker
 * reads in the order of the file: so how many workers there are does not change what is stitched.
 */
#include "attrib/lbr.h"

#include <stdlib.h>
#include <string.h>

#include "attrib/lane.h"
#include "base/hash.h"
#include "base/mem.h"

#define THREADS_OF_LANE 16u
#define THREADS (LANES * THREADS_OF_LANE)
#define MARKS 4096u
#define KNOWN_BITS 10
#define KNOWN (1u << KNOWN_BITS)
#define SEVERAL (ID_NONE - 1)
#define NO_REGISTER ID_NONE
#define FEW 3u	  /* calls that are compared with each older one */
#define STRIDE 8u /* calls that are compared at once */

/* The function that an address lies in. */
struct known_at {
	u64 addr; /* 0: none */
	struct maps maps;
	struct function function;
};

struct kept {
	u32 pid, tid;
	u32 newest;			 /* the register of v[0], or NO_REGISTER */
	const struct space *asked_space; /* what its last sample had mapped, if asked_jumps */
	bool asked_jumps;
	bool jumps;	/* some sample of the recording shows it to do so */
	bool jumped;	/* it was seen to leave calls without returning, or to run on another stack or in a handler */
	bool unchecked; /* a stack was cut since the kept one, whose calls were checked by other rules */
	bool single;	/* the oldest of the stack's own calls is in it once */
	bool distinct;	/* surely no two calls of the stack went to one function */
	/* The last call that was asked about in find_joint: with what was mapped, does its function call itself? */
	struct lbr_call asked;
	struct maps asked_in;
	bool calls_itself;
	/* Recursive functions, a bit each. What shares one with them is taken for one: that costs stitches, and after
	 * a jump frames, but adds no wrong ones. */
	u8 recursive[MARKS / 8];
	struct lbr_stack stack;
};

struct lbr {
	u32 depth;	  /* registers that there are; 0: unknown */
	struct asker who; /* the thread that is looked at, */
	struct maps maps; /* and what it had mapped */
	const struct callers *callers;
	struct functions *functions;
	struct lbr_counts counts;
	struct kept *threads[THREADS];
	bool repeats; /* two of the calls that were compared go, or may go, to one function */
	/* Functions that the stack which is looked through has called. Of two with one mark the second counts. */
	u32 stamp, stamps[MARKS];
	u64 entries[MARKS];
	struct known_at known[KNOWN];
};

bool lbr_used(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++)
		if (lbr_event(&l->events.v[i]))
			return true;
	return false;
}

struct lbr *lbr_new(u32 depth, const struct callers *callers, const struct procs *procs, struct dsos *dsos)
{
	struct lbr *l = mem_zalloc(sizeof(*l));

	l->depth = depth;
	l->callers = callers;
	l->functions = functions_new(procs, dsos);
	return l;
}

void lbr_free(struct lbr *l)
{
	for (u32 i = 0; l && i < THREADS; i++)
		free(l->threads[i]);
	if (l)
		functions_free(l->functions);
	free(l);
}

const struct lbr_counts *lbr_counted(const struct lbr *l)
{
	return &l->counts;
}

/* Threads that were started one after the other have slots of their own, as long as there are some. */
static struct kept **slot_of(struct lbr *l, u32 tid)
{
	return &l->threads[lane_spread(0, tid) * THREADS_OF_LANE + tid % THREADS_OF_LANE];
}

static void forget(struct kept *k)
{
	k->asked_jumps = k->jumps = k->jumped = false;
	k->single = k->distinct = k->unchecked = false;
	memset(k->recursive, 0, sizeof(k->recursive));
	k->newest = NO_REGISTER;
	k->stack.n = k->stack.own = 0;
}

void lbr_forget(struct lbr *l, u32 tid)
{
	struct kept *k = *slot_of(l, tid);

	if (k && k->tid == tid)
		forget(k);
}

static struct function function_of(struct lbr *l, u64 addr)
{
	return function_at(l->functions, &l->who, addr);
}

/* May two addresses lie in one function? */
static bool one_function(struct lbr *l, u64 a, u64 b)
{
	const struct function x = function_of(l, a), y = function_of(l, b);

	return function_may_be(&x, &y);
}

/* Is a thread that called that address in the dynamic linker, on its way there? */
static bool is_binding(struct lbr *l, u64 at, u64 called)
{
	const struct function to = function_of(l, called), in = function_of(l, at);

	return function_binds(&to, &in);
}

/* The same in each run: what is shown must not depend on it. */
static u32 function_mark(u64 entry)
{
	return (u32)(hash_finish(entry) % MARKS);
}

static bool is_recursive(const struct kept *k, u64 entry)
{
	u32 at = function_mark(entry);

	return k->recursive[at / 8] >> at % 8 & 1;
}

static void mark_function(struct kept *k, u64 entry)
{
	u32 at = function_mark(entry);

	k->recursive[at / 8] |= (u8)(1u << at % 8);
}

/* Remembers functions to which two of the calls went. Those before `from` were looked through just now. */
static void mark_recursive(struct lbr *l, struct kept *k, const struct lbr_stack *s, u32 from)
{
	l->stamp += !from;
	for (u32 i = from; i < s->n; i++) {
		u32 at = function_mark(s->v[i].to);

		if (l->stamps[at] == l->stamp) {
			l->repeats = true;
			if (l->entries[at] == s->v[i].to)
				mark_function(k, s->v[i].to);
		}
		l->stamps[at] = l->stamp;
		l->entries[at] = s->v[i].to;
	}
}

/* The same if that is known of all but the newest ones, and of these among those before `from`. A few are compared
 * with each other one, which also finds what two functions with one mark hide from the above. */
static void mark_fresh(struct lbr *l, struct kept *k, const struct lbr_stack *s, u32 from, u32 fresh)
{
	if (fresh > FEW) {
		mark_recursive(l, k, s, from);
		return;
	}
	for (u32 i = 0; i < fresh; i++)
		for (u32 j = MAX(i + 1, from); j < s->n; j++)
			if (s->v[i].to == s->v[j].to) {
				l->repeats = true;
				mark_function(k, s->v[i].to);
			}
}

static bool is_same(const struct lbr_call *a, const struct lbr_call *b)
{
	return a->from == b->from && a->to == b->to;
}

/* May the i-th call, or an older one, go to the function of that address? Yes ends the stack, so of code without
 * symbols it is said freely: what its file says of functions need not be all. */
static bool is_entered_before(struct lbr *l, const struct lbr_stack *s, u32 i, u64 addr)
{
	const struct function in = function_of(l, addr);

	for (; i < s->n; i++) {
		const struct function to = function_of(l, s->v[i].to);

		if (function_may_be_by_symbol(&to, &in))
			return true;
	}
	return false;
}

/* Is the i-th call once more the one that is newer than it? Where they do not fit it has not returned: no function
 * that it goes to by way of another one calls itself there. */
static bool is_twice(const struct lbr_stack *s, u32 i)
{
	return i && is_same(&s->v[i - 1], &s->v[i]);
}

/* What a sample has in common with its thread's last one, whose calls were looked at: from its oldest call on. */
struct common {
	u32 lost, n; /* older calls of the last sample's own, which were overwritten since; how many are the same */
};

static struct common common_calls(const struct kept *k, const struct lbr_stack *s)
{
	struct common c = { 0 };
	const struct lbr_call *a = s->v + s->n, *b = k->stack.v + k->stack.own;
	u32 most;

	while (s->n && c.lost < k->stack.own && !is_same(&b[-1], &a[-1])) {
		c.lost++;
		b--;
	}
	most = MIN(k->stack.own - c.lost, s->n);
	while (most - c.n >= STRIDE && !memcmp(a - c.n - STRIDE, b - c.n - STRIDE, STRIDE * sizeof(*a)))
		c.n += STRIDE;
	while (c.n < most && is_same(a - c.n - 1, b - c.n - 1))
		c.n++;
	return c;
}

/* Ends the stack where its calls contradict each other, so that it is not known which of them still hold. That is
 * certain in a thread that jumps, or if an older call went to the same function. Otherwise the function that was
 * called has jumped into the other one; if its code cannot, a signal's handler runs there, or has run and taken one
 * call away too many by its return. */
static void cut_contradiction(struct lbr *l, const struct hit *h, struct kept *k, struct lbr_stack *s, u32 known)
{
	bool user = h->cpumode == PERF_RECORD_MISC_USER;

	/* The newest of the known ones may have gone on to another place. */
	for (u32 i = 0; i < s->n && i <= s->n - known; i++) {
		u64 caller = i ? s->v[i - 1].from : h->s.ip;

		if ((!i && !user) || one_function(l, caller, s->v[i].to) || is_binding(l, caller, s->v[i].to))
			continue;
		if (!k->jumped && !is_twice(s, i) && !is_entered_before(l, s, i + 1, caller) &&
		    function_may_jump(l->functions, &l->who, s->v[i].to, caller))
			continue;
		k->jumped = true;
		s->n = i;
	}
}

/* Ends it where calls that were left without a return could look as if they belonged to it. */
static void cut_recursion(struct lbr *l, const struct kept *k, struct lbr_stack *s)
{
	for (u32 i = 0; i < s->n; i++)
		if (is_recursive(k, s->v[i].to) || function_calls_itself(l->functions, &l->who, s->v[i].to))
			s->n = i;
}

/* Only fresh calls were compared with the others, which come from the kept stack; but for more than a few, and where
 * there are no others, that was all of the stack. */
static void know_distinct(const struct lbr *l, struct kept *k, const struct lbr_stack *s, u32 fresh)
{
	k->distinct = !l->repeats && (k->distinct || fresh > FEW || fresh == s->n);
}

/* False: the stack was cut. */
static bool check(struct lbr *l, const struct hit *h, struct kept *k, struct lbr_stack *s, u32 known)
{
	u32 n = s->n;

	cut_contradiction(l, h, k, s, known);
	l->repeats = false;
	mark_fresh(l, k, s, 0, MIN(n - known, s->n));
	if (k->jumped || k->jumps)
		cut_recursion(l, k, s);
	l->counts.cut += s->n < n;
	return s->n == n;
}

/* The register that is so many before the newest entry's, which is known only if the depth is. */
static u32 register_before(const struct lbr *l, u32 newest, u32 entries)
{
	u32 reg;

	if (newest == NO_REGISTER)
		return NO_REGISTER;
	reg = newest + l->depth - (entries < l->depth ? entries : entries % l->depth);
	return reg < l->depth ? reg : reg - l->depth;
}

/* Would the i-th call of the kept stack be in that register? Calls are one register apart from their callers. */
static bool in_register(const struct lbr *l, const struct kept *k, u32 i, u32 reg)
{
	return k->newest != NO_REGISTER && register_before(l, k->newest, i) == reg;
}

/* Could the i-th call of the kept stack be in the register that the sample's oldest one is in? What was stitched was
 * in none. */
static bool same_register(const struct lbr *l, const struct kept *k, u32 i, u32 oldest)
{
	if (!l->depth || i >= k->stack.own || k->newest == NO_REGISTER || oldest == NO_REGISTER)
		return true;
	return in_register(l, k, i, oldest);
}

static bool is_mapped_so(const struct lbr *l, const struct maps *m)
{
	return m->space == l->maps.space && m->n == l->maps.n;
}

/* What function_of says. Stitching asks the same of most calls for one sample after the other, so this has to be
 * quick. */
static inline const struct function *known_function(struct lbr *l, u64 addr)
{
	struct known_at *at = &l->known[addr * 0x9e3779b97f4a7c15u >> (64 - KNOWN_BITS)];

	if (at->addr != addr || !is_mapped_so(l, &at->maps))
		*at = (struct known_at){ addr, l->maps, function_of(l, addr) };
	return &at->function;
}

/* one_function, of addresses that stitching asks for. */
static bool known_as_one(struct lbr *l, u64 a, u64 b)
{
	const struct function x = *known_function(l, a);

	return function_may_be(&x, known_function(l, b));
}

/* Do both go on alike from the kept stack's i-th call and the sample's oldest one, towards newer ones? The first
 * `known` of them do. */
static bool goes_on(struct lbr *l, const struct lbr_stack *kept, u32 i, const struct lbr_stack *s, u32 known)
{
	u32 at = s->n;

	if (known > i)
		return true;
	i -= known;
	at -= known;
	while (at && is_same(&kept->v[i], &s->v[at - 1])) {
		at--;
		if (!i--)
			return true;
	}
	return !at || known_as_one(l, kept->v[i].from, s->v[at - 1].from);
}

/* How often a call stands among n others. */
static u32 times_in(const struct lbr_call *v, u32 n, const struct lbr_call *call)
{
	u32 times = 0;

	for (u32 i = 0; i < n; i++)
		times += is_same(&v[i], call);
	return times;
}

/* Does the sample's oldest call stand among those newer than the `known` oldest ones? */
static bool is_among_newer(const struct lbr *l, const struct lbr_stack *s, u32 known)
{
	return l->repeats && times_in(s->v, s->n - known, &s->v[s->n - 1]);
}

/* Is that call one that a function makes of itself? Mostly it is asked for one sample after the other. */
static bool calls_itself(struct lbr *l, struct kept *k, const struct lbr_call *call)
{
	if (!is_same(&k->asked, call) || !is_mapped_so(l, &k->asked_in)) {
		k->asked = *call;
		k->asked_in = l->maps;
		k->calls_itself = known_as_one(l, call->from, call->to);
	}
	return k->calls_itself;
}

/* How often the sample's oldest call stands in the kept stack. The calls of that stack that were lost differ from it,
 * and the first of those in common is the call itself, so neither is compared. */
static u32 times_kept(const struct kept *k, const struct lbr_call *oldest, const struct common *c)
{
	const struct lbr_stack *kept = &k->stack;
	u32 held = kept->own - c->lost, same = c->n ? 1 : 0;

	return same + times_in(kept->v, held - same, oldest) +
	       times_in(kept->v + kept->own, kept->n - kept->own, oldest);
}

/* Where in the kept stack the sample's oldest call is, if it stands once in both. Calls in common begin with it, so
 * one place of it is known then; and where it was the oldest of the last sample, only the newest calls have to be
 * looked through. ID_NONE: it is not there. SEVERAL: more than once. */
static u32 find_single(const struct lbr *l, struct kept *k, const struct lbr_stack *s, const struct common *c)
{
	const struct lbr_call *last = &s->v[s->n - 1];
	bool same = c->n && (k->distinct || (!c->lost && k->single));
	u32 i = c->n ? k->stack.own - c->lost - 1 : 0, found = same ? 1 : times_kept(k, last, c);

	k->single = found == 1 && !is_among_newer(l, s, MAX(c->n, 1u));
	if (!k->single)
		return found ? SEVERAL : ID_NONE;
	while (!is_same(&k->stack.v[i], last))
		i++;
	return i;
}

/* Where in the kept stack the sample's oldest call is: the one place that there is, or ID_NONE. Sets *absent if it is
 * nowhere in it. */
static u32 find_joint(struct lbr *l, struct kept *k, const struct lbr_stack *s, u32 oldest, const struct common *c,
		      bool *absent)
{
	const struct lbr_call *last = &s->v[s->n - 1];
	u32 i = find_single(l, k, s, c);

	*absent = i == ID_NONE;
	if (*absent)
		return ID_NONE;
	if (i == SEVERAL || calls_itself(l, k, last) ||
	    (i + 1 < k->stack.n && is_recursive(k, k->stack.v[i + 1].to))) {
		l->counts.refused++;
		return ID_NONE;
	}
	return same_register(l, k, i, oldest) && goes_on(l, &k->stack, i, s, c->n) ? i : ID_NONE;
}

/* The function that the i-th call of the kept stack led to: the one that made the next call, which need not be its
 * target. */
static inline const struct function *callee_of(struct lbr *l, const struct kept *k, u32 i)
{
	return known_function(l, i ? k->stack.v[i - 1].from : k->stack.v[i].to);
}

/*
 * Where in the kept stack the function of that address was called, or ID_NONE. It is the outermost that the sample
 * knows of, and its own call is not in registers that are not full: so it was made before they overflowed, from the
 * register `before` the oldest one.
 */
static u32 find_call_of(struct lbr *l, const struct kept *k, u64 addr, u32 before)
{
	const struct function in = *known_function(l, addr);
	u64 made_next = k->stack.v[0].to; /* as in callee_of */
	u32 found = ID_NONE;

	for (u32 i = 0; i < k->stack.n; i++) {
		const struct function *callee = known_function(l, made_next);

		made_next = k->stack.v[i].from;
		if (!function_is(&in, callee))
			continue;
		if (found != ID_NONE) {
			l->counts.refused++;
			return ID_NONE;
		}
		found = i;
	}
	if (found == ID_NONE || (before != NO_REGISTER && !in_register(l, k, found, before)))
		return ID_NONE;
	if (is_recursive(k, k->stack.v[found].to)) {
		l->counts.refused++;
		return ID_NONE;
	}
	return found;
}

/* Is the i-th call of the kept stack the only one of its function? */
static bool is_only_call(struct lbr *l, const struct kept *k, u32 i)
{
	const struct lbr_call *call = &k->stack.v[i];
	const struct function called = *callee_of(l, k, i);
	const struct callee f = { l->who.pid, called.name };
	enum called code;

	if (!called.name)
		return false;
	code = function_called_at(l->functions, &l->who, i ? k->stack.v[i - 1].from : call->to, call->from);
	if (code != CALLED_UNKNOWN)
		return code == CALLED_ONLY_THERE;
	/* In a thread that left calls without a return it may have been another call that led there. */
	if (k->jumped && !function_is(known_function(l, call->to), &called))
		return false;
	return callers_only(l->callers, &f, call->from, call->to);
}

/* From that place of the kept stack on, as far as it is certain: of what was stitched to it that is known. */
static void add_older(struct lbr *l, const struct kept *k, u32 from, struct lbr_stack *s)
{
	const u32 end = MIN(k->stack.n, from + LBR_STACK - s->n);
	u32 i = from;

	if (from >= end)
		return;
	while (i < MIN(end, k->stack.own) && is_only_call(l, k, i))
		s->v[s->n++] = k->stack.v[i++];
	if (i < end && i >= k->stack.own) {
		memcpy(s->v + s->n, k->stack.v + i, (end - i) * sizeof(*s->v));
		s->n += end - i;
	}
	l->counts.stitched += s->n > s->own;
	l->counts.calls += s->n - s->own;
}

/* What the thread's last sample left; an empty one where nothing is known of it. */
static struct kept *kept_of(struct lbr *l, const struct hit *h)
{
	struct kept **at = slot_of(l, h->s.tid);

	if (!*at) {
		*at = mem_zalloc(sizeof(**at));
		forget(*at);
	}
	if ((*at)->tid != h->s.tid || (*at)->pid != h->s.pid) {
		(*at)->pid = h->s.pid;
		(*at)->tid = h->s.tid;
		forget(*at);
	}
	return *at;
}

/* What all samples of the recording tell of it counts from its first one on. */
static void know_jumps(const struct lbr *l, const struct hit *h, struct kept *k)
{
	if (!l->callers || (k->asked_jumps && l->maps.space == k->asked_space))
		return;
	k->asked_jumps = true;
	k->asked_space = l->maps.space;
	k->jumps = callers_jumps(l->callers, h->s.pid, h->s.tid, l->maps.space);
}

static void keep(struct kept *k, const struct lbr_stack *s, u32 newest)
{
	k->unchecked = false;
	k->newest = newest;
	k->stack.n = s->n;
	k->stack.own = s->own;
	memcpy(k->stack.v, s->v, s->n * sizeof(*s->v));
}

/* The sample's entries, newest first; what is no call of user space ends them. */
static void read_calls(const struct sample *s, struct lbr_stack *out)
{
	u32 most = MIN(s->nr_branches, (u32)LBR_STACK), n = 0;

	for (; n < most; n++) {
		const struct lbr_call call = { u64s_at(&s->branches, n * 3), u64s_at(&s->branches, n * 3 + 1) };

		if (!call.from || !call.to)
			break;
		out->v[n] = call;
	}
	out->n = n;
	out->own = out->n;
}

/* Most samples begin with the same call as the last one, of which nothing older was known. There is nothing to add
 * then, and nothing to refuse where the call still is one of which it is known which it is. */
static bool begins_as_before(const struct lbr *l, const struct kept *k, const struct lbr_stack *s,
			     const struct common *c)
{
	const struct lbr_call *last = &s->v[s->n - 1];

	return c->n && !c->lost && k->stack.n == k->stack.own && k->single && !k->calls_itself &&
	       is_same(&k->asked, last) && is_mapped_so(l, &k->asked_in) && !is_among_newer(l, s, c->n);
}

static void stitch(struct lbr *l, const struct hit *h, struct kept *k, u32 newest, struct lbr_stack *s,
		   const struct common *c)
{
	bool absent = true;
	u32 joint;

	if (s->n && begins_as_before(l, k, s, c))
		return;
	joint = s->n ? find_joint(l, k, s, register_before(l, newest, s->n - 1), c, &absent) : ID_NONE;
	if (joint != ID_NONE) {
		add_older(l, k, joint + 1, s);
		return;
	}
	if (!absent || (l->depth && s->n >= l->depth))
		return;
	joint = find_call_of(l, k, s->n ? s->v[s->n - 1].from : h->s.ip, register_before(l, newest, s->n));
	if (joint != ID_NONE)
		add_older(l, k, joint, s);
}

bool lbr_take(struct lbr *l, const struct hit *h, struct lbr_stack *out)
{
	const struct sample *s = h->full;
	struct kept *k = kept_of(l, h);
	u32 newest = NO_REGISTER;
	struct common common;
	bool stitches = l->callers && callers_stitch(l->callers), cut;

	if (l->callers && callers_indexed(l->callers) && s->has_hw_idx && s->hw_idx < l->depth)
		newest = (u32)s->hw_idx;
	read_calls(s, out);
	/* In the kernel it is the newest entry that tells where it was called. */
	if (!out->n && h->cpumode != PERF_RECORD_MISC_USER)
		return false;
	l->counts.stacks++;
	l->who = (struct asker){ h->s.pid, h->s.tid, h->clock };
	l->maps = functions_maps(l->functions, &l->who);
	know_jumps(l, h, k);
	common = k->unchecked ? (struct common){ 0 } : common_calls(k, out);
	cut = !check(l, h, k, out, common.n);
	out->own = out->n;
	if (cut) {
		k->unchecked = true;
		k->single = false;
		return true;
	}
	if (stitches)
		stitch(l, h, k, newest, out, &common);
	/* What it has of the last stack was looked through as a part of that. */
	if (out->n > out->own)
		mark_fresh(l, k, out, out->own, out->own - common.n);
	if (stitches)
		know_distinct(l, k, out, out->own - common.n);
	keep(k, out, newest);
	return true;
}

u32 lbr_chain(const struct lbr_stack *s, const struct hit *h, u64 words[CHAIN_WORDS])
{
	bool user = h->cpumode == PERF_RECORD_MISC_USER;
	u32 n = user ? 0 : chain_kernel_part(&h->s.chain, words, CHAIN_WORDS - LBR_STACK - 2);

	words[n++] = PERF_CONTEXT_USER;
	/* A sample in the kernel came from the function that was called last. */
	words[n++] = user ? h->s.ip : s->v[0].to;
	for (u32 i = 0; i < s->n; i++)
		words[n++] = s->v[i].from;
	return n;
}
