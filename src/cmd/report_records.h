/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on a recording's records rather than on its samples. */
#ifndef CMD_REPORT_RECORDS_H
#define CMD_REPORT_RECORDS_H

#include "base/bytes.h"
#include "read/source.h"

/* --stats: how many there are of each type, and of each event's samples; as perf prints it. */
void report_stats(const struct source *src, bool json, struct bytes *out);

/* --tasks: all threads that it speaks of, as a tree; with maps (--mmaps) below each what is mapped in it at the end.
 */
void report_tasks(const struct source *src, bool maps, bool json, struct bytes *out);

/* Says so when records end before the recording does: bad is what source_next left. */
void report_broken_end(const struct source *src, u64 bad);

#endif
