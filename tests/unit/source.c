/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "codec/perfdata.h"
#include "own_dir.h"
#include "recipe/recipe.h"
#include "walk.h"

#define RECORDING                                                                                                     \
	"event \"cycles:u\" type=hardware period=1000 sample=IP|TID|TIME|IDENTIFIER ids=7\n"                          \
	"event \"instructions:u\" type=hardware config=1 sample=IP|TID|TIME|IDENTIFIER ids=8 leader=0\n"              \
	"feature hostname \"box\"\n"                                                                                  \
	"comm pid=1 time=1 exec \"app\"\n"                                                                            \
	"sample pid=1 time=10 ip=0x400123\n"                                                                          \
	"sample event=1 pid=1 time=20 ip=0x400456\n"                                                                  \
	"exit pid=1 ppid=1 time=40\n"

static struct bytes compile(const char *text)
{
	struct recipe r = { 0 };
	struct bytes file = { 0 };

	assert_int_equal(recipe_parse(&r, "test", text, strlen(text), NULL), 0);
	assert_int_equal(recipe_write(&r, &file), 0);
	recipe_free(&r);
	return file;
}

static struct walked walk_bytes(const struct bytes *b)
{
	struct memory_file f = memory_file(b->p, b->len);
	struct walked w = walk(f.path);

	memory_file_close(&f);
	return w;
}

static struct source *open_bytes(const struct bytes *b)
{
	struct memory_file f = memory_file(b->p, b->len);
	struct source *s;

	assert_int_equal(source_open(&s, f.path, NULL), 0);
	memory_file_close(&f); /* the mapping stays */
	return s;
}

/* The types of all records, as text: "3 9 9 4". */
static void expect_types(const struct source *s, const char *want)
{
	struct source_record at;
	struct bytes have = { 0 };
	u64 offset = 0;

	while (source_next(s, &offset, &at, NULL))
		bytes_printf(&have, "%s%u", have.len ? " " : "", at.h.type);
	bytes_u8(&have, 0);
	assert_string_equal((char *)have.p, want);
	bytes_free(&have);
}

static void put_record(struct bytes *b, u32 type, const void *body, u16 n)
{
	bytes_u32(b, type);
	bytes_u16(b, 0);
	bytes_u16(b, (u16)(8 + n));
	bytes_put(b, body, n);
}

static void file_mode(void **state)
{
	struct bytes b = compile(RECORDING);
	struct source *s = open_bytes(&b);
	const struct event *e = s->events.events.v;

	(void)state;
	assert_int_equal(s->events.events.n, 2);
	assert_string_equal(e[0].name, "cycles:u");
	assert_string_equal(e[1].name, "instructions:u");
	assert_int_equal(e[1].ids.v[0], 8);
	assert_int_equal(e[1].leader, 0);
	assert_int_equal(e[0].group_members, 2);
	assert_string_equal(s->features.hostname, "box");
	assert_false(s->pipe);
	assert_false(s->spooled);
	assert_int_equal(s->data_offset, s->header.data.offset);
	assert_int_equal(s->map_bytes, b.len);
	expect_types(s, "3 9 9 4");
	source_close(s);
	bytes_free(&b);
}

static void pipe_mode_is_used_in_place(void **state)
{
	struct bytes b = compile("mode=pipe\n" RECORDING);
	struct source *s = open_bytes(&b);

	(void)state;
	assert_int_equal(s->events.events.n, 2);
	assert_string_equal(s->events.events.v[1].name, "instructions:u");
	assert_string_equal(s->features.hostname, "box");
	assert_true(s->pipe);
	assert_false(s->spooled);
	assert_int_equal(s->data_offset, PERFDATA_PIPE_HEADER_SIZE);
	assert_ptr_equal(s->data, (const u8 *)s->maps[0].p + PERFDATA_PIPE_HEADER_SIZE);
	source_close(s);
	bytes_free(&b);
}

/* File and pipe mode, both through a real pipe. */
static void standard_input(void **state)
{
	static const char *const texts[] = { RECORDING, "mode=pipe\n" RECORDING };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct bytes b = compile(texts[i]);
		int ends[2], kept = dup(STDIN_FILENO);
		struct walked w;

		assert_int_equal(pipe(ends), 0);
		assert_int_equal(write(ends[1], b.p, b.len), b.len);
		close(ends[1]);
		dup2(ends[0], STDIN_FILENO);
		close(ends[0]);
		w = walk("-");
		dup2(kept, STDIN_FILENO);
		close(kept);
		assert_int_equal(w.err, 0);
		assert_int_equal(w.samples, 2);
		assert_int_equal(w.undecodable, 0);
		bytes_free(&b);
	}
}

/* Everything behind the attrs of a pipe recording, to be packed otherwise. */
static void split(struct bytes *b, struct bytes *rest)
{
	size_t at = PERFDATA_PIPE_HEADER_SIZE;
	struct record_header h;

	for (; at < b->len; at += h.size) {
		memcpy(&h, b->p + at, sizeof(h));
		if (h.type == PERF_RECORD_COMM)
			break;
	}
	*rest = (struct bytes){ 0 };
	bytes_put(rest, b->p + at, b->len - at);
	b->len = at;
}

/* Two COMPRESSED records, cut at `cut`, and a plain one between them. */
static struct bytes pack_in_two(size_t cut)
{
	struct bytes b = compile("mode=pipe\n" RECORDING), rest;
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	u8 packed[4096];

	split(&b, &rest);
	for (int half = 0; half < 2; half++) {
		size_t from = half ? cut : 0, to = half ? rest.len : cut;
		ZSTD_inBuffer in = { rest.p + from, to - from, 0 };
		ZSTD_outBuffer out = { packed, sizeof(packed), 0 };

		assert_int_equal(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_flush), 0);
		put_record(&b, PERF_RECORD_COMPRESSED, packed, (u16)out.pos);
		put_record(&b, PERF_RECORD_FINISHED_ROUND, NULL, 0);
	}
	ZSTD_freeCCtx(zstd);
	bytes_free(&rest);
	return b;
}

static void a_plain_record_between_halves(void **state)
{
	/* 4 records of 48, 40, 40 and 64 bytes: where each starts. */
	static const size_t starts[] = { 0, 48, 88, 128, 184 };
	static const char *const types[] = { "68 3 9 9 4 68", "3 68 9 9 4 68", "3 9 68 9 4 68", "3 9 9 68 4 68" };

	(void)state;
	for (size_t cut = 1; cut < starts[4]; cut++) {
		struct bytes b = pack_in_two(cut), plain = compile("mode=pipe\n" RECORDING), rest;
		struct source *s = open_bytes(&b);
		size_t whole = 0;
		u64 at = 0;
		struct source_record sr;

		while (whole < 3 && starts[whole + 1] <= cut)
			whole++;
		split(&plain, &rest);
		assert_true(s->spooled);
		assert_int_equal(s->left_out, 0);
		assert_int_equal(s->decompressed_bytes, rest.len);
		/* Behind the attrs and features, which stay in front as they are. */
		while (source_next(s, &at, &sr, NULL) && at < plain.len - PERFDATA_PIPE_HEADER_SIZE)
			;
		{
			struct source tail = *s;

			tail.data += at;
			tail.size -= at;
			expect_types(&tail, types[whole]);
			assert_memory_equal(tail.data + tail.size - 8 - (rest.len - starts[whole]),
					    rest.p + starts[whole], rest.len - starts[whole]);
		}
		source_close(s);
		bytes_free(&plain);
		bytes_free(&rest);
		bytes_free(&b);
	}
}

static void what_is_not_zstd(void **state)
{
	struct bytes b = compile("mode=pipe\n" RECORDING);
	struct walked w;
	size_t left;

	(void)state;
	left = b.len;
	put_record(&b, PERF_RECORD_COMPRESSED, "this is no zstd frame...", 24);
	put_record(&b, PERF_RECORD_FINISHED_ROUND, NULL, 0);
	left = b.len - left;
	w = walk_bytes(&b);
	assert_int_equal(w.err, 0);
	assert_int_equal(w.samples, 2);
	assert_int_equal(w.left_out, left);
	assert_int_equal(w.warnings, 1);
	assert_non_null(strstr(w.first, "compressed record"));
	bytes_free(&b);
}

/* Some 160 MB in a few KB: more than a recording shrinks. */
static void a_bomb(void **state)
{
	struct bytes b = compile("mode=pipe\n" RECORDING), record = { 0 };
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	u8 *packed = malloc(1 << 20), body[65520] = { 0 };
	ZSTD_outBuffer out = { packed, 1 << 20, 0 };
	struct walked w;

	(void)state;
	put_record(&record, 200, body, sizeof(body));
	for (u32 i = 0; i < 2500; i++) {
		ZSTD_inBuffer in = { record.p, record.len, 0 };

		ZSTD_compressStream2(zstd, &out, &in, i < 2499 ? ZSTD_e_continue : ZSTD_e_flush);
	}
	assert_true(out.pos < 20000); /* else the bound is not reached */
	put_record(&b, PERF_RECORD_COMPRESSED, packed, (u16)out.pos);
	w = walk_bytes(&b);
	assert_int_equal(w.err, 0);
	assert_int_equal(w.samples, 2);
	assert_true(w.left_out > 0);
	assert_non_null(strstr(w.first, "128 times"));
	ZSTD_freeCCtx(zstd);
	free(packed);
	bytes_free(&record);
	bytes_free(&b);
}

/* Records that shrink much: the input is taken long before all that it unpacks to has been handed out. */
static void more_than_fits_at_once(void **state)
{
	struct bytes b = compile("mode=pipe\n" RECORDING), rest, many = { 0 };
	u8 packed[65000];
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	ZSTD_outBuffer out = { packed, sizeof(packed), 0 };
	ZSTD_inBuffer in;
	struct walked w;

	(void)state;
	split(&b, &rest);
	for (u32 i = 0; i < 5000; i++)
		bytes_put(&many, rest.p, rest.len);
	in = (ZSTD_inBuffer){ many.p, many.len, 0 };
	assert_int_equal(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_flush), 0);
	assert_true(out.pos < 20000);
	put_record(&b, PERF_RECORD_COMPRESSED, packed, (u16)out.pos);
	w = walk_bytes(&b);
	assert_int_equal(w.err, 0);
	assert_int_equal(w.samples, 2 * 5000);
	assert_int_equal(w.left_out, 0);
	assert_int_equal(w.warnings, 0);
	ZSTD_freeCCtx(zstd);
	bytes_free(&many);
	bytes_free(&rest);
	bytes_free(&b);
}

static void more_events_than_there_are(void **state)
{
	struct bytes b = { 0 };
	struct record r = { .h.type = PERF_RECORD_HEADER_ATTR, .header_attr.attr.size = 64 };
	struct walked w;

	(void)state;
	perfdata_header_encode(&(struct perfdata_header){ .pipe = true }, &b);
	for (u32 i = 0; i < 20000; i++)
		assert_int_equal(record_encode(&r, NULL, &b), 0);
	w = walk_bytes(&b);
	assert_int_equal(w.err, ERR_LIMIT);
	assert_true(w.names_file);
	bytes_free(&b);
}

static void a_payload_that_is_not_there(void **state)
{
	const u64 sizes[] = { 1, 1 << 20, UINT64_MAX, UINT64_MAX - 56 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct bytes b = compile("mode=pipe\n" RECORDING);
		u64 body[6] = { sizes[i] };
		struct walked w;

		put_record(&b, PERF_RECORD_AUXTRACE, body, sizeof(body));
		w = walk_bytes(&b);
		assert_int_equal(w.err, 0);
		assert_int_equal(w.samples, 2);
		assert_int_equal(w.bad, b.len - 56 - PERFDATA_PIPE_HEADER_SIZE);
		bytes_free(&b);
	}
}

static void sections_that_overlap(void **state)
{
	struct bytes b = compile(RECORDING);
	struct perfdata_header h;
	struct section ids;
	struct walked w;

	(void)state;
	assert_int_equal(perfdata_header_decode(cursor_over(b.p, b.len, false), &h), 0);
	/* Both events claim most of the file as their ids. */
	ids = (struct section){ 0, b.len / 8 * 8 };
	for (u32 i = 0; i < 2; i++)
		memcpy(b.p + h.attrs.offset + (i + 1) * h.attr_size - sizeof(ids), &ids, sizeof(ids));
	w = walk_bytes(&b);
	assert_int_equal(w.err, ERR_FORMAT);
	assert_string_equal(w.first, "the ids of event 1 overlap with those of others");
	bytes_free(&b);

	b = compile(RECORDING);
	/* All features claim the whole file. */
	for (u64 at = h.data.offset + h.data.size; at + 16 <= b.len && at < h.data.offset + h.data.size + 48; at += 16)
		memcpy(b.p + at, &(struct section){ 0, b.len }, sizeof(struct section));
	w = walk_bytes(&b);
	assert_int_equal(w.err, 0);
	assert_int_equal(w.samples, 2);
	assert_true(w.warnings >= 2);
	bytes_free(&b);
}

static void put_group(struct bytes *b, const char name[8], u32 leader, u32 members)
{
	bytes_u32(b, 8);
	bytes_put(b, name, 8);
	bytes_u32(b, leader);
	bytes_u32(b, members);
}

static void groups_that_overlap(void **state)
{
	struct bytes b = compile("mode=pipe\n" RECORDING), body = { 0 };
	struct source *s;
	struct walked w;

	(void)state;
	bytes_u64(&body, FEAT_GROUP_DESC);
	bytes_u32(&body, 3);
	put_group(&body, "first\0\0", 0, 2);
	put_group(&body, "second\0", 0, 2);
	put_group(&body, "third\0\0", 1, 1);
	put_record(&b, PERF_RECORD_HEADER_FEATURE, body.p, (u16)body.len);
	w = walk_bytes(&b);
	assert_int_equal(w.err, 0);
	assert_int_equal(w.warnings, 1);
	assert_non_null(strstr(w.first, "group 1 and those after it"));
	s = open_bytes(&b);
	assert_string_equal(s->events.events.v[0].group_name, "first");
	assert_null(s->events.events.v[1].group_name);
	source_close(s);
	bytes_free(&body);
	bytes_free(&b);
}

static void a_killed_recorder(void **state)
{
	struct bytes b = compile("finished=no\n" RECORDING);
	struct walked w = walk_bytes(&b);

	(void)state;
	assert_int_equal(w.err, 0);
	assert_int_equal(w.samples, 2);
	assert_int_equal(w.bad, NO_OFFSET);
	assert_non_null(strstr(w.first, "did not finish"));
	b.len -= 10;
	w = walk_bytes(&b);
	assert_int_equal(w.err, 0);
	assert_int_equal(w.samples, 2);
	assert_int_not_equal(w.bad, NO_OFFSET);
	bytes_free(&b);
}

static void a_file_that_was_cut(void **state)
{
	struct bytes b = compile(RECORDING);
	struct perfdata_header h;
	struct walked w;

	(void)state;
	assert_int_equal(perfdata_header_decode(cursor_over(b.p, b.len, false), &h), 0);
	b.len = h.data.offset + h.data.size - 20;
	w = walk_bytes(&b);
	assert_int_equal(w.err, 0);
	assert_int_equal(w.samples, 2);
	assert_int_equal(w.left_out, 20);
	assert_int_equal(w.warnings, 2); /* data, features */
	bytes_free(&b);
}

static void write_file(const char *dir, const char *name, const struct bytes *b)
{
	char *path = mem_printf("%s/%s", dir, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(b->p, 1, b->len, f), b->len);
	fclose(f);
	free(path);
}

/* As perf record --threads leaves it: a main file, and files of bare records beside it. */
static void a_directory(void **state)
{
	char dir[OWN_DIR_PATH];
	static const char *const names[] = { "data", "data.0", "data.1", "data.2" };
	struct bytes whole = compile(RECORDING), head = compile("mode=pipe\n" RECORDING), rest;
	struct walked w;

	(void)state;
	split(&head, &rest);
	own_dir_make(dir);
	write_file(dir, "data", &whole);
	write_file(dir, "data.0", &rest);
	rest.len -= 4; /* torn; the files behind it are read all the same */
	write_file(dir, "data.1", &rest);
	rest.len += 4;
	write_file(dir, "data.2", &rest);
	w = walk(dir);
	assert_int_equal(w.err, 0);
	assert_int_equal(w.samples, 4 * 2);
	assert_int_equal(w.records, 4 * 4 - 1);
	assert_int_equal(w.warnings, 1);
	assert_int_equal(w.bad, NO_OFFSET);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *path = mem_printf("%s/%s", dir, names[i]);

		unlink(path);
		free(path);
	}
	rmdir(dir);
	bytes_free(&whole);
	bytes_free(&head);
	bytes_free(&rest);
}

static void pack(struct bytes *to, const struct bytes *records)
{
	u8 packed[4096];
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	ZSTD_outBuffer out = { packed, sizeof(packed), 0 };
	ZSTD_inBuffer in = { records->p, records->len, 0 };

	assert_int_equal(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_flush), 0);
	put_record(to, PERF_RECORD_COMPRESSED, packed, (u16)out.pos);
	ZSTD_freeCCtx(zstd);
}

/* The files of a directory are each a stream of zstd, which does not end: recorders only flush it. */
static void each_file_has_its_own_stream(void **state)
{
	char dir[OWN_DIR_PATH];
	static const char *const names[] = { "data", "data.0", "data.1" };
	struct bytes whole = compile(RECORDING), head = compile("mode=pipe\n" RECORDING), rest, packed = { 0 };
	struct walked w;

	(void)state;
	split(&head, &rest);
	pack(&packed, &rest);
	own_dir_make(dir);
	write_file(dir, "data", &whole);
	write_file(dir, "data.0", &packed);
	write_file(dir, "data.1", &packed);
	w = walk(dir);
	assert_int_equal(w.err, 0);
	assert_int_equal(w.warnings, 0);
	assert_int_equal(w.samples, 3 * 2);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *path = mem_printf("%s/%s", dir, names[i]);

		unlink(path);
		free(path);
	}
	rmdir(dir);
	bytes_free(&whole);
	bytes_free(&head);
	bytes_free(&rest);
	bytes_free(&packed);
}

static void what_is_no_recording(void **state)
{
	struct walked w = walk("/no/such/file");

	(void)state;
	assert_int_equal(w.err, ERR_IO);
	assert_true(w.names_file);
	w = walk("/");
	assert_int_equal(w.err, ERR_FORMAT);
	assert_true(w.names_file);
	w = walk("/dev/null");
	assert_int_equal(w.err, ERR_TRUNCATED);
}

static void no_room_to_unpack(void **state)
{
	struct bytes b = pack_in_two(100);
	struct walked w;
	const char *kept = getenv("TMPDIR");

	(void)state;
	setenv("TMPDIR", "/no/such/dir", 1);
	w = walk_bytes(&b);
	if (kept)
		setenv("TMPDIR", kept, 1);
	else
		unsetenv("TMPDIR");
	assert_int_equal(w.err, ERR_IO);
	assert_non_null(strstr(w.first, "/no/such/dir"));
	bytes_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_mode),
		cmocka_unit_test(pipe_mode_is_used_in_place),
		cmocka_unit_test(standard_input),
		cmocka_unit_test(a_plain_record_between_halves),
		cmocka_unit_test(what_is_not_zstd),
		cmocka_unit_test(a_bomb),
		cmocka_unit_test(more_than_fits_at_once),
		cmocka_unit_test(each_file_has_its_own_stream),
		cmocka_unit_test(more_events_than_there_are),
		cmocka_unit_test(a_payload_that_is_not_there),
		cmocka_unit_test(sections_that_overlap),
		cmocka_unit_test(groups_that_overlap),
		cmocka_unit_test(a_killed_recorder),
		cmocka_unit_test(a_file_that_was_cut),
		cmocka_unit_test(a_directory),
		cmocka_unit_test(what_is_no_recording),
		cmocka_unit_test(no_room_to_unpack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
