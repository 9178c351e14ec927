/* SPDX-License-Identifier: Apache-2.0 */
/* Which keys are the same DSO, how DSOs are called, and what the side-band says of them. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pool.h"
#include "codec/features.h"
#include "codec/jitdump.h"
#include "codec/record.h"
#include "state/jit.h"

static struct dsos *new_dsos(void)
{
	return dsos_new(
		&(struct symbol_opts){
			.demangle = true, .offline = true, .symfs = "/", .buildid_dir = "/nonexistent" },
		NULL);
}

static struct str text(const char *s)
{
	return (struct str){ s, (u32)strlen(s) };
}

static void list_id(struct dsos *d, const char *path, bool kernel, const u8 *id, u8 size, struct rec_build_id *keep)
{
	*keep = (struct rec_build_id){ .filename = text(path), .size = size };
	memcpy(keep->build_id, id, size);
	dsos_set_build_id(d, keep, kernel);
}

static u32 get(struct dsos *d, enum dso_kind kind, const char *path, u32 pid)
{
	return dsos_get(d, &(struct dso_key){ .kind = kind, .path = text(path), .pid = pid });
}

static u32 get_build(struct dsos *d, const char *path, u8 first)
{
	u8 id[20] = { first, 2, 3 };

	return dsos_get(
		d, &(struct dso_key){ .kind = DSO_FILE, .path = text(path), .build_id = id, .build_id_size = 20 });
}

static void test_identity(void **state)
{
	struct dsos *d = new_dsos();
	u32 a = get(d, DSO_FILE, "/bin/a", 1);

	(void)state;
	assert_int_equal(dsos_at(d, 0)->kind, DSO_NONE);
	assert_int_equal(get(d, DSO_FILE, "/bin/a", 2), a);
	assert_int_not_equal(get(d, DSO_FILE, "/bin/b", 1), a);
	assert_int_not_equal(get(d, DSO_MODULE, "/bin/a", 1), a);
	assert_int_not_equal(get(d, DSO_PERFMAP, "/tmp/perf-1.map", 1), get(d, DSO_PERFMAP, "/tmp/perf-2.map", 2));
	assert_int_equal(get(d, DSO_PERFMAP, "/tmp/perf-1.map", 1), get(d, DSO_PERFMAP, "/tmp/perf-1.map", 1));
	dsos_free(d);
}

/* A file that was built anew under its name is another DSO; what was known of the old one stays. */
static void test_outdated(void **state)
{
	const struct symbol_opts opts = { .offline = true };
	struct dsos *d = dsos_new(&opts, NULL);
	u32 old = get(d, DSO_FILE, "/opt/app", 0), other = get(d, DSO_FILE, "/opt/other", 0), next;

	(void)state;
	dsos_outdate(d, text("/opt/app"));
	next = get(d, DSO_FILE, "/opt/app", 0);
	assert_int_not_equal(next, old);
	assert_int_equal(get(d, DSO_FILE, "/opt/app", 0), next);
	assert_int_equal(get(d, DSO_FILE, "/opt/other", 0), other);
	assert_string_equal(dsos_at(d, old)->path, "/opt/app");
	dsos_outdate(d, text("/opt/app"));
	assert_int_not_equal(get(d, DSO_FILE, "/opt/app", 0), next);
	assert_false(dsos_maps_grew(d));
	dsos_free(d);
}

static void test_build_ids(void **state)
{
	struct dsos *d = new_dsos();
	u32 a = get(d, DSO_FILE, "/bin/a", 0);
	struct rec_build_id listed[7];
	u8 id[20] = { 9 };

	(void)state;
	assert_int_equal(get_build(d, "/bin/a", 1), a); /* it had none: now it has */
	assert_int_equal(dsos_at(d, a)->build_id[0], 1);
	assert_int_equal(get_build(d, "/bin/a", 1), a);
	assert_int_not_equal(get_build(d, "/bin/a", 7), a); /* another build at the same path */
	assert_int_equal(get(d, DSO_FILE, "/bin/a", 0), get(d, DSO_FILE, "/bin/a", 0));

	assert_int_equal(get_build(d, "/bin/a", 1), a); /* the older one is still there */
	assert_int_equal(get(d, DSO_FILE, "/bin/a", 0), get_build(d, "/bin/a", 7));

	list_id(d, "/bin/late", false, id, 20, &listed[0]);
	assert_int_equal(dsos_at(d, get(d, DSO_FILE, "/bin/late", 0))->build_id[0], 9);
	assert_int_equal(dsos_at(d, get(d, DSO_MODULE, "/bin/late", 0))->build_id_size, 0);
	list_id(d, "/bin/a", false, id, 20, &listed[1]);
	assert_int_equal(dsos_at(d, a)->build_id[0], 1); /* what the map said goes first */

	list_id(d, "/bin/late", false, (u8[20]){ 8 }, 20, &listed[2]);
	list_id(d, "/lib/late.ko.xz", true, (u8[20]){ 7 }, 20, &listed[3]);
	assert_int_equal(dsos_at(d, get(d, DSO_FILE, "/bin/late", 0))->build_id[0], 9); /* and the first one listed */
	assert_int_equal(dsos_at(d, get(d, DSO_MODULE, "/lib/late.ko.xz", 0))->build_id[0], 7);
	/* The kernel itself, by the path of the vmlinux that perf found. */
	list_id(d, "/usr/lib/debug/boot/vmlinux-6.1", true, (u8[20]){ 6 }, 20, &listed[6]);
	assert_int_equal(dsos_at(d, get(d, DSO_KERNEL, "[kernel.kallsyms]", 0))->build_id[0], 6);
	list_id(d, "/bin/b", false, (u8[20]){ 9, 2, 3 }, 20, &listed[4]);
	a = get(d, DSO_FILE, "/bin/b", 0); /* of the build that the header lists */
	assert_int_not_equal(get_build(d, "/bin/b", 7), a);
	assert_int_equal(get_build(d, "/bin/b", 9), a);
	list_id(d, "/bin/none", false, id, 0, &listed[5]);
	assert_int_equal(dsos_at(d, get(d, DSO_FILE, "/bin/none", 0))->build_id_size, 0);
	dsos_free(d);
}

static void test_names(void **state)
{
	static const struct {
		enum dso_kind kind;
		const char *path;
		u32 pid;
		const char *shown;
	} rows[] = {
		{ DSO_FILE, "/usr/lib/libc.so.6", 0, "libc.so.6" },
		{ DSO_FILE, "relative", 0, "relative" },
		{ DSO_FILE, "/ends/with/", 0, "/ends/with/" },
		{ DSO_VDSO, "[vdso]", 0, "[vdso]" },
		{ DSO_KERNEL, "[kernel.kallsyms]", 0, "[kernel.kallsyms]" },
		{ DSO_MODULE, "/lib/modules/6.1.0/kernel/snd-hda-intel.ko.xz", 0, "[snd_hda_intel]" },
		{ DSO_MODULE, "/lib/modules/6.1.0/kernel/ext4.ko", 0, "[ext4]" },
		{ DSO_MODULE, "[loop]", 0, "[loop]" },
		{ DSO_PERFMAP, "/tmp/perf-42.map", 42, "[JIT] tid 42" },
		{ DSO_PERFMAP, "[heap]", 42, "[heap]" },
		{ DSO_PERFMAP, "//anon", 42, "//anon" },
	};
	struct dsos *d = new_dsos();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(dsos_at(d, get(d, rows[i].kind, rows[i].path, rows[i].pid))->short_name,
				    rows[i].shown);
	dsos_free(d);
}

static void test_side_band_symbols(void **state)
{
	struct dsos *d = new_dsos();
	u32 bpf = get(d, DSO_BPF, "bpf_prog_0123456789abcdef_filter", 0), sym;

	(void)state;
	dsos_add_symbol(d, bpf, 0x1000, 0x1080, text("bpf_prog_0123456789abcdef_filter"));
	assert_int_equal(dsos_symbol_at(d, bpf, 0xfff), ID_NONE);
	sym = dsos_symbol_at(d, bpf, 0x107f);
	assert_int_not_equal(sym, ID_NONE);
	assert_string_equal(dsos_symbol_name(d, bpf, sym), "bpf_prog_0123456789abcdef_filter");
	assert_int_equal(dsos_symbol_at(d, bpf, 0x1080), ID_NONE);
	dsos_free(d);
}

/* Notes that were sent, one per line. */
static void collect(void *ctx, const struct note *n)
{
	char *out = ctx;

	snprintf(out + strlen(out), 512 - strlen(out), "%s: %s\n", n->file, n->text);
}

static void test_missing_is_said_once_per_dso(void **state)
{
	struct dsos *d = new_dsos();
	u32 gone = get(d, DSO_FILE, "/nonexistent/program", 0);
	char notes[512] = "";

	(void)state;
	get(d, DSO_FILE, "/nonexistent/nobody-asked", 0);
	dsos_symbol_at(d, gone, 1);
	dsos_symbol_at(d, gone, 2);
	dsos_note_missing(d, &(struct notify){ collect, notes });
	assert_string_equal(notes, "/nonexistent/program: no symbols: no such file below the directory of --symfs\n");
	dsos_free(d);
}

struct race {
	struct dsos *d;
	u32 dso;
	const char *names[64];
};

static void look_up(void *ctx, u32 worker, u32 unit)
{
	struct race *r = ctx;
	u32 sym = dsos_symbol_at(r->d, r->dso, 0x1000 + unit * 16);

	(void)worker;
	r->names[unit] = sym == ID_NONE ? "" : dsos_symbol_name(r->d, r->dso, sym);
}

static void test_many_threads(void **state)
{
	struct race r = { .d = new_dsos() };
	char name[32];

	(void)state;
	r.dso = get(r.d, DSO_BPF, "many", 0);
	for (u32 i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "_ZN1n4f%03uEv", i);
		dsos_add_symbol(r.d, r.dso, 0x1000 + i * 16, 0x1010 + i * 16, text(name));
	}
	pool_run(4, 64, look_up, &r);
	for (u32 i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "f%03u", i);
		assert_non_null(strstr(r.names[i], name));
	}
	dsos_free(r.d);
}

struct code {
	u32 n;
	struct {
		u64 start, len, time;
		u32 dso;
	} at[8];
};

static void on_code(void *ctx, u64 start, u64 len, u64 time, u64 begun, u32 dso)
{
	struct code *c = ctx;

	assert_true(c->n < 8);
	assert_int_equal(begun, 50);
	c->at[c->n].start = start;
	c->at[c->n].len = len;
	c->at[c->n].time = time;
	c->at[c->n++].dso = dso;
}

static void write_dump(const char *path, const struct bytes *b, size_t n)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(b->p, 1, n, f), n);
	fclose(f);
}

static void build_dump(struct bytes *b)
{
	static const u8 code[32];

	jitdump_header_encode(b, &(struct jitdump_header){ .version = 1, .pid = 42, .time = 50 });
	jitdump_encode(
		b,
		&(struct jitdump_record){
			.id = JITDUMP_CODE_LOAD,
			.time = 100,
			.load = {
				.addr = 0x1000, .code_size = 32, .index = 7, .name = text("first"), .code = code } });
	jitdump_encode(b, &(struct jitdump_record){
				  .id = JITDUMP_CODE_MOVE,
				  .time = 200,
				  .move = { .old_addr = 0x1000, .new_addr = 0x9000, .code_size = 32, .index = 7 } });
	jitdump_encode(b, &(struct jitdump_record){ .id = 99, .time = 250 });
	jitdump_encode(
		b,
		&(struct jitdump_record){
			.id = JITDUMP_CODE_LOAD,
			.time = 300,
			.load = {
				.addr = 0x1000, .code_size = 16, .index = 8, .name = text("second"), .code = code } });
	jitdump_encode(b, &(struct jitdump_record){ .id = JITDUMP_CODE_CLOSE, .time = 400 });
}

static void test_jit_dump(void **state)
{
	char path[] = "/tmp/reticle-jit-XXXXXX";
	struct dsos *d = new_dsos();
	struct code c = { 0 };
	struct bytes b = { 0 };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	build_dump(&b);
	write_dump(path, &b, b.len);
	assert_int_equal(jit_load(d, path, 42, on_code, &c), 0);
	assert_int_equal(c.n, 3);
	assert_string_equal(dsos_at(d, c.at[0].dso)->short_name, "jitted-42-7.so");
	assert_int_equal(c.at[1].dso, c.at[0].dso);
	assert_int_equal(c.at[1].start, 0x9000);
	assert_int_equal(c.at[1].time, 200);
	assert_int_not_equal(c.at[2].dso, c.at[0].dso);
	assert_string_equal(dsos_symbol_name(d, c.at[1].dso, dsos_symbol_at(d, c.at[1].dso, 0x9010)), "first");
	assert_string_equal(dsos_symbol_name(d, c.at[2].dso, dsos_symbol_at(d, c.at[2].dso, 0x100f)), "second");
	dsos_free(d);

	for (size_t n = 0; n < b.len; n += 5) {
		struct code part = { 0 };

		d = new_dsos();
		write_dump(path, &b, n);
		jit_load(d, path, 42, on_code, &part);
		assert_true(part.n <= 3);
		dsos_free(d);
	}
	unlink(path);
	bytes_free(&b);
}

static void test_jit_names(void **state)
{
	(void)state;
	assert_true(jit_is_dump(text("/home/u/.debug/jit/x/jit-42.dump"), 42));
	assert_false(jit_is_dump(text("/home/u/.debug/jit/x/jit-42.dump"), 43));
	assert_false(jit_is_dump(text("jit-42.dump.old"), 42));
	assert_false(jit_is_dump(text(""), 42));
}

static u64 count_recorded(u32 dsos, struct feat_file *file)
{
	struct dsos *d = new_dsos();
	u64 named = 0;

	dsos_set_recorded(d, file, 1);
	for (u32 i = 0; i < dsos; i++) {
		u8 id[20] = { (u8)i, (u8)(i >> 8), 1 };
		struct dso_key key = {
			.kind = DSO_FILE, .path = file->path, .build_id = id, .build_id_size = sizeof(id)
		};

		named += dsos_symbol_at(d, dsos_get(d, &key), 0x1000) != ID_NONE;
	}
	dsos_free(d);
	return named;
}

/* Symbols of the recording: a few DSOs of the path have them, but thousands may not have a table of their own each. */
static void test_recorded_is_bounded(void **state)
{
	struct bytes b = { 0 };
	struct feat_file file = { .path = text("/nonexistent/lib.so"), .type = FILE_ELF, .has_offset = true };

	(void)state;
	for (file.nr_symbols = 0; b.len < (1u << 20); file.nr_symbols++) {
		bytes_u64(&b, 0x1000 + 16ull * file.nr_symbols);
		bytes_u32(&b, 16);
		bytes_put(&b, "f", 2);
	}
	file.symbols = cursor_over(b.p, b.len, false);
	assert_int_equal(count_recorded(4, &file), 4);
	assert_in_range(count_recorded(64, &file), 10, 30);
	bytes_free(&b);
}

/* Who has no symbols is told why, also where the recording has some that do not help. */
static void test_recorded_that_do_not_help(void **state)
{
	struct feat_file file = { .path = text("/nonexistent/lib.so"), .type = FILE_ELF, .has_offset = true };
	struct bytes b = { 0 };

	(void)state;
	bytes_u64(&b, 0x1000);
	bytes_u32(&b, 16);
	bytes_u8(&b, 0);
	file.nr_symbols = 1;
	file.symbols = cursor_over(b.p, b.len, false);
	for (u32 placed = 0; placed < 2; placed++) {
		struct dsos *d = new_dsos();
		char notes[512] = "";

		file.has_offset = placed;
		dsos_set_recorded(d, &file, 1);
		assert_int_equal(dsos_symbol_at(d, get(d, DSO_FILE, "/nonexistent/lib.so", 0), 0x1000), ID_NONE);
		dsos_note_missing(d, &(struct notify){ collect, notes });
		assert_non_null(strstr(notes, placed ? "have no names" : "no such file"));
		dsos_free(d);
	}
	bytes_free(&b);
}

static u32 threads_at_fork;

static u32 count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	const struct dirent *e;
	u32 n = 0;

	assert_non_null(d);
	while ((e = readdir(d)))
		n += *e->d_name != '.';
	closedir(d);
	return n;
}

static void before_fork(void)
{
	threads_at_fork = count_threads();
}

/* What is forked beside a thread inherits the locks that the thread holds. */
static void test_parser_is_forked_alone(void **state)
{
	struct dsos *d = dsos_new(&(struct symbol_opts){ .demangle = true }, NULL);
	u32 threads = count_threads(); /* sanitizers have one of their own */

	(void)state;
	assert_int_equal(pthread_atfork(before_fork, NULL, NULL), 0);
	dsos_read_ahead(d);
	dsos_start_parser(d);
	assert_int_equal(threads_at_fork, threads);
	dsos_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_outdated),
		cmocka_unit_test(test_build_ids),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_side_band_symbols),
		cmocka_unit_test(test_missing_is_said_once_per_dso),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_recorded_is_bounded),
		cmocka_unit_test(test_recorded_that_do_not_help),
		cmocka_unit_test(test_jit_dump),
		cmocka_unit_test(test_jit_names),
		cmocka_unit_test(test_parser_is_forked_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
