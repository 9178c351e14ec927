/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on a recording's records rather than on its samples. */
#ifndef CMD_REPORT_RECORDS_H
#define CMD_REPORT_RECORDS_H

#include "base/bytes.h"
#include "read/source.h"

/* --stats: counts the records of each type and the samples of each event, and prints them as perf does. */
void report_stats(const struct source *src, bool json, struct bytes *out);

/* --tasks: prints all threads of the recording as a tree. With maps (--mmaps), what is mapped in each at the end of
 * the recording is printed below it. */
void report_tasks(const struct source *src, bool maps, bool json, struct bytes *out);

/* Notes it if the records end before the recording does. bad is what source_next left in its argument of that name. */
void report_broken_end(const struct source *src, u64 bad);

#endif
