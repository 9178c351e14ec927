/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which request does this thread work for? A server says so here, and a profiler can tell the requests apart.
 *
 * An activity is a trace id and a span id, as in W3C Trace Context, and a few attributes. Each thread has a stack of
 * them. What is on top is written where OpenTelemetry's thread context has it (OTEP 4947, `otel_thread_ctx_v1`), so
 * any profiler that reads that will find it. Nothing here makes a system call, takes a lock or allocates memory after
 * a thread's first call.
 *
 *     struct activity_ids ids = { .trace = ..., .span = ... };
 *
 *     activity_publish(&(struct activity_process){ .service = "shop" });    once, when the program starts
 *     activity_push(&ids);
 *     serve(request);
 *     activity_pop();
 *
 * A profiler that stops a thread at any instruction sees the activity before a call or the one after it, whole. All
 * functions but activity_publish, activity_stack_new and activity_stack_free may be called in signal handlers, if the
 * thread has called any of them before (activity_thread_start), and if what the handler pushes it pops again before it
 * returns; what it has not pushed itself it leaves alone.
 *
 * After fork() the child's thread goes on with its activity. Its process context is published anew.
 */
#ifndef RETICLE_ACTIVITY_H
#define RETICLE_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define ACTIVITY_DEPTH 30 /* nested activities of a stack; those that are pushed above are not seen */
#define ACTIVITY_ATTRS 84 /* bytes for attributes, each of which takes 2 more than its value */

struct activity_ids {
	uint8_t trace[16]; /* in the order in which they are written in hexadecimal */
	uint8_t span[8];
	uint8_t flags; /* W3C trace flags */
};

/* ---- What this thread does ---- */

/* Begins an activity within the one on top. activity_pop ends it, and the one below is on top again. */
void activity_push(const struct activity_ids *ids);
void activity_pop(void);

/* Puts ids in the place of what is on top, without its attributes; clear: nothing. For servers that do one thing after
 * another, without nesting. */
void activity_set(const struct activity_ids *ids);
void activity_clear(void);

/*
 * An attribute of what is on top, such as the route of a request. key is an index into activity_process.keys. A later
 * value of the same key is what counts. False: nothing is on top, there is no room left, key is above 255, or the
 * value is longer than 255 bytes. Values are UTF-8.
 */
bool activity_attribute(unsigned key, const char *value, size_t length);

/* Makes room for this thread's stack, which otherwise happens in its first call. False: there is no memory, and calls
 * do nothing. */
bool activity_thread_start(void);

/* ---- Ways out: longjmp, exceptions, early returns ---- */

/* How many activities were pushed and not popped. */
unsigned activity_depth(void);
/* Pops until as many are left. For those who leave by longjmp: depth before setjmp, unwind when it comes back. */
void activity_unwind(unsigned depth);

static inline unsigned activity_scope_begin(const struct activity_ids *ids)
{
	unsigned depth = activity_depth();

	activity_push(ids);
	return depth;
}

static inline void activity_scope_end(const unsigned *depth)
{
	activity_unwind(*depth);
}

/* Pushes ids until the end of the block, whichever way it is left; by an exception, if compiled with -fexceptions. */
#define ACTIVITY_JOIN_(a, b) a##b
#define ACTIVITY_JOIN(a, b) ACTIVITY_JOIN_(a, b)
#define ACTIVITY_SCOPE(ids)                                                                                           \
	unsigned ACTIVITY_JOIN(activity_scope_, __LINE__) __attribute__((cleanup(activity_scope_end), unused)) =      \
		activity_scope_begin(ids)

/* ---- Work that moves from one thread or callback to another ---- */

/* What is on top, with its attributes, to be kept with a piece of work. */
struct activity_snapshot {
	uint8_t record[28 + ACTIVITY_ATTRS];
};

void activity_capture(struct activity_snapshot *out);
/* In the worker: as push and set, with what was captured. After adopt, activity_pop ends it. */
void activity_adopt(const struct activity_snapshot *from);
void activity_restore(const struct activity_snapshot *from);

/* ---- Coroutines and green threads: each has a stack of its own ---- */

struct activity_stack;

struct activity_stack *activity_stack_new(void);    /* NULL: no memory */
void activity_stack_free(struct activity_stack *s); /* of a coroutine that runs nowhere */
/* From now on this thread uses the stack `to`; NULL: its own one. -> the one it used before, NULL if that was its own.
 */
struct activity_stack *activity_switch(struct activity_stack *to);

/* ---- What the process is ---- */

struct activity_process {
	const char *service;	 /* service.name, or NULL */
	const char *const *keys; /* names of attributes, at most 256: "http.route", ... */
	size_t nr_keys;
};

/*
 * Publishes the process context (OTEP 4719) that tells profilers to look for activities, and what their attributes are
 * called. May be called again: keys may be added behind those that were there. There is one such context for a
 * process: if an OpenTelemetry SDK has published one, leave this to it. -> 0 or a negative errno.
 */
int activity_publish(const struct activity_process *p);

/* ---- Where a recorder may not look at threads ---- */

/*
 * A recorder that may not load BPF programs reads journals instead: each thread writes what it works for, and since
 * when, into a file of this directory. That is asked for by the variable RETICLE_ACTIVITY_JOURNAL in the environment,
 * or by this call before the first of all others; a directory that the variable names is kept. Threads that cannot
 * make their file, for lack of room or of rights, go on without. -> 0 or a negative errno.
 */
int activity_journal_start(const char *directory);

#pragma GCC visibility pop
#ifdef __cplusplus
}

namespace reticle
{
/* An activity for as long as this object lives. */
class scoped_activity
{
      public:
	explicit scoped_activity(const activity_ids &ids) : depth_(activity_scope_begin(&ids)) {}
	~scoped_activity() { activity_unwind(depth_); }
	scoped_activity(const scoped_activity &) = delete;
	scoped_activity &operator=(const scoped_activity &) = delete;

      private:
	unsigned depth_;
};
} // namespace reticle
#endif
#endif
