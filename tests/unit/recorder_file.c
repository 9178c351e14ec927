/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a recording: what is in their heads, what is counted at their ends, and one after the other. */
#include "recorder_set.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/build_id.h"

#define SIZE 4096u

static void put(struct recorder_set *s, struct record *record)
{
	struct bytes b = { 0 };

	assert_int_equal(record_encode(record, &s->r.events.trailer, &b), 0);
	ring_put(&s->r.set.rings.v[0].ring, &b);
	bytes_free(&b);
}

static struct source *open_source(const char *path)
{
	struct source *src = NULL;

	assert_int_equal(source_open(&src, path, NULL), 0);
	assert_false(src->unfinished);
	return src;
}

/* The nth record of that type. */
static struct record record_of(const struct source *src, u32 type, u32 nth)
{
	struct source_record r;
	struct record out = { 0 };
	u64 offset = 0, bad;

	while (source_next(src, &offset, &r, &bad))
		if (r.h.type == type && !nth--) {
			assert_int_equal(
				record_decode(cursor_over(r.p, r.h.size, false), 0, &src->events.trailer, &out), 0);
			return out;
		}
	fail_msg("no record %u", type);
	return out;
}

/* Events, their ids and group, the clock, and the samples' times are in the file's features. */
static void test_features(void **state)
{
	struct recorder_set s;
	struct source *src;
	const struct features *f;

	(void)state;
	recorder_set_begin(&s, 1, SIZE);
	s.o.output.build_ids = BUILDID_NONE;
	s.o.attr.use_clockid = true;
	s.o.attr.clockid = CLOCK_MONOTONIC;
	s.r.clock_wall_ns = 1700000000123456789;
	s.r.clock_ns = 4567;
	s.r.set.events.v[1].attr.branch_sample_type = 1;
	assert_int_equal(recorder_begin_file(&s.r), 0);
	ring_put_sample(&s, 0, 700, 0x1000);
	ring_put_sample(&s, 0, 500, 0x1000);
	ring_put_sample(&s, 0, 600, 0x1000);
	assert_int_equal(recorder_drain(&s.r, true), 0);
	assert_int_equal(recorder_end_file(&s.r), 0);
	src = open_source(s.path);
	f = &src->features;
	assert_non_null(f->hostname);
	assert_int_equal(f->event_desc.n, 2);
	assert_string_equal(f->event_desc.v[1].name, "second");
	assert_int_equal(f->event_desc.v[1].nr_ids, 2);
	assert_true(f->event_desc.v[1].ids[0] == 200 && f->event_desc.v[1].ids[1] == 201);
	assert_int_equal(f->groups.n, 1);
	assert_string_equal(f->groups.v[0].name, "{anon_group}");
	assert_int_equal(f->groups.v[0].leader, 0);
	assert_int_equal(f->groups.v[0].members, 2);
	assert_int_equal(f->first_sample_time, 500);
	assert_int_equal(f->last_sample_time, 700);
	assert_true(f->present[0] >> FEAT_BRANCH_STACK & 1);
	assert_int_equal(f->clock_data_clockid, CLOCK_MONOTONIC);
	assert_true(f->clockid_res_ns >= 1 && f->clockid_res_ns < 1000000000);
	assert_true(f->clock_data_wall_ns == s.r.clock_wall_ns && f->clock_data_clockid_ns == 4567);
	assert_false(f->present[0] >> FEAT_COMPRESSED & 1 || f->present[0] >> FEAT_BUILD_ID & 1);
	assert_int_equal(records_of(src, PERF_RECORD_FINISHED_INIT), 1);
	source_close(src);
	recorder_set_end(&s);
}

/* Without samples, groups, branches or a clock, the features say nothing of them. */
static void test_no_features(void **state)
{
	struct recorder_set s;
	struct source *src;
	u64 present;

	(void)state;
	recorder_set_begin(&s, 1, SIZE);
	s.r.set.events.v[1].leader = 1;
	assert_int_equal(recorder_begin_file(&s.r), 0);
	assert_int_equal(recorder_end_file(&s.r), 0);
	src = open_source(s.path);
	present = src->features.present[0];
	assert_true(present >> FEAT_EVENT_DESC & 1);
	/* A file's head has its events and features: no records do. */
	assert_int_equal(records_of(src, PERF_RECORD_HEADER_ATTR), 0);
	assert_int_equal(records_of(src, PERF_RECORD_EVENT_UPDATE), 0);
	assert_int_equal(records_of(src, PERF_RECORD_HEADER_FEATURE), 0);
	assert_false(present >> FEAT_GROUP_DESC & 1 || present >> FEAT_SAMPLE_TIME & 1 ||
		     present >> FEAT_BRANCH_STACK & 1 || present >> FEAT_CLOCK_DATA & 1 ||
		     present >> FEAT_CLOCKID & 1 || present >> FEAT_TRACING_DATA & 1);
	source_close(src);
	recorder_set_end(&s);
}

/* What is packed says how, and unpacks to the same. */
static void test_compressed(void **state)
{
	struct recorder_set s;
	struct source *src;
	u64 bytes = 0;
	char *text;

	(void)state;
	recorder_set_begin(&s, 1, 16 * SIZE);
	s.o.output.zstd_level = 1;
	s.o.output.build_ids = BUILDID_NONE;
	assert_int_equal(recorder_begin_file(&s.r), 0);
	for (u32 i = 0; i < 1000; i++)
		ring_put_sample(&s, 0, 5, 0x1000);
	bytes = ring_filled(&s.r.set.rings.v[0].ring);
	assert_int_equal(recorder_drain(&s.r, true), 0);
	assert_int_equal(recorder_end_file(&s.r), 0);
	assert_int_equal(s.result.unpacked, bytes);
	assert_in_range(s.result.packed, 1, bytes / 10);
	src = open_source(s.path);
	assert_int_equal(src->features.compressed_type, 1);
	assert_int_equal(src->features.compressed_level, 1);
	assert_int_equal(src->features.compressed_ratio, s.result.unpacked / s.result.packed);
	assert_int_equal(src->features.compressed_mmap_len, 17 * sysconf(_SC_PAGESIZE));
	source_close(src);
	text = file_text(s.path);
	assert_int_equal(strlen(text),
			 2 * 1004); /* and rounds: at the head, after what existed, and twice at the end */
	free(text);
	recorder_set_end(&s);
}

static u64 packed_size(u32 level, const struct bytes *text)
{
	struct packer *p = packer_open(level, 1u << 20);
	const struct iovec part = { text->p, text->len };
	struct bytes out = { 0 };
	u64 size;

	assert_non_null(p);
	assert_int_equal(packer_pack(p, &part, 1, &out), 0);
	size = out.len;
	bytes_free(&out);
	packer_close(p);
	return size;
}

/* The level counts: the highest packs more than the usual one. */
static void test_levels(void **state)
{
	struct bytes text = { 0 };
	u32 random = 1;

	(void)state;
	for (u32 i = 0; i < 8000; i++) {
		random = random * 1103515245 + 12345;
		bytes_printf(&text, "%u words, %u ", random >> 24, i % 100);
	}
	assert_true(packed_size(19, &text) < packed_size(3, &text));
	bytes_free(&text);
}

/* Records tell of losses late, and counters of all: the larger one counts, for rings that are overwritten apart. */
static void test_lost(void **state)
{
	static const struct {
		u64 flow, looked, read, read_looked, lost, in_looking;
	} rows[] = { { 7, 0, 9, 0, 9, 0 },
		     { 9, 0, 7, 0, 9, 0 },
		     { 20, 5, 11, 6, 21, 6 },
		     { 20, 6, 3, 2, 20, 6 },
		     { 0, 0, 0, 0, 0, 0 } };
	struct recorder_set s;
	u64 lost = 0, in_looking = 0;

	(void)state;
	recorder_set_begin(&s, 2, SIZE);
	s.r.set.rings.v[1].ring.backward = true;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(recorder_begin_file(&s.r), 0);
		s.r.flow.lost = rows[i].flow;
		s.r.looked_lost = rows[i].looked;
		recorder_put_lost(&s.r, &s.r.set.events.v[0].on.v[0], rows[i].read);
		recorder_put_lost(&s.r, &s.r.set.events.v[1].on.v[1], rows[i].read_looked);
		assert_int_equal(recorder_end_file(&s.r), 0);
		lost += rows[i].lost;
		in_looking += rows[i].in_looking;
		assert_int_equal(s.result.lost, lost);
		assert_int_equal(s.result.lost_in_looking, in_looking);
	}
	recorder_set_end(&s);
}

/* What is said at the end is of all files. */
static void test_sums_of_files(void **state)
{
	struct recorder_set s;

	(void)state;
	recorder_set_begin(&s, 2, SIZE);
	for (u32 i = 1; i <= 3; i++) {
		assert_int_equal(recorder_begin_file(&s.r), 0);
		s.r.flow.samples = i;
		s.r.flow.throttled = 10 * i;
		s.r.flow.aux_truncated = 100 * i;
		s.r.flow.aux_collisions = 1000 * i;
		assert_int_equal(recorder_end_file(&s.r), 0);
	}
	assert_int_equal(s.result.samples, 6);
	assert_int_equal(s.result.throttled, 60);
	assert_int_equal(s.result.aux_truncated, 600);
	assert_int_equal(s.result.aux_collisions, 6000);
	recorder_set_end(&s);
}

/* Whose records were lost: as the trailer of a record of its own. */
static void test_lost_records(void **state)
{
	struct recorder_set s;
	struct source *src;
	struct record r;

	(void)state;
	recorder_set_begin(&s, 2, SIZE);
	assert_int_equal(recorder_begin_file(&s.r), 0);
	s.r.set.events.v[1].on.v[1].task = (struct target_task){ 77, 78 };
	recorder_put_lost(&s.r, &s.r.set.events.v[1].on.v[1], 6);
	assert_int_equal(recorder_end_file(&s.r), 0);
	src = open_source(s.path);
	r = record_of(src, PERF_RECORD_LOST_SAMPLES, 0);
	assert_int_equal(r.lost.lost, 6);
	assert_int_equal(r.sid.id, 201);
	assert_int_equal(r.sid.cpu, 6);
	assert_int_equal(r.sid.pid, 77);
	assert_int_equal(r.sid.tid, 78);
	source_close(src);
	recorder_set_end(&s);
}

static int switched(void *ctx, const char *path, u64 bytes)
{
	struct recorder_set *s = ctx;
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_true(bytes > 0 && bytes <= (u64)st.st_size);
	assert_int_equal(bytes, s->result.bytes);
	bytes_printf(&s->notes, "%s\n", path + strlen(s->path) + 1);
	return 0;
}

/* Each file has its own samples, counts of all are added up, and the newest are kept. */
static void test_switch(void **state)
{
	char paths[16][320];
	struct recorder_set s;

	(void)state;
	for (u32 most = 0; most < 4; most++) {
		recorder_set_begin(&s, 1, SIZE);
		s.o.output.switch_on = SWITCH_SIGNAL;
		s.o.output.switch_max_files = most;
		s.tell.switched = switched;
		s.tell.ctx = &s;
		assert_int_equal(recorder_begin_file(&s.r), 0);
		for (u32 i = 0; i < 3; i++) {
			struct record slow = { .h.type = PERF_RECORD_THROTTLE };

			ring_put_sample(&s, 0, 10 + i, 0x1000);
			put(&s, &slow);
			assert_int_equal(recorder_drain(&s.r, true), 0);
			assert_int_equal(s.r.flow.samples, 1);
			assert_int_equal(recorder_switch_file(&s.r, i == 2), 0);
			assert_int_equal(s.result.files, i + 1);
			assert_int_equal(s.result.samples, i + 1);
			assert_int_equal(s.result.throttled, i + 1);
			assert_int_equal(access(s.path, F_OK), i == 2 ? -1 : 0);
		}
		assert_int_equal(files_of(&s, paths, 16), most ? MIN(most, 3u) : 3);
		for (u32 i = 0; i < (most ? MIN(most, 3u) : 3); i++) {
			char *text = file_text(paths[i]), expected[16];

			snprintf(expected, sizeof(expected), ". . %u . . ", 13 - (most ? MIN(most, 3u) : 3) + i);
			assert_string_equal(text, expected);
			free(text);
		}
		assert_string_equal(s.result.path, paths[most ? MIN(most, 3u) - 1 : 2]);
		assert_int_equal(s.notes.len, 3 * 17); /* three times of 16 digits */
		recorder_set_end(&s);
	}
}

/* "%Y%m%d%H%M%S" and hundredths of a second, of now, or later where that name is taken. */
static void test_dated(void **state)
{
	char paths[16][320], digits[32];
	struct timeval before, after;
	time_t at;
	struct recorder_set s;
	struct tm tm = { .tm_isdst = -1 };

	(void)state;
	recorder_set_begin(&s, 1, SIZE);
	gettimeofday(&before, NULL);
	assert_int_equal(recorder_begin_file(&s.r), 0);
	assert_int_equal(recorder_switch_file(&s.r, true), 0);
	gettimeofday(&after, NULL);
	assert_int_equal(files_of(&s, paths, 16), 1);
	snprintf(digits, sizeof(digits), "%s", paths[0] + strlen(s.path) + 1);
	assert_int_equal(strspn(digits, "0123456789"), 16);
	digits[14] = 0;
	assert_ptr_equal(strptime(digits, "%Y%m%d%H%M%S", &tm), digits + 14);
	at = mktime(&tm);
	assert_true(at >= before.tv_sec && at <= after.tv_sec);
	recorder_set_end(&s);
}

#define TAKEN 400 /* hundredths of a second, from now on */

static void dated(const struct recorder_set *s, time_t at, u32 hundredths, char path[128])
{
	char text[16];
	struct tm tm;

	at += hundredths / 100;
	localtime_r(&at, &tm);
	strftime(text, sizeof(text), "%Y%m%d%H%M%S", &tm);
	snprintf(path, 128, "%s.%s%02u", s->path, text, hundredths % 100);
}

/* Where the names of now are taken, it is the next one that is not, so that files sort by time. */
static void test_dated_taken(void **state)
{
	struct recorder_set s;
	char path[128], last[128];
	time_t now;

	(void)state;
	recorder_set_begin(&s, 1, SIZE);
	assert_int_equal(recorder_begin_file(&s.r), 0);
	now = time(NULL);
	for (u32 i = 0; i < TAKEN; i++) {
		FILE *f;

		dated(&s, now, i, last);
		f = fopen(last, "wx");
		assert_non_null(f);
		fclose(f);
	}
	assert_int_equal(recorder_switch_file(&s.r, true), 0);
	assert_true(strcmp(s.result.path, last) > 0);
	dated(&s, now, TAKEN, path);
	if (time(NULL) < now + TAKEN / 100) /* else it may be later */
		assert_string_equal(s.result.path, path);
	for (u32 i = 0; i < TAKEN; i++) {
		dated(&s, now, i, path);
		assert_int_equal(unlink(path), 0);
	}
	recorder_set_end(&s);
}

struct met_files {
	u32 kernel, program, others;
};

static void meet(void *ctx, const struct met_file *f)
{
	struct met_files *m = ctx;

	if (f->kernel && !strcmp(f->path, "[kernel.kallsyms]"))
		m->kernel++;
	else if (!f->kernel && f->pid == (u32)getpid())
		m->program += f->id.size > 0;
	else if (!f->kernel)
		m->others++;
}

/* Build ids of what was mapped: of this program, and of the kernel where it tells its own, each once; of what is no
 * file, or none by an absolute path, there is none. */
static void test_build_ids(void **state)
{
	static const char *const wrong[] = { "//anon", "program", "/nowhere/program", "[heap]" };
	struct met_files met = { 0 };
	const struct record_met how = { meet, &met };
	struct build_id kernel = { 0 };
	u32 kernels = 0, programs = 0;
	struct recorder_set s;
	struct source *src;
	char self[256];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	assert_true(n > 0);
	self[n] = 0;
	recorder_set_begin(&s, 1, SIZE);
	s.o.output.build_ids = BUILDID_ALL;
	s.tell.met = &how;
	assert_int_equal(recorder_begin_file(&s.r), 0);
	for (u32 i = 0; i <= ARRAY_LEN(wrong); i++) {
		const char *name = i ? wrong[i - 1] : self;
		struct record r = { .h.type = PERF_RECORD_MMAP2 };

		r.mmap = (struct rec_mmap){ .pid = (u32)getpid(),
					    .tid = (u32)getpid(),
					    .start = 0x10000 * (i + 1),
					    .len = 0x1000,
					    .prot = 4, /* code */
					    .filename = { name, (u32)strlen(name) } };
		put(&s, &r);
	}
	assert_int_equal(recorder_drain(&s.r, true), 0);
	assert_int_equal(recorder_end_file(&s.r), 0);
	src = open_source(s.path);
	assert_int_equal(src->features.present[0] >> FEAT_BUILD_ID & 1, src->features.build_ids.n > 0);
	for (size_t i = 0; i < src->features.build_ids.n; i++) {
		const struct rec_build_id *b = &src->features.build_ids.v[i];
		u16 mode = src->features.build_id_misc.v[i] & PERF_RECORD_MISC_CPUMODE_MASK;

		if (b->filename.len == strlen(self) && !memcmp(b->filename.p, self, b->filename.len))
			programs += mode == PERF_RECORD_MISC_USER;
		else if (b->filename.len == 17 && !memcmp(b->filename.p, "[kernel.kallsyms]", 17))
			kernels += mode == PERF_RECORD_MISC_KERNEL;
		else
			assert_int_equal(mode, PERF_RECORD_MISC_KERNEL); /* a module */
	}
	assert_int_equal(programs, 1);
	assert_int_equal(kernels, build_id_of_kernel(&kernel));
	assert_int_equal(met.program, 1);
	assert_int_equal(met.kernel, kernels);
	assert_int_equal(met.others, 0);
	source_close(src);
	recorder_set_end(&s);
}

/* ---- the loop, when it is time for the next file */

static int stop_now(void *ctx, const char *path, u64 bytes)
{
	(void)path;
	(void)bytes;
	((struct recorder_set *)ctx)->r.stop = true;
	return 0;
}

/* Runs until the first file is finished; false: the end came first. size: how much the file lacks to be so large. */
static bool switches(enum switch_on on, u64 size, u64 in_ms, bool signal)
{
	const bool ends = size || (in_ms && !signal);
	struct recorder_set s;
	sigset_t set, before;
	int live[2];
	bool yes;

	recorder_set_begin(&s, 1, SIZE);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, &before), 0);
	s.r.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	assert_int_equal(pipe(live), 0);
	vec_push(&s.r.set.rings.v[0].fds, live[0]);
	s.o.output.switch_on = on;
	s.o.output.switch_ms = in_ms;
	s.tell.switched = stop_now;
	s.tell.ctx = &s;
	assert_int_equal(recorder_begin_file(&s.r), 0);
	s.o.output.switch_size = writer_size(&s.r.writer) + size;
	if (ends) /* its task has ended, so the first turn is the last */
		close(live[1]);
	assert_int_equal(recorder_watch(&s.r), 0);
	if (signal)
		raise(SIGUSR2);
	assert_int_equal(recorder_loop(&s.r), 0);
	yes = s.result.files == 1;
	if (!yes)
		assert_int_equal(recorder_end_file(&s.r), 0);
	close(live[0]);
	if (!ends)
		close(live[1]);
	recorder_set_end(&s);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	return yes;
}

static void test_when_to_switch(void **state)
{
	(void)state;
	assert_true(switches(SWITCH_SIZE, 0, 0, false));
	assert_false(switches(SWITCH_SIZE, 1, 0, false));
	assert_true(switches(SWITCH_TIME, 0, 0, false));
	assert_false(switches(SWITCH_TIME, 0, 1ull << 40, false));
	assert_true(switches(SWITCH_SIGNAL, 0, 1ull << 40, true));
	assert_false(switches(SWITCH_SIGNAL, 0, 1ull << 40, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_features),       cmocka_unit_test(test_no_features),
		cmocka_unit_test(test_compressed),     cmocka_unit_test(test_lost),
		cmocka_unit_test(test_lost_records),   cmocka_unit_test(test_sums_of_files),
		cmocka_unit_test(test_switch),	       cmocka_unit_test(test_dated),
		cmocka_unit_test(test_when_to_switch), cmocka_unit_test(test_levels),
		cmocka_unit_test(test_dated_taken),    cmocka_unit_test(test_build_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
