/* SPDX-License-Identifier: Apache-2.0 */
/* Samples with a thread's own data in them (PERF_SAMPLE_TLS_USER). */
#ifndef LAB_TLS_H
#define LAB_TLS_H

#include "guest.h"

enum { TLS_WORDS = 8, TLS_SAMPLES_MAX = 20000 };
enum { TLS_USER = 1 << 25 };					    /* in sample_type */
enum { TLS_DEREF = 1 << 0, TLS_DEFER = 1 << 1, TLS_RSEQ = 1 << 2 }; /* in tls_flags */

struct tls_sample {
	u32 pid, tid;
	bool user;	  /* it has interrupted user space */
	u64 size, copied; /* bytes there was room for; bytes that are the thread's */
	u64 word[TLS_WORDS];
};

struct tls_samples {
	bool with_stack; /* PERF_SAMPLE_STACK_USER is in them, too */
	size_t n, largest;
	struct tls_sample v[TLS_SAMPLES_MAX];
};

struct tls_count {
	size_t all, right;
	size_t none, unread; /* size 0; nothing copied */
};

extern __thread u64 activity[TLS_WORDS];
extern __thread u64 *activity_record;

/* Cycles in user space, with TLS_WORDS words at offset 0. */
struct attr attr_tls(u64 period, u32 flags);
/* Two pages that are not there until something is written to them. */
u64 *activity_page(void);
/* first, first + 1 ... */
void activity_fill(u64 *to, u64 first);
/* The samples in the ring. -> false: some are lost, or not of the form that they should have. */
bool tls_read(const struct event *e, struct tls_samples *t);
bool tls_sample_has(const struct tls_sample *s, u64 first);
struct tls_count tls_count(const struct tls_samples *t, u64 first);

/* Samples a child, with words that begin with 1000, that does something and executes tls_program(2000) then. The event
 * is open afterwards, and the child has ended. -> 0 or -errno */
int sample_exec(struct event *e, const struct attr *a, void (*before)(void));
/* What a scenario executes: its words begin with first. -> exit status */
int tls_program(u64 first);

/* ---- deferred.c */

/* Calls that are long enough in the kernel for some samples there. */
void system_calls(int n);

#endif
