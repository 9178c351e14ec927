/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder makes of the virtual PMU's chunks, and what such recordings say of themselves. */
#include "recorder_set.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *const program[] = { "program", NULL };

static void put_in_chunk(struct recorder_set *s, struct record *r, u64 time)
{
	struct vpmu_chunk *c = &s->r.sim->control->chunks[0];
	struct bytes b = { 0 };

	r->sid = (struct sample_id){ .time = time, .id = 100, .pid = 7, .tid = 7, .cpu = 4 };
	assert_int_equal(record_encode(r, &s->r.events.trailer, &b), 0);
	memcpy(s->r.sim->data + c->used, b.p, b.len);
	c->used += (u32)b.len;
	bytes_free(&b);
}

/* Closed by its thread, whose process is this one, so it lives. */
static void close_chunk(struct recorder_set *s)
{
	s->r.sim->control->turn++;
	s->r.sim->control->chunks[0].turn = s->r.sim->control->turn;
	s->r.sim->control->chunks[0].owner = getpid();
	s->r.sim->control->chunks[0].state = VPMU_CHUNK_CLOSED;
}

static void put_tasks(struct recorder_set *s)
{
	struct record fork = { .h.type = PERF_RECORD_FORK, .task = { .pid = 9, .ppid = 7, .tid = 9, .ptid = 7 } };
	struct record comm = { .h.type = PERF_RECORD_COMM };
	struct record map = { .h.type = PERF_RECORD_MMAP2 };
	struct record slow = { .h.type = PERF_RECORD_THROTTLE };
	struct record exit = { .h.type = PERF_RECORD_EXIT, .task = { .pid = 9, .ppid = 7, .tid = 9, .ptid = 7 } };
	struct sample sample = {
		.has = SET_SAMPLE, .id = 100, .ip = 0x1000, .pid = 7, .tid = 7, .time = 60, .cpu = 4
	};
	struct vpmu_chunk *c = &s->r.sim->control->chunks[0];
	struct bytes b = { 0 };

	comm.comm.pid = comm.comm.tid = 7;
	comm.comm.comm = (struct str){ "name", 4 };
	map.mmap.pid = map.mmap.tid = 7;
	map.mmap.len = 0x1000;
	map.mmap.filename = (struct str){ "/program", 8 };
	put_in_chunk(s, &comm, 10);
	put_in_chunk(s, &map, 20);
	put_in_chunk(s, &fork, 30);
	put_in_chunk(s, &slow, 40);
	put_in_chunk(s, &exit, 50);
	assert_int_equal(sample_encode(&s->r.events.events.v[0].layout, &sample, &b), 0);
	memcpy(s->r.sim->data + c->used, b.p, b.len);
	c->used += (u32)b.len;
	bytes_free(&b);
	close_chunk(s);
}

/* The next file of --switch-output begins with all side-band of those before it, and nothing else of them. Where there
 * is one file, nothing is kept. */
static void test_side_band_is_kept(void **state)
{
	static const u32 types[] = { PERF_RECORD_COMM, PERF_RECORD_MMAP2, PERF_RECORD_FORK, PERF_RECORD_EXIT };
	char paths[16][320];

	(void)state;
	for (u32 switches = 0; switches < 2; switches++) {
		struct recorder_set s;
		struct source *src = NULL;

		recorder_set_begin(&s, 0, 4096);
		s.r.sim = sim_new(SIM_X86_64);
		s.o.target.command = program;
		s.o.output.build_ids = BUILDID_NONE;
		s.o.output.switch_on = switches ? SWITCH_SIGNAL : SWITCH_NEVER;
		s.r.workload.pid = getpid();
		assert_int_equal(recorder_begin_file(&s.r), 0);
		put_tasks(&s);
		assert_int_equal(recorder_drain(&s.r, false), 0);
		assert_int_equal(s.r.flow.samples, 1);
		assert_int_equal(s.r.flow.throttled, 1);
		assert_true(s.result.events_bytes > 0 && s.result.events_bytes == s.r.round_bytes);
		assert_int_equal(s.r.side_band.len > 0, switches);
		if (switches) {
			assert_int_equal(recorder_switch_file(&s.r, false), 0);
			assert_int_equal(recorder_switch_file(&s.r, true), 0);
			assert_int_equal(files_of(&s, paths, 16), 2);
			for (u32 i = 0; i < 2; i++) {
				assert_int_equal(source_open(&src, paths[i], NULL), 0);
				for (u32 t = 0; t < ARRAY_LEN(types); t++)
					assert_int_equal(records_of(src, types[t]), 1);
				assert_int_equal(records_of(src, PERF_RECORD_SAMPLE), !i);
				assert_int_equal(records_of(src, PERF_RECORD_THROTTLE), !i);
				/* Features that a killed recorder could not add, but no events, which the head has. */
				assert_true(records_of(src, PERF_RECORD_HEADER_FEATURE) > 0);
				assert_int_equal(records_of(src, PERF_RECORD_HEADER_ATTR), 0);
				source_close(src);
			}
		} else {
			assert_int_equal(recorder_end_file(&s.r), 0);
		}
		recorder_sim_close(&s.r);
		recorder_set_end(&s);
	}
}

/* A task that was killed has its end all the same, by the event that carries side-band, with that event's id on the
 * task's CPU. Where nothing has ever run under the plugin there are no tasks. */
static void test_killed_tasks_end(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct record comm = { .h.type = PERF_RECORD_COMM };
		struct recorder_set s;
		struct source *src = NULL;
		struct source_record r;
		struct record exit;
		u64 offset = 0, bad;
		u32 exits = 0;

		recorder_set_begin(&s, 0, 4096);
		s.r.sim = sim_new(SIM_X86_64);
		s.r.sim->control->started = i < 2;
		s.o.target.command = program;
		s.o.output.build_ids = BUILDID_NONE;
		s.r.set.events.v[0].tracking = false;
		s.r.set.events.v[1].tracking = true;
		s.r.workload.pid = fork();
		if (!s.r.workload.pid)
			_exit(0);
		assert_int_equal(waitpid(s.r.workload.pid, NULL, 0),
				 s.r.workload.pid); /* nobody has this number now */
		assert_int_equal(recorder_begin_file(&s.r), 0);
		comm.comm.pid = comm.comm.tid = 1;
		comm.comm.comm = (struct str){ "name", 4 };
		put_in_chunk(&s, &comm, 10);
		close_chunk(&s);
		assert_int_equal(recorder_drain(&s.r, i != 1), 0); /* only the last one ends them */
		assert_int_equal(recorder_end_file(&s.r), 0);
		assert_int_equal(source_open(&src, s.path, NULL), 0);
		while (source_next(src, &offset, &r, &bad))
			if (r.h.type == PERF_RECORD_EXIT) {
				assert_int_equal(record_decode(cursor_over(r.p, r.h.size, false), 0,
							       &src->events.trailer, &exit),
						 0);
				assert_true(exit.sid.id == 200 || exit.sid.id == 201);
				exits++;
			}
		assert_int_equal(exits > 0, i == 0);
		source_close(src);
		recorder_sim_close(&s.r);
		recorder_set_end(&s);
	}
}

/* --- what is no record of the kernel's */

static void put_private(struct recorder_set *s, u32 type, const void *body, u16 size)
{
	const struct perf_event_header h = { type, 0, (u16)(sizeof(h) + size) };
	struct vpmu_chunk *c = &s->r.sim->control->chunks[0];

	memcpy(s->r.sim->data + c->used, &h, sizeof(h));
	memcpy(s->r.sim->data + c->used + sizeof(h), body, size);
	c->used += h.size;
}

struct truths {
	u32 n;
	char first;
};

static void take_truth(void *ctx, const u8 *record, u16 size)
{
	struct truths *t = ctx;

	assert_int_equal(size, 16);
	t->n++;
	t->first = (char)record[8];
}

/* The truth goes to who wants it, and never into the file. */
static void test_truth(void **state)
{
	(void)state;
	for (u32 wanted = 0; wanted < 2; wanted++) {
		struct truths truths = { 0 };
		struct recorder_set s;

		recorder_set_begin(&s, 0, 4096);
		s.r.sim = sim_new(SIM_X86_64);
		s.o.target.command = program;
		s.o.output.build_ids = BUILDID_NONE;
		s.r.workload.pid = getpid();
		s.tell.truth = wanted ? take_truth : NULL;
		s.tell.ctx = &truths;
		assert_int_equal(recorder_begin_file(&s.r), 0);
		put_private(&s, VPMU_RECORD_TRUTH_BEGIN, "T_______", 8);
		close_chunk(&s);
		assert_int_equal(recorder_drain(&s.r, false), 0);
		assert_int_equal(s.r.round_bytes, 0);
		assert_int_equal(truths.n, wanted);
		assert_int_equal(truths.first, wanted ? 'T' : 0);
		assert_int_equal(recorder_end_file(&s.r), 0);
		recorder_sim_close(&s.r);
		recorder_set_end(&s);
	}
}

/* Packets come in a record of their own, behind one that says what they are and one by which their clock's ticks are
 * nanoseconds. Without them there is neither. */
static void test_packets(void **state)
{
	static const struct {
		u32 cpu, tid;
		u64 offset;
		char packets[16];
	} body = { 3, 7, 4096, "sixteen packets" };

	(void)state;
	for (u32 spe = 0; spe < 2; spe++) {
		struct source_record r;
		struct source *src = NULL;
		struct recorder_set s;
		struct record rec;
		u64 offset = 0, bad;
		u32 found = 0;

		recorder_set_begin(&s, 0, 4096);
		s.r.sim = sim_new(SIM_AARCH64);
		s.r.sim->spe = spe;
		s.o.target.command = program;
		s.o.output.build_ids = BUILDID_NONE;
		s.r.workload.pid = getpid();
		assert_int_equal(recorder_begin_file(&s.r), 0);
		if (spe)
			put_private(&s, VPMU_RECORD_AUX, &body, sizeof(body));
		close_chunk(&s);
		assert_int_equal(recorder_drain(&s.r, false), 0);
		assert_int_equal(s.result.aux_bytes, spe ? 16 : 0);
		assert_int_equal(recorder_end_file(&s.r), 0);
		assert_int_equal(source_open(&src, s.path, NULL), 0);
		while (source_next(src, &offset, &r, &bad)) {
			if (r.h.type != PERF_RECORD_TIME_CONV && r.h.type != PERF_RECORD_AUXTRACE_INFO &&
			    r.h.type != PERF_RECORD_AUXTRACE)
				continue;
			assert_int_equal(
				record_decode(cursor_over(r.p, r.h.size, false), 0, &src->events.trailer, &rec), 0);
			found++;
			if (r.h.type == PERF_RECORD_TIME_CONV) {
				assert_true(rec.time_conv.mult == 1 && rec.time_conv.shift == 0 &&
					    rec.time_conv.zero == 0);
				assert_true(rec.time_conv.cap_zero && rec.time_conv.mask == UINT64_MAX);
			} else if (r.h.type == PERF_RECORD_AUXTRACE_INFO) {
				assert_int_equal(rec.auxtrace_info.type, AUXTRACE_ARM_SPE);
			} else {
				assert_true(rec.auxtrace.cpu == 3 && rec.auxtrace.tid == 7 && rec.auxtrace.idx == 7);
				assert_true(rec.auxtrace.offset == 4096 && rec.auxtrace.size == 16);
				assert_memory_equal(r.p + r.h.size, body.packets, 16);
			}
		}
		assert_int_equal(found, spe ? 3 : 0);
		source_close(src);
		recorder_sim_close(&s.r);
		recorder_set_end(&s);
	}
}

/* --- what its recordings say of themselves */

static bool has(const struct features *f, u32 id)
{
	return f->present[id / 64] >> id % 64 & 1;
}

static void expect_caps(const struct features *f, const char *pmu, const char *want)
{
	const struct feat_caps *caps = &f->caps.v[0];
	char text[128] = "";

	assert_int_equal(f->caps.n, 1);
	assert_string_equal(caps->pmu, pmu);
	for (u32 i = 0; i < caps->nr; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s=%s ", caps->names[i], caps->values[i]);
	assert_string_equal(text, want);
}

static void test_sim_features(void **state)
{
	(void)state;
	for (u32 i = 0; i < 5; i++) {
		struct features f = { 0 };
		struct arena arena = { 0 };
		struct recorder_set s;

		recorder_set_begin(&s, 0, 4096);
		s.r.sim = sim_new(i == 1 ? SIM_AARCH64 : SIM_X86_64);
		s.r.sim->control->options.cpus = i == 2 ? 3 : 0;
		s.r.sim->control->options.memory = i == 3;
		s.r.sim->control->options.branch_depth = 32;
		s.r.sim->control->options.branch_kind = i == 4 ? VPMU_BRBE : VPMU_LBR;
		s.r.set.events.v[1].attr.branch_sample_type = i == 1 || i == 4 ? PERF_SAMPLE_BRANCH_ANY : 0;
		s.o.target.command = program;
		recorder_sim_features(&s.r, &f, &arena);
		assert_string_equal(f.arch, i == 1 ? "aarch64" : "x86_64");
		assert_string_equal(f.cpuid,
				    i == 1 ? "reticle-sim:neoverse-n1,1,0,0" : "reticle-sim:generic-x86,1,0,0");
		assert_non_null(strstr(f.cpudesc, "simulated"));
		assert_true(has(&f, FEAT_CPUID) && has(&f, FEAT_CPUDESC) && has(&f, FEAT_NRCPUS));
		assert_int_equal(f.nr_cpus_online, i == 2 ? 3 : i == 3 ? VPMU_MEMORY_CORES : 1);
		assert_int_equal(f.nr_cpus_avail, f.nr_cpus_online);
		assert_int_equal(has(&f, FEAT_NUMA_TOPOLOGY), i == 3);
		if (i == 3)
			assert_string_equal(f.numa.v[0].cpus, "0-63");
		assert_int_equal(has(&f, FEAT_CPU_PMU_CAPS), i == 1);
		if (i == 1)
			expect_caps(&f, "cpu", "branches=32 branch_counter_nr=4 branch_counter_width=2 ");
		assert_int_equal(has(&f, FEAT_PMU_CAPS), i == 4);
		if (i == 4)
			expect_caps(&f, "armv8_pmuv3_0", "branches=32 ");
		features_free(&f);
		arena_free(&arena);
		recorder_sim_close(&s.r);
		recorder_set_end(&s);
	}
}

/* Prints the command line as the recording would have it; the last `words` of it are the command. */
static int print_command_line(char **argv, u32 argc, u32 words)
{
	struct features f = { 0 };
	struct arena arena = { 0 };
	struct recorder_set s;

	recorder_set_begin(&s, 0, 4096);
	s.r.sim = sim_new(SIM_X86_64);
	s.o.target.command = argv + argc - words;
	recorder_sim_features(&s.r, &f, &arena);
	for (u32 i = 1; i < f.nr_cmdline; i++)
		printf("%s ", f.cmdline[i]);
	fflush(stdout);
	features_free(&f);
	arena_free(&arena);
	recorder_sim_close(&s.r);
	recorder_set_end(&s);
	return 0;
}

/* The same program recorded into another file is the same recording: words that name files of the recorder are left
 * out, in all their forms, and those of the command stay. */
static void test_command_line(void **state)
{
	char *const rows[][14] = {
		{ "--", "cat", "-o", "x", NULL },
		{ "-o", "y", "-F", "99", "--", "cat", "-o", "x", NULL },
		{ "-oy", "-F", "99", "--", "cat", "-o", "x", NULL },
		{ "--output", "y", "-F", "99", "--", "cat", "-o", "x", NULL },
		{ "--output=y", "--out=z", "--ou", "w", "-F", "99", "--", "cat", "-o", "x", NULL },
		{ "--truth=t", "--tr", "u", "-F", "99", "--", "cat", "-o", "x", NULL },
		{ "--outputs", "--trust", "--", "cat", "-o", "x", NULL },
		{ "-F", "99", "-o", "cat", "-o", "x", NULL }, /* without "--" */
	};
	static const char *const expected[] = {
		"-- cat -o x ",
		"-F 99 -- cat -o x ",
		"-F 99 -- cat -o x ",
		"-F 99 -- cat -o x ",
		"-F 99 -- cat -o x ",
		"-F 99 -- cat -o x ",
		"--outputs --trust -- cat -o x ",
		"-F 99 cat -o x ",
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		char *argv[16] = { "recorder_sim" }, got[256] = "";
		int out[2], status;
		ssize_t n;
		pid_t pid;

		for (u32 k = 0; rows[i][k]; k++)
			argv[k + 1] = rows[i][k];
		assert_int_equal(pipe2(out, O_CLOEXEC), 0);
		pid = fork();
		if (!pid) {
			dup2(out[1], STDOUT_FILENO);
			execv("/proc/self/exe", argv);
			_exit(127);
		}
		close(out[1]);
		for (size_t at = 0; (n = read(out[0], got + at, sizeof(got) - 1 - at)) > 0;)
			at += (size_t)n;
		close(out[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		assert_string_equal(got, expected[i]);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_side_band_is_kept),
		cmocka_unit_test(test_killed_tasks_end),
		cmocka_unit_test(test_truth),
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_sim_features),
		cmocka_unit_test(test_command_line),
	};

	if (argc > 1)
		return print_command_line(argv, (u32)argc, 3);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
