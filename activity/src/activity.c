/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's stack of activities.
 *
 * A reader (a BPF program at a sample, or ptrace) looks only while the thread stands still, but at any instruction. So
 * a record is never changed while it can be seen: it is written where nothing points to, and then one store makes the
 * thread's pointer point to it. Each level of the stack has room for two records, so that its activity can be replaced
 * while the old one is still seen.
 *
 * A signal handler comes between any two instructions as well, and may push and pop. Therefore a level is reserved
 * (top is stored) before its record is written: what a handler pushes meanwhile lies above it. What was seen before a
 * push is kept in the level and is what pop makes seen again, whatever lies below.
 *
 * Fences are for the compiler only: a thread sees its own stores in order, and so does who stops it.
 *
 * In front of each record stand a magic number, its depth, and a pointer to the record of the activity around it. A
 * reader that knows this library can follow those; to others the record is one as any.
 */
#include "reticle/activity.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "journal.h"

#define MAGIC 0x61637431u /* "act1" */
#define VALID 1

struct record {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t size; /* of attrs */
	uint8_t attrs[ACTIVITY_ATTRS];
};

struct cell {
	const struct record *around; /* the activity that this one is within, or NULL */
	uint32_t magic, depth;
	struct record record;
};

_Static_assert(offsetof(struct record, attrs) == 28, "OTEP 4947");
_Static_assert(sizeof(struct record) == sizeof(struct activity_snapshot), "a snapshot is a record");
_Static_assert(sizeof(struct cell) == 128, "two cache lines, and OTHER_CELL");

/* The two of a level differ in one bit of their addresses, so the other one is found without looking for it. */
struct level {
	_Alignas(256) struct cell cells[2];
};

#define OTHER_CELL ((uintptr_t)128)

struct activity_stack {
	struct level levels[ACTIVITY_DEPTH + 1];
	const struct record *before[ACTIVITY_DEPTH + 1]; /* what was seen when the level was taken */
	const struct record *suspended;			 /* what was seen when its coroutine was left */
	unsigned top;					 /* level in use; 0 is that of set without push */
	unsigned beyond;				 /* pushes above the last level */
};

/* The name, and that it is a pointer, is what readers rely on. */
__attribute__((visibility("default"))) _Thread_local const struct record *volatile otel_thread_ctx_v1;

static _Thread_local struct activity_stack *current, *own;
static pthread_key_t at_exit_key;
static pthread_once_t at_exit_once = PTHREAD_ONCE_INIT;
static bool at_exit_works;

static inline void publish(const struct record *r)
{
	atomic_signal_fence(memory_order_seq_cst);
	otel_thread_ctx_v1 = r;
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(activity_journal_of_thread != NULL, 0))
		activity_journal_note(r);
}

void activity_journal_in_child(void)
{
	if (activity_journal_of_thread)
		activity_journal_note(otel_thread_ctx_v1);
}

/* ---- Stacks ---- */

/* What never changes in cells is written here. */
struct activity_stack *activity_stack_new(void)
{
	struct activity_stack *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		return NULL;
	for (unsigned i = 0; i <= ACTIVITY_DEPTH; i++)
		for (unsigned k = 0; k < 2; k++) {
			s->levels[i].cells[k].magic = MAGIC;
			s->levels[i].cells[k].depth = i;
		}
	return s;
}

void activity_stack_free(struct activity_stack *s)
{
	if (s)
		munmap(s, sizeof(*s));
}

/* Whatever comes behind this in the same thread makes a new stack, and this is called again. */
static void leave_thread(void *stack)
{
	publish(NULL);
	activity_journal_end();
	current = own = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	activity_stack_free(stack);
}

static void make_key(void)
{
	at_exit_works = !pthread_key_create(&at_exit_key, leave_thread);
}

/* Memory that is only lost is better than none. */
static __attribute__((noinline, cold)) struct activity_stack *start_thread(void)
{
	struct activity_stack *s = activity_stack_new();

	if (!s)
		return NULL;
	pthread_once(&at_exit_once, make_key);
	if (at_exit_works)
		pthread_setspecific(at_exit_key, s);
	activity_journal_begin();
	own = s;
	current = s;
	return s;
}

static inline struct activity_stack *stack_of_thread(void)
{
	struct activity_stack *s = current;

	return __builtin_expect(!!s, 1) ? s : start_thread();
}

bool activity_thread_start(void)
{
	return stack_of_thread() != NULL;
}

struct activity_stack *activity_switch(struct activity_stack *to)
{
	struct activity_stack *from = stack_of_thread();

	to = to ? to : own;
	if (!from || !to)
		return NULL;
	from->suspended = otel_thread_ctx_v1;
	atomic_signal_fence(memory_order_seq_cst);
	current = to;
	publish(to->suspended);
	return from == own ? NULL : from;
}

/* ---- Records ---- */

/* Of the level in use, the record that is not seen. */
static inline struct record *unseen(struct activity_stack *s)
{
	struct record *first = &s->levels[s->top].cells[0].record;
	uintptr_t seen = (uintptr_t)otel_thread_ctx_v1;

	if (((seen ^ (uintptr_t)first) & ~OTHER_CELL) != 0)
		return first;
	return (struct record *)(seen ^ OTHER_CELL);
}

static inline void fill(struct record *r, const struct activity_ids *ids)
{
	memcpy(r->trace, ids->trace, sizeof(ids->trace));
	memcpy(r->span, ids->span, sizeof(ids->span));
	r->valid = VALID;
	r->flags = ids->flags;
	r->size = 0;
}

static inline void show_ids(struct activity_stack *s, const struct activity_ids *ids)
{
	struct record *r = unseen(s);

	fill(r, ids);
	publish(r);
}

static void show_record(struct activity_stack *s, const struct activity_snapshot *from)
{
	struct record *r = unseen(s);

	memcpy(r, from, sizeof(*r));
	publish(r->valid == VALID ? r : NULL);
}

/* Takes the next level. False: there is none. */
static inline bool rise(struct activity_stack *s)
{
	const struct record *seen = otel_thread_ctx_v1;
	unsigned top = s->top + 1;

	if (__builtin_expect(top > ACTIVITY_DEPTH, 0)) {
		s->beyond++;
		return false;
	}
	s->top = top;
	atomic_signal_fence(memory_order_seq_cst);
	s->before[top] = seen;
	s->levels[top].cells[0].around = seen;
	s->levels[top].cells[1].around = seen;
	return true;
}

void activity_push(const struct activity_ids *ids)
{
	struct activity_stack *s = stack_of_thread();
	struct record *r;

	if (!s || !rise(s))
		return;
	r = &s->levels[s->top].cells[0].record;
	fill(r, ids);
	publish(r);
}

void activity_pop(void)
{
	struct activity_stack *s = current;

	if (!s || !(s->top | s->beyond))
		return;
	if (__builtin_expect(s->beyond, 0)) {
		s->beyond--;
		return;
	}
	publish(s->before[s->top]);
	s->top--;
}

void activity_set(const struct activity_ids *ids)
{
	struct activity_stack *s = stack_of_thread();

	if (s && !s->beyond)
		show_ids(s, ids);
}

void activity_clear(void)
{
	struct activity_stack *s = current;

	if (s && !s->beyond)
		publish(NULL);
}

bool activity_attribute(unsigned key, const char *value, size_t length)
{
	const struct record *seen = otel_thread_ctx_v1;
	struct activity_stack *s = current;
	struct record *r;
	uint8_t *to;

	if (!s || s->beyond || !seen || key > UINT8_MAX || length > UINT8_MAX ||
	    (size_t)seen->size + 2 + length > ACTIVITY_ATTRS)
		return false;
	r = unseen(s);
	memcpy(r, seen, sizeof(*r));
	to = r->attrs + seen->size;
	to[0] = (uint8_t)key;
	to[1] = (uint8_t)length;
	memcpy(to + 2, value, length);
	r->size = (uint16_t)(seen->size + 2 + length);
	publish(r);
	return true;
}

unsigned activity_depth(void)
{
	const struct activity_stack *s = current;

	return s ? s->top + s->beyond : 0;
}

void activity_unwind(unsigned depth)
{
	while (activity_depth() > depth)
		activity_pop();
}

void activity_capture(struct activity_snapshot *out)
{
	const struct record *seen = otel_thread_ctx_v1;

	if (seen)
		memcpy(out, seen, sizeof(*out));
	else
		memset(out, 0, sizeof(*out));
}

void activity_adopt(const struct activity_snapshot *from)
{
	struct activity_stack *s = stack_of_thread();

	if (s && rise(s))
		show_record(s, from);
}

void activity_restore(const struct activity_snapshot *from)
{
	struct activity_stack *s = stack_of_thread();

	if (s && !s->beyond)
		show_record(s, from);
}
