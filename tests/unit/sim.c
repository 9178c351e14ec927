/* SPDX-License-Identifier: Apache-2.0 */
/* io/sim: what is taken out of chunks, in which order, and what is made of bytes that no plugin wrote. */
#include "sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct got {
	struct bytes records;
	u32 totals, truths;
	u64 instructions;
};

static int take_records(void *ctx, const struct iovec *whole)
{
	struct got *g = ctx;

	bytes_put(&g->records, whole->iov_base, whole->iov_len);
	return 0;
}

static void take_totals(void *ctx, u32 pid, u32 tid, const u64 counts[NR_VPMU_COUNTS])
{
	struct got *g = ctx;

	assert_true(pid == 3 && tid == 4);
	g->totals++;
	g->instructions += counts[VC_INSTRUCTIONS];
}

static void take_truth(void *ctx, const u8 *record, u16 size)
{
	struct got *g = ctx;

	assert_true(size == 16 && record[8] == 'T');
	g->truths++;
}

static void make(struct sim *s)
{
	*s = (struct sim){ .fd = -1 };
	s->control = mem_zalloc(sizeof(*s->control));
	s->data = mem_zalloc((size_t)VPMU_CHUNKS * VPMU_CHUNK_SIZE);
}

static void drop(struct sim *s, struct got *g)
{
	free(s->control);
	free(s->data);
	bytes_free(&s->copy);
	bytes_free(&g->records);
}

static int drain(struct sim *s, struct got *g, bool last)
{
	struct sim_sink sink = { .records = take_records, .totals = take_totals, .truth = take_truth, .ctx = g };

	g->records.len = 0;
	return sim_drain(s, &sink, last);
}

/* A record of 16 bytes whose body says `word`. */
static void put(struct sim *s, u32 chunk, u32 type, u16 size, const char word[8])
{
	struct vpmu_chunk *c = &s->control->chunks[chunk];
	struct perf_event_header h = { type, 0, size };
	u8 *at = s->data + (u64)chunk * VPMU_CHUNK_SIZE + c->used;

	memcpy(at, &h, sizeof(h));
	memcpy(at + sizeof(h), word, 8);
	c->used += 16;
}

static void set(struct sim *s, u32 chunk, u32 state, u64 turn, s32 owner)
{
	struct vpmu_chunk *c = &s->control->chunks[chunk];

	c->turn = turn;
	if (s->control->turn < turn)
		s->control->turn = turn;
	c->owner = owner;
	c->state = state;
}

static void says(const struct got *g, const char *words)
{
	char text[256] = "";
	size_t n = 0;

	for (size_t at = 0; at + 16 <= g->records.len; at += 16)
		text[n++] = (char)g->records.p[at + 8];
	assert_string_equal(text, words);
}

static void test_order(void **state)
{
	struct got g = { 0 };
	struct sim s;

	(void)state;
	make(&s);
	s.control->next_id = 2; /* two processes: open chunks wait */
	put(&s, 0, PERF_RECORD_COMM, 16, "c______");
	put(&s, 5, PERF_RECORD_COMM, 16, "a______");
	put(&s, 5, PERF_RECORD_COMM, 16, "b______");
	put(&s, 9, PERF_RECORD_COMM, 16, "d______");
	set(&s, 0, VPMU_CHUNK_CLOSED, 8, getpid());
	set(&s, 5, VPMU_CHUNK_CLOSED, 7, getpid());
	set(&s, 9, VPMU_CHUNK_OPEN, 1, getpid());
	assert_int_equal(drain(&s, &g, false), 0);
	says(&g, "abc");
	assert_int_equal(s.control->chunks[0].state, VPMU_CHUNK_FREE);
	assert_int_equal(s.control->chunks[0].used, 0);
	assert_int_equal(s.control->chunks[0].owner, 0);
	assert_int_equal(s.control->chunks[9].state, VPMU_CHUNK_OPEN);
	/* At the end open ones too, behind those that were closed; and only what is new. */
	put(&s, 3, PERF_RECORD_COMM, 16, "e______");
	set(&s, 3, VPMU_CHUNK_CLOSED, 20, getpid());
	drain(&s, &g, true);
	says(&g, "ed");
	put(&s, 9, PERF_RECORD_COMM, 16, "f______");
	drain(&s, &g, true);
	says(&g, "f");
	assert_false(s.damaged);
	drop(&s, &g);
}

/* Closed after the look at the chunks began: another one, passed by then, may have been closed before it. */
static void test_closed_meanwhile(void **state)
{
	struct got g = { 0 };
	struct sim s;

	(void)state;
	make(&s);
	s.control->next_id = 2;
	put(&s, 0, PERF_RECORD_COMM, 16, "a______");
	put(&s, 1, PERF_RECORD_COMM, 16, "b______");
	set(&s, 0, VPMU_CHUNK_CLOSED, 8, getpid());
	set(&s, 1, VPMU_CHUNK_CLOSED, 9, getpid());
	s.control->turn = 8;
	drain(&s, &g, false);
	says(&g, "a");
	assert_int_equal(s.control->chunks[1].state, VPMU_CHUNK_CLOSED);
	s.control->turn = 9;
	drain(&s, &g, false);
	says(&g, "b");
	/* At the end there is no next time. */
	put(&s, 1, PERF_RECORD_COMM, 16, "c______");
	set(&s, 1, VPMU_CHUNK_CLOSED, 10, getpid());
	s.control->turn = 9;
	drain(&s, &g, true);
	says(&g, "c");
	drop(&s, &g);
}

/* While there is one thread, its open chunk is taken as well, once per second. */
static void test_one_thread(void **state)
{
	struct got g = { 0 };
	struct sim s;

	(void)state;
	make(&s);
	s.control->next_id = 1;
	put(&s, 0, PERF_RECORD_COMM, 16, "a______");
	set(&s, 0, VPMU_CHUNK_OPEN, 1, getpid());
	drain(&s, &g, false);
	says(&g, "a");
	put(&s, 0, PERF_RECORD_COMM, 16, "b______");
	set(&s, 0, VPMU_CHUNK_CLOSED, 2, getpid());
	drain(&s, &g, false);
	says(&g, "b");
	drop(&s, &g);
}

static void test_dead_owner(void **state)
{
	struct got g = { 0 };
	struct sim s;
	pid_t child = fork();

	(void)state;
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	make(&s);
	s.control->next_id = 2;
	put(&s, 1, PERF_RECORD_COMM, 16, "a______");
	set(&s, 1, VPMU_CHUNK_OPEN, 1, child);
	put(&s, 2, PERF_RECORD_COMM, 16, "b______"); /* was opened, and its owner has not said yet who it is */
	set(&s, 2, VPMU_CHUNK_OPEN, 2, 0);
	drain(&s, &g, false);
	says(&g, "a");
	assert_int_equal(s.control->chunks[1].state, VPMU_CHUNK_FREE);
	assert_int_equal(s.control->chunks[2].state, VPMU_CHUNK_OPEN);
	drop(&s, &g);
}

/* Private records go their own way; those around them stay whole. */
static void test_private(void **state)
{
	struct got g = { 0 };
	struct bytes totals = { 0 };
	struct sim s;

	(void)state;
	make(&s);
	put(&s, 0, PERF_RECORD_COMM, 16, "a______");
	put(&s, 0, VPMU_RECORD_TRUTH_PC, 16, "T______");
	put(&s, 0, PERF_RECORD_COMM, 16, "b______");
	bytes_u32(&totals, VPMU_RECORD_TOTALS);
	bytes_u16(&totals, 0);
	bytes_u16(&totals, 16 + 8 * NR_VPMU_COUNTS);
	bytes_u32(&totals, 3);
	bytes_u32(&totals, 4);
	for (u32 i = 0; i < NR_VPMU_COUNTS; i++)
		bytes_u64(&totals, i == VC_INSTRUCTIONS ? 42 : 0);
	memcpy(s.data + s.control->chunks[0].used, totals.p, totals.len);
	s.control->chunks[0].used += (u32)totals.len;
	put(&s, 0, PERF_RECORD_COMM, 16, "c______");
	set(&s, 0, VPMU_CHUNK_CLOSED, 1, getpid());
	drain(&s, &g, false);
	says(&g, "abc");
	assert_int_equal(g.truths, 1);
	assert_int_equal(g.totals, 1);
	assert_int_equal(g.instructions, 42);
	assert_int_equal(s.counts[VC_INSTRUCTIONS], 42);
	assert_int_equal(s.unfinished, 0);
	assert_false(s.damaged);
	bytes_free(&totals);
	drop(&s, &g);
}

/* The program could write there: what is no record is left out, and said. */
static void test_damage(void **state)
{
	static const struct {
		u32 type;
		u16 size;
		u32 used; /* 0: as put */
		const char *left;
	} rows[] = {
		{ PERF_RECORD_COMM, 0, 0, "a" },
		{ PERF_RECORD_COMM, 7, 0, "a" },
		{ PERF_RECORD_COMM, 65535, 0, "a" },
		{ PERF_RECORD_COMPRESSED, 16, 0, "az" }, /* none that a kernel writes */
		{ VPMU_RECORD_TOTALS, 16, 0, "az" },	 /* too short for counts */
		{ 0xffffffff, 16, 0, "az" },
		{ PERF_RECORD_COMM, 16, 37, "ax" }, /* torn */
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct got g = { 0 };
		struct sim s;

		make(&s);
		put(&s, 0, PERF_RECORD_COMM, 16, "a______");
		put(&s, 0, rows[i].type, rows[i].size, "x______");
		put(&s, 0, PERF_RECORD_COMM, 16, "z______");
		if (rows[i].used)
			s.control->chunks[0].used = rows[i].used;
		set(&s, 0, VPMU_CHUNK_CLOSED, 1, getpid());
		drain(&s, &g, false);
		says(&g, rows[i].left);
		assert_true(s.damaged);
		drop(&s, &g);
	}
}

/* More than a chunk holds, all of it zero: nothing is read beyond it. */
static void test_used_too_large(void **state)
{
	struct got g = { 0 };
	struct sim s;

	(void)state;
	make(&s);
	s.control->chunks[VPMU_CHUNKS - 1].used = UINT32_MAX;
	set(&s, VPMU_CHUNKS - 1, VPMU_CHUNK_CLOSED, 1, getpid());
	drain(&s, &g, false);
	says(&g, "");
	assert_true(s.damaged);
	drop(&s, &g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_closed_meanwhile), cmocka_unit_test(test_order),
		cmocka_unit_test(test_one_thread),	 cmocka_unit_test(test_dead_owner),
		cmocka_unit_test(test_private),		 cmocka_unit_test(test_damage),
		cmocka_unit_test(test_used_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
