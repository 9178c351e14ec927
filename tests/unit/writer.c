/* SPDX-License-Identifier: Apache-2.0 */
/* When the writer of recordings writes: small pieces together, and all of them when a round ends. */
#include "recorder_set.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/record.h"

#define PACKETS 2048u /* bytes of packets of one AUXTRACE record, as the virtual PMU has them */
#define PIECES 2000u
#define LARGE (64u << 10)
#define LEAST_WRITE (128u << 10)

static void begin(struct recorder_set *s)
{
	recorder_set_begin(s, 1, 4096);
	assert_int_equal(writer_open(&s->r.writer, s->path, &s->notify), 0);
	assert_int_equal(writer_begin(&s->r.writer, &s->r.set, NULL), 0);
}

static u64 size_of_file(const struct recorder_set *s)
{
	struct stat st;

	assert_int_equal(stat(s->path, &st), 0);
	return (u64)st.st_size;
}

static int put_aux(struct recorder_set *s, u32 nth, u32 size)
{
	static const u8 packets[LARGE];
	const struct rec_auxtrace a = { .offset = (u64)nth * size, .size = size, .idx = 1 };
	const struct iovec part = { (void *)packets, size };

	return recorder_put_aux(&s->r, &a, &part, 1);
}

/* Each change of the file's size is a write. */
static void test_small_pieces(void **state)
{
	struct recorder_set s;
	struct source *src = NULL;
	u64 before, size, writes = 0;

	(void)state;
	begin(&s);
	size = before = size_of_file(&s);
	assert_true(size == writer_size(&s.r.writer));
	for (u32 i = 0; i < PIECES; i++) {
		assert_int_equal(put_aux(&s, i, PACKETS), 0);
		if (size_of_file(&s) == size)
			continue;
		assert_true(size_of_file(&s) - size >= LEAST_WRITE);
		size = size_of_file(&s);
		writes++;
	}
	assert_in_range(writes, 1, (u64)PIECES * PACKETS / LEAST_WRITE);
	assert_true(writer_size(&s.r.writer) - before >= (u64)PIECES * PACKETS);
	/* What a recorder has that is killed now. */
	assert_int_equal(writer_round(&s.r.writer, false), 0);
	assert_true(size_of_file(&s) == writer_size(&s.r.writer));
	assert_int_equal(source_open(&src, s.path, NULL), 0);
	assert_int_equal(records_of(src, PERF_RECORD_AUXTRACE), PIECES);
	source_close(src);
	assert_int_equal(recorder_end_file(&s.r), 0);
	recorder_set_end(&s);
}

/* A large one is not copied: it is in the file at once, behind the small ones before it. */
static void test_large_pieces(void **state)
{
	struct recorder_set s;
	struct source *src = NULL;
	u64 size;

	(void)state;
	begin(&s);
	size = size_of_file(&s);
	assert_int_equal(put_aux(&s, 0, PACKETS), 0);
	assert_true(size_of_file(&s) == size);
	assert_int_equal(put_aux(&s, 1, LARGE), 0);
	assert_true(size_of_file(&s) == writer_size(&s.r.writer));
	assert_int_equal(put_aux(&s, 2, PACKETS), 0);
	assert_int_equal(recorder_end_file(&s.r), 0);
	assert_int_equal(source_open(&src, s.path, NULL), 0);
	assert_int_equal(records_of(src, PERF_RECORD_AUXTRACE), 3);
	assert_int_equal(src->features.auxtrace_index.n, 3);
	source_close(src);
	recorder_set_end(&s);
}

/* The file may not grow beyond that size: the round fails, and so does the end. Opens what is left. */
static struct source *end_torn(struct recorder_set *s, u64 most)
{
	struct source *src = NULL;
	struct rlimit old, now;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	now = (struct rlimit){ most, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
	assert_int_equal(writer_round(&s->r.writer, false), ERR_IO);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(recorder_end_file(&s->r), ERR_IO);
	assert_int_equal(source_open(&src, s->path, NULL), 0);
	return src;
}

/* When the file may not grow, records with all of their packets stay, wherever it is cut; the index has no others. */
static void test_torn(void **state)
{
	(void)state;
	for (u64 cut = 0; cut < 2 * PACKETS; cut += PACKETS / 16) {
		struct recorder_set s;
		struct source *src;
		u64 begun, first;

		begin(&s);
		begun = writer_size(&s.r.writer);
		assert_int_equal(put_aux(&s, 0, PACKETS), 0);
		first = writer_size(&s.r.writer);
		for (u32 i = 1; i < 5; i++)
			assert_int_equal(put_aux(&s, i, PACKETS), 0);
		src = end_torn(&s, first + cut);
		assert_int_equal(records_of(src, PERF_RECORD_AUXTRACE), 1 + cut / (first - begun));
		assert_int_equal(src->features.auxtrace_index.n, 1 + cut / (first - begun));
		assert_int_equal(src->left_out, 0);
		source_close(src);
		recorder_set_end(&s);
	}
}

/* Ids of counters that were opened since do not fit any more: the file keeps those that it had. */
static void test_torn_ids(void **state)
{
	(void)state;
	for (u64 cut = 0; cut < 240; cut += 24) {
		struct recorder_set s;
		struct source *src;

		begin(&s);
		for (u32 i = 0; i < 2; i++)
			assert_int_equal(put_aux(&s, i, PACKETS), 0);
		vec_push(&s.r.set.events.v[0].on, (struct opened){ .fd = -1, .id = 900 });
		src = end_torn(&s, writer_size(&s.r.writer) + cut);
		assert_int_equal(src->events.events.n, SET_EVENTS);
		assert_int_equal(records_of(src, PERF_RECORD_AUXTRACE), 2);
		assert_int_equal(src->features.auxtrace_index.n, 2);
		source_close(src);
		recorder_set_end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_pieces),
		cmocka_unit_test(test_large_pieces),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_torn_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
