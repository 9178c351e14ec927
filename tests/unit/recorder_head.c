/* SPDX-License-Identifier: Apache-2.0 */
/* What stands before a recording's data: the head of a stream in pipe mode, and records for what existed before. And
 * rings whose records are merged in order of time. */
#include "recorder_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "read/source.h"
#include "sys/machine.h"

#define SIZE 4096u

struct stream {
	struct bytes all;
	u32 rounds;
};

static void take(void *ctx, const struct iovec *part, int nr)
{
	struct stream *s = ctx;

	for (int i = 0; i < nr; i++)
		bytes_put(&s->all, part[i].iov_base, part[i].iov_len);
}

static void take_round(void *ctx)
{
	((struct stream *)ctx)->rounds++;
}

static u32 nth_of(const struct source *src, u32 type, u32 nth, struct record *out)
{
	struct source_record r;
	u64 offset = 0, bad;
	u32 n = 0;

	while (source_next(src, &offset, &r, &bad))
		if (r.h.type == type && n++ == nth)
			assert_int_equal(
				record_decode(cursor_over(r.p, r.h.size, false), 0, &src->events.trailer, out), 0);
	return n;
}

/* The name of each event that is open somewhere, in a record as long as it needs. */
static void check_names(const struct source *src, const char *const *names, const u64 *ids, u32 nr)
{
	struct record r;

	assert_int_equal(nth_of(src, PERF_RECORD_EVENT_UPDATE, UINT32_MAX, &r), nr);
	for (u32 i = 0; i < nr; i++) {
		nth_of(src, PERF_RECORD_EVENT_UPDATE, i, &r);
		assert_int_equal(r.event_update.id, ids[i]);
		assert_int_equal(cursor_left(&r.event_update.data), (strlen(names[i]) + 1 + 7) & ~7ull);
		assert_string_equal((const char *)r.event_update.data.p, names[i]);
	}
}

/* A stream describes itself as a file does: events, ids, names and features, but it has no table of them. */
static void test_pipe(void **state)
{
	struct stream stream = { 0 };
	const struct sink sink = { take, take_round, &stream, 1000 };
	struct recorder_set s;
	struct source *src = NULL;
	const struct features *f;

	static const char *const names[] = { "seventh", "second" };
	static const u64 ids[] = { 100, 200 };

	(void)state;
	recorder_set_begin(&s, 1, SIZE);
	s.tell.sink = &sink;
	free(s.r.set.events.v[0].name);
	s.r.set.events.v[0].name = mem_strdup(names[0]); /* with its end it fills eight bytes */
	vec_push(
		&s.r.set.events,
		((struct open_event){
			.name = mem_strdup("nowhere"), .attr = s.r.set.events.v[0].attr, .leader = 2, .cgroup = -1 }));
	assert_int_equal(recorder_begin_file(&s.r), 0);
	assert_int_equal(stream.rounds, 1);
	ring_put_sample(&s, 0, 5, 0x1000);
	assert_int_equal(recorder_drain(&s.r, true), 0);
	assert_int_equal(stream.rounds, 2);
	assert_int_equal(source_of_stream(&src, stream.all.p, stream.all.len, NULL), 0);
	f = &src->features;
	assert_non_null(f->hostname);
	assert_non_null(f->osrelease);
	assert_int_equal(f->event_desc.n, 3);
	assert_int_equal(f->groups.n, 1);
	assert_false(f->present[0] >> FEAT_BUILD_ID & 1);
	assert_int_equal(src->events.events.n, 3);
	check_names(src, names, ids, 2);
	assert_string_equal(src->events.events.v[0].name, "seventh");
	assert_string_equal(src->events.events.v[1].name, "second");
	assert_int_equal(src->nr_ids, 4);
	assert_int_equal(src->size + src->header.size, stream.all.len);
	source_close(src);
	bytes_free(&stream.all);
	recorder_set_end(&s);
}

static struct source *synthesized(struct recorder_set *s)
{
	struct features f = { 0 };
	struct source *src = NULL;

	assert_int_equal(writer_open(&s->r.writer, s->path, &s->notify), 0);
	assert_int_equal(writer_begin(&s->r.writer, &s->r.set, NULL), 0);
	assert_int_equal(recorder_synthesize(&s->r), 0);
	assert_int_equal(writer_end(&s->r.writer, &f), 0);
	assert_int_equal(source_open(&src, s->path, NULL), 0);
	return src;
}

/* Ids with their rings, CPUs and threads; threads; CPUs; and how the kernel's clock counts. */
static void test_tables(void **state)
{
	static const u64 ids[] = { 100, 0, 4, (u64)-1, 101, 1, 6, (u64)-1, 200, 0, (u64)-1, 31, 201, 1, 6, (u64)-1 };
	struct perf_event_mmap_page *page;
	struct recorder_set s;
	struct source *src;
	struct record r;
	u32 threads[2];

	(void)state;
	recorder_set_begin(&s, 2, SIZE);
	s.r.set.events.v[1].on.v[0].cpu = -1;
	s.r.set.events.v[1].on.v[0].task.tid = 31;
	vec_push(&s.r.target.cpus, 4);
	vec_push(&s.r.target.cpus, -1);
	vec_push(&s.r.target.tasks, ((struct target_task){ 0x7ffffff0, 0x7ffffff1 }));
	vec_push(&s.r.target.tasks, ((struct target_task){ 0x7ffffff0, 0x7ffffff2 }));
	free(s.r.set.rings.v[0].ring.page); /* its task has ended */
	s.r.set.rings.v[0].ring.page = NULL;
	page = s.r.set.rings.v[1].ring.page;
	page->time_shift = 10;
	page->time_mult = 11;
	page->time_zero = 12;
	page->time_cycles = 13;
	page->time_mask = 14;
	page->cap_user_time_zero = 1;
	src = synthesized(&s);
	assert_int_equal(nth_of(src, PERF_RECORD_TIME_CONV, 0, &r), 1);
	assert_true(r.time_conv.shift == 10 && r.time_conv.mult == 11 && r.time_conv.zero == 12);
	assert_true(r.time_conv.cycles == 13 && r.time_conv.mask == 14);
	assert_true(r.time_conv.cap_zero && !r.time_conv.cap_short);
	assert_int_equal(nth_of(src, PERF_RECORD_ID_INDEX, 0, &r), 1);
	assert_int_equal(r.id_index.nr, 4);
	for (u32 i = 0; i < ARRAY_LEN(ids); i++)
		assert_int_equal(u64s_at(&r.id_index.entries, i), ids[i]);
	assert_int_equal(nth_of(src, PERF_RECORD_THREAD_MAP, 0, &r), 1);
	assert_int_equal(r.thread_map.nr, 2);
	for (u32 i = 0; i < 2; i++) {
		threads[i] = (u32)cursor_u64(&r.thread_map.entries);
		(void)cursor_u64(&r.thread_map.entries);
		(void)cursor_u64(&r.thread_map.entries);
	}
	assert_true(threads[0] == 0x7ffffff1 && threads[1] == 0x7ffffff2);
	assert_int_equal(nth_of(src, PERF_RECORD_CPU_MAP, 0, &r), 1);
	assert_int_equal(cursor_u16(&r.cpu_map.data), 2);
	assert_int_equal(cursor_u16(&r.cpu_map.data), 4);
	assert_int_equal(cursor_u16(&r.cpu_map.data), UINT16_MAX);
	assert_int_equal(nth_of(src, PERF_RECORD_AUXTRACE_INFO, 0, &r), 0);
	source_close(src);
	page->cap_user_time_zero = 0; /* then nobody knows */
	src = synthesized(&s);
	assert_int_equal(nth_of(src, PERF_RECORD_TIME_CONV, 0, &r), 0);
	source_close(src);
	recorder_set_end(&s);
}

/* More ids than a record holds come in several, each of them once. */
static void test_many_ids(void **state)
{
	const u32 most = (65535 - 64) / 32;
	struct recorder_set s;
	struct source *src;
	struct record r;

	(void)state;
	for (u32 more = 0; more < 2; more++) {
		recorder_set_begin(&s, 1, SIZE);
		for (u64 id = 1000; s.r.set.events.v[0].on.n + 2 < most + more; id++)
			vec_push(&s.r.set.events.v[0].on, ((struct opened){ .fd = -1, .id = id }));
		src = synthesized(&s);
		assert_int_equal(nth_of(src, PERF_RECORD_ID_INDEX, more, &r), 1 + more);
		assert_int_equal(r.id_index.nr, more ? 1 : most);
		assert_int_equal(u64s_at(&r.id_index.entries, (u32)(r.id_index.nr - 1) * 4), 201);
		source_close(src);
		recorder_set_end(&s);
	}
}

/* So are threads more than a record holds, but of these only as many are told of. */
static void test_many_threads(void **state)
{
	const u32 most = (65535 - 64) / 24;
	struct recorder_set s;
	struct source *src;
	struct record r;

	(void)state;
	for (u32 more = 0; more < 2; more++) {
		recorder_set_begin(&s, 1, SIZE);
		while (s.r.target.tasks.n < (more ? most + 100 : most - 1)) /* nobody has these numbers */
			vec_push(&s.r.target.tasks, ((struct target_task){ 0x7ffffff0, 0x7ffffff1 }));
		src = synthesized(&s);
		assert_int_equal(nth_of(src, PERF_RECORD_THREAD_MAP, 0, &r), 1);
		assert_int_equal(r.thread_map.nr, more ? most : most - 1);
		source_close(src);
		recorder_set_end(&s);
	}
}

/* A PMU with AUX areas is told of once, however many of its events are recorded. */
static void test_aux_info(void **state)
{
	struct recorder_set s;
	struct source *src;
	struct record r;
	u64 midr;

	(void)state;
	recorder_set_begin(&s, 1, SIZE);
	s.spec.aux = true;
	src = synthesized(&s);
	assert_int_equal(nth_of(src, PERF_RECORD_AUXTRACE_INFO, 0, &r), 1);
	assert_int_equal(r.auxtrace_info.type, AUXTRACE_ARM_SPE);
	if (!machine_midr(0, &midr)) { /* else cores may differ, which takes more words */
		assert_int_equal(r.auxtrace_info.priv.n, 2);
		assert_int_equal(u64s_at(&r.auxtrace_info.priv, 0), PERF_TYPE_SOFTWARE);
		assert_int_equal(u64s_at(&r.auxtrace_info.priv, 1), 1);
	}
	source_close(src);
	recorder_set_end(&s);
}

/* A thread that was named comes with its process's mappings, a process once, and the command that waits for its exec
 * with its name alone. */
static void test_tasks(void **state)
{
	static const struct {
		bool workload, threads_named, files;
		u32 comms;
		bool maps, forks;
	} rows[] = { { false, false, false, 1, true, false },
		     { true, false, false, 1, false, false },
		     { false, true, false, 1, true, false },
		     { false, false, true, 1, true, true } };
	struct recorder_set s;
	struct source *src;
	struct record r;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		recorder_set_begin(&s, 1, SIZE);
		vec_push(&s.r.target.tasks, ((struct target_task){ getpid(), getpid() }));
		s.r.workload.pid = getpid();
		s.r.target_is_workload = rows[i].workload;
		s.r.target.threads_named = rows[i].threads_named;
		s.result.files = rows[i].files;
		map_set(&s.r.flow.pids, rows[i].files ? (u64)getpid() : 0, 1);
		src = synthesized(&s);
		assert_int_equal(nth_of(src, PERF_RECORD_COMM, 0, &r), rows[i].comms);
		assert_true(r.comm.pid == (u32)getpid() && r.comm.tid == (u32)getpid());
		assert_int_equal(nth_of(src, PERF_RECORD_MMAP2, UINT32_MAX, &r) > 0, rows[i].maps);
		assert_int_equal(nth_of(src, PERF_RECORD_FORK, UINT32_MAX, &r) > 0, rows[i].forks);
		source_close(src);
		recorder_set_end(&s);
	}
}

/* Each that was named, and those alone. */
static void test_named_tasks(void **state)
{
	struct recorder_set s;
	struct source *src;
	struct record r;
	int held[2];
	pid_t child;
	char c;

	(void)state;
	assert_int_equal(pipe(held), 0);
	child = fork();
	if (!child) {
		close(held[1]);
		_exit(read(held[0], &c, 1) < 0);
	}
	assert_true(child > 0);
	recorder_set_begin(&s, 1, SIZE);
	vec_push(&s.r.target.tasks, ((struct target_task){ getpid(), getpid() }));
	vec_push(&s.r.target.tasks, ((struct target_task){ child, child }));
	src = synthesized(&s);
	assert_int_equal(nth_of(src, PERF_RECORD_COMM, 0, &r), 2);
	assert_int_equal(r.comm.pid, getpid());
	nth_of(src, PERF_RECORD_COMM, 1, &r);
	assert_int_equal(r.comm.pid, child);
	source_close(src);
	recorder_set_end(&s);
	close(held[0]);
	close(held[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* ---- rings that are merged */

static void take_record(void *ctx, const u8 *record, u16 size, struct bytes *out)
{
	++*(u32 *)ctx;
	bytes_put(out, record, size);
}

static void describe(void *ctx, struct features *f, struct arena *arena)
{
	(void)ctx;
	(void)f;
	(void)arena;
}

/* What each round tells. */
static void sum_up(void *ctx, struct features *f)
{
	f->unwound_stacks = *(u32 *)ctx;
}

static void begin_merge(struct recorder_set *s, struct record_unwind *u, u32 *taken, u32 nr, u64 size)
{
	recorder_set_begin(s, nr, size);
	*u = (struct record_unwind){ .take = take_record, .describe = describe, .sum_up = sum_up, .ctx = taken };
	s->tell.unwind = u;
	assert_false(recorder_unwinds(&s->r)); /* no event asks for it */
	s->r.set.events.v[0].unwound = true;
	assert_true(recorder_unwinds(&s->r));
	for (u32 e = 0; e < SET_EVENTS; e++) {
		evlist_add(&s->r.kernel_events, &s->r.set.events.v[e].attr, s->r.set.events.v[e].name, NULL);
		for (u32 i = 0; i < 2; i++)
			evlist_add_id(&s->r.kernel_events, e, s->r.set.events.v[e].on.v[i].id);
	}
	assert_int_equal(evlist_seal(&s->r.kernel_events, NULL, "test"), 0);
	s->r.unwinds = true;
	assert_int_equal(writer_open(&s->r.writer, s->path, &s->notify), 0);
	assert_int_equal(writer_begin(&s->r.writer, &s->r.set, NULL), 0);
}

/* However the records lie in the rings, they come in order of time, each once. */
static void test_merge(void **state)
{
	struct record_unwind u;
	struct recorder_set s;
	struct features f = { 0 };
	struct bytes expected = { 0 };
	u64 bytes = 0;
	u32 taken = 0;
	char *text;

	(void)state;
	begin_merge(&s, &u, &taken, 6, SIZE); /* the last one stays empty */
	for (u32 round = 0; round < 3; round++) {
		for (u32 i = 0; i < 100; i++) {
			u32 time = 1 + round * 100 + i;

			ring_put_sample(&s, i * 7919 % 101 % 5, time, 0x1000);
			bytes_printf(&expected, "%u ", time);
		}
		for (u32 i = 0; i < 6; i++)
			bytes += ring_filled(&s.r.set.rings.v[i].ring);
		assert_int_equal(recorder_drain(&s.r, false), 0);
		bytes_printf(&expected, ". ");
		for (u32 i = 0; i < 6; i++)
			assert_int_equal(ring_filled(&s.r.set.rings.v[i].ring), 0);
		assert_int_equal(s.result.events_bytes, bytes);
		assert_int_equal(taken, (round + 1) * 100);
	}
	assert_int_equal(s.r.flow.samples, 300);
	assert_int_equal(writer_end(&s.r.writer, &f), 0);
	text = file_text(s.path);
	bytes_u8(&expected, 0);
	assert_string_equal(text, (char *)expected.p);
	free(text);
	bytes_free(&expected);
	recorder_set_end(&s);
}

/* Records without a sample's form are in order, too, by their trailers; a ring that is larger than what is given back
 * at a time is given back whole. */
static void test_merge_large(void **state)
{
	struct record lost = { .h.type = PERF_RECORD_LOST, .lost = { 100, 3 } };
	struct bytes b = { 0 };
	struct record_unwind u;
	struct recorder_set s;
	struct features f = { 0 };
	u32 taken = 0, n = 0;
	char *text, *at;

	(void)state;
	begin_merge(&s, &u, &taken, 2, 1u << 20);
	while (ring_filled(&s.r.set.rings.v[0].ring) < 900000)
		ring_put_sample(&s, 0, ++n, 0x1000);
	lost.sid.time = n / 2;
	assert_int_equal(record_encode(&lost, &s.r.events.trailer, &b), 0);
	ring_put(&s.r.set.rings.v[1].ring, &b);
	assert_int_equal(recorder_unwind_rings(&s.r), 0);
	assert_int_equal(taken, n + 1);
	assert_int_equal(s.r.flow.samples, n);
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(s.r.set.rings.v[i].ring.page->data_tail, s.r.set.rings.v[i].ring.page->data_head);
	assert_int_equal(writer_end(&s.r.writer, &f), 0);
	text = file_text(s.path);
	at = strstr(text, "-3 ");
	assert_non_null(at);
	assert_in_range(strtoul(at + 3, NULL, 10), n / 2,
			n / 2 + 1); /* between these two, or between it and the next */
	free(text);
	bytes_free(&b);
	recorder_set_end(&s);
}

/* A record that is not whole ends what is taken of its ring, and of no other. */
static void test_merge_torn(void **state)
{
	static const u8 torn[] = { 9, 0, 0, 0, 0, 0, 200, 0 };
	struct bytes b = { 0 };
	struct record_unwind u;
	struct recorder_set s;
	u32 taken = 0;

	(void)state;
	begin_merge(&s, &u, &taken, 2, SIZE);
	ring_put_sample(&s, 0, 1, 0x1000);
	bytes_put(&b, torn, sizeof(torn));
	ring_put(&s.r.set.rings.v[0].ring, &b);
	ring_put_sample(&s, 1, 2, 0x1000);
	ring_put_sample(&s, 1, 3, 0x1000);
	assert_int_equal(recorder_unwind_rings(&s.r), 0);
	assert_int_equal(taken, 3);
	assert_int_equal(ring_filled(&s.r.set.rings.v[0].ring), sizeof(torn));
	assert_int_equal(ring_filled(&s.r.set.rings.v[1].ring), 0);
	bytes_free(&b);
	recorder_set_end(&s);
}

/* What existed before goes to who unwinds record by record; what is cut off does not. */
static void test_existing(void **state)
{
	struct record lost = { .h.type = PERF_RECORD_LOST, .lost = { 100, 3 } };
	struct bytes b = { 0 };
	struct record_unwind u;
	struct recorder_set s;
	u32 taken = 0;
	size_t whole;

	(void)state;
	begin_merge(&s, &u, &taken, 1, SIZE);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(record_encode(&lost, &s.r.events.trailer, &b), 0);
	whole = b.len;
	for (b.len = whole; b.len > whole - 24; b.len -= 8) {
		taken = 0;
		recorder_unwind_existing(&s.r, &b);
		assert_int_equal(taken, b.len == whole ? 3 : 2);
	}
	bytes_free(&b);
	recorder_set_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipe),	    cmocka_unit_test(test_tables),
		cmocka_unit_test(test_many_ids),    cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_named_tasks), cmocka_unit_test(test_merge),
		cmocka_unit_test(test_merge_large), cmocka_unit_test(test_merge_torn),
		cmocka_unit_test(test_existing),    cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_aux_info),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
