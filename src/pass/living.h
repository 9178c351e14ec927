/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Living: what the side-band has said so far of what is there now, as records. Threads that ended and mappings that
 * others cover are gone, so it grows with what lives, and not with time.
 */
#ifndef PASS_LIVING_H
#define PASS_LIVING_H

#include "base/bytes.h"
#include "base/map.h"
#include "base/vec.h"

struct living_process {
	u32 pid, threads;
	bool alone;	   /* without threads, as when it was settled last */
	struct bytes maps; /* records: MMAP, MMAP2, KSYMBOL */
};

struct living_thread {
	u32 pid, tid;
	struct bytes comm; /* its last COMM record, or nothing */
};

struct living {
	struct map processes, threads; /* id -> place in: */
	VEC(struct living_process) process;
	VEC(struct living_thread) thread;
	struct map cgroups; /* ids of: */
	struct bytes cgroup;
};

/* Whether records of this type matter to it. */
bool living_wants(u32 type);
/* Takes a whole record of this machine's byte order; in order of time. Any other, and one too short for what
 * it says it is, is ignored. */
void living_apply(struct living *l, const u8 *record, u16 size);
/* All records up to some time have been applied. A process of which no thread is known goes, unless its threads' own
 * records may still come. */
void living_settle(struct living *l);
/* Appends records that bring about the same. */
void living_put(const struct living *l, struct bytes *out);
void living_free(struct living *l);

#endif
