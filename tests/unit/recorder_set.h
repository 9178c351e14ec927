/* SPDX-License-Identifier: Apache-2.0 */
/* A recorder whose rings lie in memory of ours, and whose file is in a directory of its own. What the kernel would do,
 * the test does. */
#ifndef UNIT_RECORDER_SET_H
#define UNIT_RECORDER_SET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "own_dir.h"
#include "read/source.h"
#include "record/recorder_impl.h"

#define SET_EVENTS 2 /* one group: ids 100 and 101, and 200 and 201, each on CPUs 4 and 6 */
#define SET_SAMPLE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

struct recorder_set {
	struct record_opts o;
	struct record_result result;
	struct recorder_events tell;
	struct notify notify;
	struct recorder r;
	struct event_spec spec;
	struct bytes notes; /* texts of all notes, each on its line */
	char dir[OWN_DIR_PATH], path[64];
};

/* nr rings of `size` bytes; the file is not opened yet. */
void recorder_set_begin(struct recorder_set *s, u32 nr, u64 size);
void recorder_set_end(struct recorder_set *s);

/* As the kernel puts it into a ring. */
void ring_put(struct ring *r, const struct bytes *record);
void ring_put_sample(struct recorder_set *s, u32 ring, u64 time, u64 ip);
/* A LOST record of so many. */
void ring_put_lost(struct recorder_set *s, u32 ring, u64 lost);

/* What is in a file, in order: samples as their times, LOST records as "-" and the number, LOST_SAMPLES as "=" and
 * theirs, rounds as "."; each with a space behind it. Caller frees. */
char *file_text(const char *path);
/* How many records of this type there are. */
u32 records_of(const struct source *src, u32 type);
/* The paths of the files in the directory, sorted. Returns how many there are. */
u32 files_of(const struct recorder_set *s, char paths[][320], u32 most);

/* The control side of the virtual PMU, without QEMU: recorder_sim_close frees it. */
struct sim *sim_new(enum sim_guest guest);

#endif
