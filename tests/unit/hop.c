/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass on several threads finds what one thread finds, whatever there is to be taken for a record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pass/hop.h"
#include "recipe/recipe.h"
#include "walk.h"

#define LARGEST 65528u
#define MB (1u << 20)

static void put_header(struct bytes *b, u32 type, u32 size)
{
	bytes_u32(b, type);
	bytes_u16(b, 0);
	bytes_u16(b, (u16)size);
}

/* A sample that is full of what looks like records. */
static void put_bait(struct bytes *b)
{
	put_header(b, PERF_RECORD_SAMPLE, LARGEST);
	for (u32 i = 8; i < LARGEST; i += 8)
		put_header(b, PERF_RECORD_COMM, 8);
}

static void put_samples(struct bytes *b, u32 *seed, size_t until)
{
	while (b->len < until) {
		u32 size = 8 * (1 + (*seed = *seed * 1664525 + 1013904223) / (1u << 24));

		put_header(b, size % 5 ? PERF_RECORD_SAMPLE : PERF_RECORD_FINISHED_ROUND, size);
		bytes_zero(b, size - 8);
	}
}

static void put_trace(struct bytes *b, u64 payload)
{
	put_header(b, PERF_RECORD_AUXTRACE, 48);
	bytes_u64(b, payload);
	bytes_zero(b, 32);
	for (u64 i = 0; i < payload; i += 8)
		put_header(b, PERF_RECORD_COMM, 8);
}

static struct bytes make(bool torn)
{
	static const char text[] = "mode=pipe\n"
				   "event \"cycles:u\" type=hardware period=1000 sample=IP|TID|TIME ids=7\n";
	struct recipe r = { 0 };
	struct bytes b = { 0 };
	u32 seed = 1;

	assert_int_equal(recipe_parse(&r, "test", text, strlen(text), NULL), 0);
	assert_int_equal(recipe_write(&r, &b), 0);
	recipe_free(&r);
	put_samples(&b, &seed, 9 * MB);
	for (u32 i = 0; i < 80; i++)
		put_bait(&b);
	put_samples(&b, &seed, 15 * MB);
	if (torn)
		put_header(&b, PERF_RECORD_SAMPLE, 0);
	put_trace(&b, 10 * MB);
	put_samples(&b, &seed, 30 * MB);
	return b;
}

struct found {
	u64 others, sum;
};

static void count(void *ctx, const struct source_record *at)
{
	struct found *f = ctx;

	f->others++;
	f->sum = f->sum * 31 + at->offset;
}

static struct found in_one_go(const struct source *s, u64 *samples, u64 *end)
{
	struct source_record at;
	struct found f = { 0 };

	for (*samples = *end = 0; source_next(s, end, &at, NULL);) {
		if (at.h.type == PERF_RECORD_SAMPLE)
			++*samples;
		else
			count(&f, &at);
	}
	return f;
}

static void check(bool torn, u32 workers)
{
	struct bytes b = make(torn);
	struct memory_file m = memory_file(b.p, b.len);
	struct found want, got = { 0 };
	struct hop_opts o = { .workers = workers, .record = count, .ctx = &got };
	struct hop_result r;
	struct source *s;
	u64 samples, end, at = 0;

	assert_int_equal(source_open(&s, m.path, NULL), 0);
	want = in_one_go(s, &samples, &end);
	assert_int_equal(hop_records(s, &o, &r), 0);
	assert_int_equal(r.nr_samples, samples);
	assert_int_equal(got.others, want.others);
	assert_int_equal(got.sum, want.sum);
	for (size_t i = 0; i < r.blocks.n; i++) {
		assert_int_equal(r.blocks.v[i].offset, at);
		at = r.blocks.v[i].end;
	}
	assert_int_equal(at, end);
	assert_int_equal(r.left_out, torn ? s->size - end : 0);
	assert_int_equal(r.runs.n, 0);
	vec_free(&r.blocks);
	source_close(s);
	memory_file_close(&m);
	bytes_free(&b);
}

static void all_threads_find_the_same(void **state)
{
	(void)state;
	for (u32 workers = 1; workers <= 4; workers++)
		check(false, workers);
}

static void what_is_no_record_ends_it(void **state)
{
	(void)state;
	check(true, 1);
	check(true, 3);
}

/* Samples of counters 1 to 3, each of which reads its own id, and of event 9, which reads nothing. */
static void put_read(struct bytes *b, u64 id)
{
	put_header(b, PERF_RECORD_SAMPLE, id == 9 ? 32 : 56);
	bytes_u64(b, id);
	bytes_u64(b, 0x1000);
	bytes_u64(b, 7);
	if (id == 9)
		return;
	bytes_u64(b, 1);
	bytes_u64(b, 5);
	bytes_u64(b, id);
}

/* A megabyte in which one counter follows another, two in which each has some hundred samples in a row, and a record
 * that is no sample before every other hundred. */
static struct bytes make_lanes(void)
{
	static const char text[] = "mode=pipe\n"
				   "event \"cycles:u\" type=hardware period=1000 sample=IDENTIFIER|IP|TID|READ "
				   "read=GROUP|ID ids=1,2,3\n"
				   "event \"faults:u\" type=software period=1000 sample=IDENTIFIER|IP|TID ids=9\n";
	struct recipe r = { 0 };
	struct bytes b = { 0 };

	assert_int_equal(recipe_parse(&r, "test", text, strlen(text), NULL), 0);
	assert_int_equal(recipe_write(&r, &b), 0);
	recipe_free(&r);
	for (u32 i = 0; b.len < MB; i++)
		put_read(&b, 1 + i % 3);
	for (u32 i = 0; b.len < 3 * MB; i++) {
		if (i % 200 == 0)
			put_header(&b, PERF_RECORD_FINISHED_ROUND, 8);
		put_read(&b, i % 3 ? 1 + i / 100 % 3 : 9);
	}
	return b;
}

/* The lane of each record of the block is that of its run, and runs are as long as they can be. */
static u32 check_runs(const struct source *s, const struct hop_result *r, const struct block *b)
{
	u32 run = 0, lane, before = NR_LANES;
	u64 offset = b->offset;
	struct source_record at;

	assert_int_equal(RUN_AT(r->runs.v[b->run]), 0);
	while (offset < b->end && source_next(s, &offset, &at, NULL)) {
		if (run + 1 < b->nr_runs && RUN_AT(r->runs.v[b->run + run + 1]) == at.offset - b->offset)
			run++;
		lane = RUN_LANE(r->runs.v[b->run + run]);
		if (RUN_AT(r->runs.v[b->run + run]) == at.offset - b->offset) {
			assert_int_not_equal(lane, before);
			before = lane;
		}
		if (at.h.type != PERF_RECORD_SAMPLE)
			assert_int_equal(lane, LANE_EVERY);
		else if (at.h.size == 56)
			assert_int_equal(lane, lane_spread(at.p[8], 0));
		else
			assert_true(lane <= LANE_ANY);
	}
	assert_int_equal(run + 1, b->nr_runs);
	return run + 1;
}

static void runs_of_a_lane_are_noted_where_they_are_long(void **state)
{
	struct bytes b = make_lanes();
	struct memory_file m = memory_file(b.p, b.len);
	struct found got = { 0 };
	struct source *s;

	(void)state;
	assert_int_equal(source_open(&s, m.path, NULL), 0);
	for (u32 workers = 1; workers <= 3; workers++) {
		struct hop_opts o = { .workers = workers, .record = count, .ctx = &got, .lanes = true };
		struct hop_result r;
		u32 runs = 0, with = 0, without = 0;

		assert_int_equal(hop_records(s, &o, &r), 0);
		for (size_t i = 0; i < r.blocks.n; i++) {
			const struct block *block = &r.blocks.v[i];

			runs += block->nr_runs ? check_runs(s, &r, block) : 0;
			*(block->nr_runs ? &with : &without) += 1;
		}
		assert_int_equal(runs, r.runs.n);
		assert_true(with > without);
		assert_true(without);
		vec_free(&r.blocks);
		vec_free(&r.runs);
	}
	source_close(s);
	memory_file_close(&m);
	bytes_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_threads_find_the_same),
		cmocka_unit_test(what_is_no_record_ends_it),
		cmocka_unit_test(runs_of_a_lane_are_noted_where_they_are_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
