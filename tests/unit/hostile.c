/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings that lie. Good ones are made from recipes, or found in $RETICLE_TEST_DATA; then they are cut at every
 * offset, and bytes and words of theirs are replaced. Whatever comes of it must be opened with an error that names the
 * file, or be read to its end; sanitizers and the page behind the mapping watch how.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "recipe/recipe.h"
#include "walk.h"

#define EVENTS                                                                                                        \
	"event \"cycles\" type=hardware period=1000 "                                                                 \
	"sample=IP|TID|TIME|CPU|READ|CALLCHAIN|RAW|BRANCH_STACK|IDENTIFIER "                                          \
	"read=GROUP|ID|ENABLED|RUNNING|LOST branch=ANY|USER ids=7\n"                                                  \
	"event \"instructions\" type=hardware config=1 sample=IP|TID|TIME|CPU|READ|CALLCHAIN|RAW|BRANCH_STACK|"       \
	"IDENTIFIER read=GROUP|ID|ENABLED|RUNNING|LOST branch=ANY|USER ids=8,9 leader=0\n"
#define FEATURES                                                                                                      \
	"feature hostname \"box\"\n"                                                                                  \
	"feature cmdline \"perf record -g app\"\n"                                                                    \
	"feature nrcpus online=4 avail=8\n"                                                                           \
	"feature build_id id=0102030405060708090a0b0c0d0e0f1011121314 \"/bin/app\"\n"
#define RECORDS                                                                                                       \
	"comm pid=1 time=1 exec \"app\"\n"                                                                            \
	"mmap2 pid=1 time=2 start=0x400000 len=0x10000 prot=r|x flags=2 \"/bin/app\"\n"                               \
	"namespaces pid=1 time=1 dev_inode=4,0xf0000000,4,0xeffffffe \"x\"\n"                                         \
	"ksymbol addr=0xffffffffc0001000 len=0x80 type=1 time=2 \"bpf_prog_1234_probe\"\n"                            \
	"sample pid=1 time=10 cpu=2 ip=0x400123 enabled=100 running=50 values=1000,7,0,2500,8,1 "                     \
	"chain=user,0x400123,0x400456 raw=00112233445566778899aabb branches=0x1,0x2,0x52,0x3,0x4,0x32001\n"           \
	"text_poke addr=0xffffffff81000000 old=9090 new=cce801 time=4\n"                                              \
	"auxtrace offset=0 reference=1 idx=0 tid=1 cpu=2 payload=000102030405060708090a0b0c0d0e0f\n"                  \
	"id_index nr=1 entries=7,0,0,-1\n"                                                                            \
	"finished_round\n"                                                                                            \
	"exit pid=1 ppid=1 time=40\n"
/* AUXTRACE is never packed. */
#define PACKED_RECORDS                                                                                                \
	"comm pid=1 time=1 exec \"app\"\n"                                                                            \
	"mmap2 pid=1 time=2 start=0x400000 len=0x10000 prot=r|x flags=2 \"/bin/app\"\n"                               \
	"sample pid=1 time=10 cpu=2 ip=0x400123 enabled=100 running=50 values=1000,7,0,2500,8,1 "                     \
	"chain=user,0x400123,0x400456 raw=00112233445566778899aabb branches=0x1,0x2,0x52,0x3,0x4,0x32001\n"           \
	"finished_round\n"

static const struct {
	const char *name, *text;
	u32 records;
} recipes[] = {
	{ "file", "mode=file\n" EVENTS FEATURES RECORDS, 10 },
	{ "pipe", "mode=pipe\n" EVENTS FEATURES RECORDS, 0 },
	{ "big-endian", "order=big\n" EVENTS FEATURES RECORDS, 10 },
	{ "big-endian pipe", "mode=pipe\norder=big\n" EVENTS FEATURES RECORDS, 0 },
	{ "killed", "finished=no\n" EVENTS RECORDS, 10 },
	{ "zstd", "compressed=zstd\nchunk=90\n" EVENTS FEATURES PACKED_RECORDS, 4 },
	{ "zstd2 pipe", "mode=pipe\ncompressed=zstd2\nchunk=90\n" EVENTS FEATURES PACKED_RECORDS, 0 },
};

static void complain(void *ctx, const struct note *note)
{
	(void)ctx;
	print_error("%s\n", note->text);
}

static struct bytes compile(u32 i)
{
	const struct notify notify = { complain, NULL };
	struct recipe r = { 0 };
	struct bytes file = { 0 };

	assert_int_equal(recipe_parse(&r, recipes[i].name, recipes[i].text, strlen(recipes[i].text), &notify), 0);
	assert_int_equal(recipe_write(&r, &file), 0);
	recipe_free(&r);
	return file;
}

/* What must hold whatever the input. */
static void expect_sane(const struct memory_file *f, u64 size, const char *what, u64 at)
{
	struct walked w = walk(f->path);

	if (!w.err || (w.errors && w.names_file))
		assert_true(w.arena_bytes <= 2 * size + (128 << 10));
	else
		fail_msg("%s at %#llx: error %d, %u notes, the first: %s", what, (unsigned long long)at, w.err,
			 w.errors, w.first);
	assert_true(w.records <= size || w.left_out == 0);
}

static void the_good_ones_are_read(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(recipes); i++) {
		struct bytes b = compile(i);
		struct memory_file f = memory_file(b.p, b.len);
		struct walked w = walk(f.path);

		if (w.err || w.errors || w.undecodable || w.bad != NO_OFFSET || w.samples != 1)
			fail_msg("%s: error %d, %s", recipes[i].name, w.err, w.first);
		if (recipes[i].records)
			assert_int_equal(w.records, recipes[i].records);
		memory_file_close(&f);
		bytes_free(&b);
	}
}

static void cut_at_every_offset(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(recipes); i++) {
		struct bytes b = compile(i);
		struct memory_file f = memory_file(b.p, b.len);

		for (u64 n = b.len; n--;) {
			memory_file_cut(&f, n);
			expect_sane(&f, n, recipes[i].name, n);
		}
		memory_file_close(&f);
		bytes_free(&b);
	}
}

static void every_byte_changed(void **state)
{
	static const u8 masks[] = { 0xff, 0x80, 0x01 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(recipes); i++) {
		struct bytes b = compile(i);
		struct memory_file f = memory_file(b.p, b.len);

		for (u64 at = 0; at < b.len * ARRAY_LEN(masks); at++) {
			u8 *byte = b.p + at / ARRAY_LEN(masks), changed = *byte ^ masks[at % ARRAY_LEN(masks)];

			memory_file_set(&f, at / ARRAY_LEN(masks), &changed, 1);
			expect_sane(&f, b.len, recipes[i].name, at / ARRAY_LEN(masks));
			memory_file_set(&f, at / ARRAY_LEN(masks), byte, 1);
		}
		memory_file_close(&f);
		bytes_free(&b);
	}
}

/* Sizes, counts and offsets live in words of 2, 4 and 8 bytes, all aligned. */
static void every_word_huge_or_none(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(recipes); i++) {
		struct bytes b = compile(i);
		const u64 words[] = {
			0, 1, 0x7f, 0xfffffff0, b.len, b.len - 8, INT64_MAX, UINT64_MAX - 7, UINT64_MAX
		};
		struct memory_file f = memory_file(b.p, b.len);

		for (u64 at = 0; at + 8 <= b.len; at += 8)
			for (u32 k = 0; k < ARRAY_LEN(words); k++) {
				memory_file_set(&f, at, &words[k], 8);
				expect_sane(&f, b.len, recipes[i].name, at);
				memory_file_set(&f, at, b.p + at, 8);
			}
		memory_file_close(&f);
		bytes_free(&b);
	}
}

static struct bytes read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct bytes b = { 0 };
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
		bytes_grow(&b, (size_t)st.st_size);
		b.len = (size_t)MAX(read(fd, b.p, (size_t)st.st_size), (ssize_t)0);
	}
	if (fd >= 0)
		close(fd);
	return b;
}

/* Every byte of the header and the attrs, and the start of the data; cuts there and, more sparsely, everywhere. */
static void spoil(const char *path)
{
	struct bytes b = read_file(path);
	struct memory_file f;

	if (!b.len || b.len > 64 << 10) {
		bytes_free(&b);
		return;
	}
	f = memory_file(b.p, b.len);
	expect_sane(&f, b.len, path, b.len);
	for (u64 at = 0; at < MIN(b.len, 512u); at++) {
		u8 changed = (u8)~b.p[at];

		memory_file_set(&f, at, &changed, 1);
		expect_sane(&f, b.len, path, at);
		memory_file_set(&f, at, b.p + at, 1);
	}
	for (u64 n = b.len; n > 4096; n -= MIN(n - 4096, 257u)) {
		memory_file_cut(&f, n);
		expect_sane(&f, n, path, n);
	}
	for (u64 n = MIN(b.len, 4096u); n--;) {
		memory_file_cut(&f, n);
		expect_sane(&f, n, path, n);
	}
	memory_file_close(&f);
	bytes_free(&b);
}

static u32 spoil_all_in(const char *dir)
{
	DIR *d = opendir(dir);
	u32 n = 0;

	if (!d)
		return 0;
	for (struct dirent *e = readdir(d); e; e = readdir(d)) {
		char *path = mem_printf("%s/%s", dir, e->d_name);

		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			n += spoil_all_in(path);
		else if (e->d_type == DT_REG && !strstr(e->d_name, ".txt") && !strstr(e->d_name, ".pb_text"))
			spoil(path), n++;
		free(path);
	}
	closedir(d);
	return n;
}

static void recordings_made_elsewhere(void **state)
{
	const char *dir = getenv("RETICLE_TEST_DATA");

	(void)state;
	if (!dir || !*dir) {
		print_message("RETICLE_TEST_DATA is not set: recordings made elsewhere are not tried\n");
		skip();
	}
	assert_true(spoil_all_in(dir) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_good_ones_are_read),    cmocka_unit_test(cut_at_every_offset),
		cmocka_unit_test(every_byte_changed),	     cmocka_unit_test(every_word_huge_or_none),
		cmocka_unit_test(recordings_made_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
