/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of run-time compilers that write a jitdump (codec/jitdump.h): V8, the JVM through an agent, and others. The
 * recording holds an MMAP2 of the file jit-PID.dump; the file holds the rest.
 */
#ifndef STATE_JIT_H
#define STATE_JIT_H

#include "state/dso.h"

/* Code of that DSO lies at [start, start + len) from that time on. The dump was begun at `begun`, by the same clock:
 * CLOCK_MONOTONIC, whatever the recording's is. */
typedef void (*jit_code_fn)(void *ctx, u64 start, u64 len, u64 time, u64 begun, u32 dso);

/* Is this the name of a jitdump of that process? */
bool jit_is_dump(struct str path, u32 pid);

/*
 * Reads the jitdump of a process, in its mount namespace while it lives, and makes one DSO, "jitted-PID-INDEX.so",
 * with one symbol, of each piece of code. A file that belongs to neither root, nor us, nor the process's user is
 * refused. A damaged file gives what comes before the damage. 0 or an error, after a note; not thread-safe, as
 * dsos_get.
 */
int jit_load(struct dsos *d, const char *path, u32 pid, jit_code_fn add, void *ctx);

#endif
