/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perf maps: the text files /tmp/perf-PID.map in which run-time compilers list their code, one "START SIZE name" per
 * line, numbers in hexadecimal. The file is written by the profiled process, so it is trusted no further than that.
 */
#ifndef STATE_PERFMAP_H
#define STATE_PERFMAP_H

#include "base/err.h"
#include "state/symtab.h"

/* Adds the symbols of the text; lines that are none are skipped. Returns how many were added. */
u64 perfmap_parse(struct symtab_build *b, const char *text, size_t len);

/*
 * Reads the map of a process: in its mount namespace under its number there while it lives, else /tmp/perf-PID.map;
 * with symfs (or NULL), only the latter, inside it. Refused (ERR_PERM) when the file belongs to neither root, nor the
 * owner of the process, nor (when the process has ended) us. ERR_LIMIT when it is larger than any compiler's.
 */
int perfmap_load(struct symtab_build *b, u32 pid, const char *symfs);
/* How large that file is now; 0: there is none. */
u64 perfmap_size(u32 pid, const char *symfs);

#endif
