/* SPDX-License-Identifier: Apache-2.0 */
/* What recordings, kernels and ELF files say of activities, whole and broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first. */
#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/random.h"
#include "codec/activity.h"
#include "record/tls_symbol.h"
#include "spoil.h"
#include "state/timelines.h"
#include "sys/btf.h"

#define ROUNDS 20000
#define ROOM (64u << 20)

static void put_head_of(struct bytes *b, u8 what, u8 status, u32 size, u64 time, u64 image)
{
	bytes_u8(b, ACTIVITY_VERSION);
	bytes_u8(b, what);
	bytes_u8(b, status);
	bytes_u8(b, 0);
	bytes_u32(b, size);
	bytes_u64(b, time);
	bytes_u64(b, image);
}

static void put_head(struct bytes *b, u8 what, u8 status, u32 size, u64 time)
{
	put_head_of(b, what, status, size, time, 1);
}

/* Trace and span are `id` in their first byte; then the attributes. */
static void put_thread(struct bytes *b, u8 id, const void *attrs, u16 size, u64 time)
{
	put_head(b, ACTIVITY_THREAD, ACTIVITY_KNOWN, ACTIVITY_FIXED + size, time);
	bytes_u8(b, id);
	bytes_zero(b, 15);
	bytes_u8(b, id);
	bytes_zero(b, 7);
	bytes_u8(b, 1);
	bytes_u8(b, 0);
	bytes_u16(b, size);
	bytes_put(b, attrs, size);
}

/* ProcessContext with a service "shop" and the keys "a" and "http.route". */
static const u8 context[] = "\x0a\x18\x0a\x16\x0a\x0cservice.name\x12\x06\x0a\x04shop"
			    "\x12\x36\x0a\x1dthreadlocal.attribute_key_map\x12\x15\x2a\x13\x0a\x03\x0a\x01"
			    "a\x0a\x0c\x0a\x0ahttp.route";

static struct cursor over(const struct bytes *b)
{
	return cursor_over(b->p, b->len, false);
}

static struct str context_text(void)
{
	return (struct str){ (const char *)context, sizeof(context) - 1 };
}

static bool equals(struct str s, const char *what)
{
	return s.len == strlen(what) && !memcmp(s.p, what, s.len);
}

static void test_process(void **state)
{
	struct str text = context_text();
	struct activity_process p;

	(void)state;
	activity_process_decode(text, &p);
	assert_true(equals(p.service, "shop"));
	assert_int_equal(p.nr_keys, 2);
	assert_true(equals(p.keys[0], "a"));
	assert_true(equals(p.keys[1], "http.route"));
	/* Cut anywhere: what is left is read, and nothing behind it. */
	for (u32 len = 0; len < text.len; len++) {
		char *copy = mem_strndup(text.p, len);

		activity_process_decode((struct str){ copy, len }, &p);
		assert_true(p.nr_keys <= 2);
		free(copy);
	}
}

static void test_keys_are_bounded(void **state)
{
	struct bytes b = { 0 }, keys = { 0 };
	struct activity_process p;

	(void)state;
	for (int i = 0; i < 300; i++)
		bytes_put(&keys, "\x0a\x02\x0a\x00", 4);
	bytes_put(&b, "\x12\xd5\x09\x0a\x1dthreadlocal.attribute_key_map\x12\xb3\x09\x2a\xb0\x09", 40);
	bytes_put(&b, keys.p, keys.len);
	activity_process_decode((struct str){ (const char *)b.p, (u32)b.len }, &p);
	assert_int_equal(p.nr_keys, ACTIVITY_KEYS_MAX);
	bytes_free(&b);
	bytes_free(&keys);
}

static void test_attributes(void **state)
{
	struct bytes b = { 0 };
	struct activity_record r;
	struct str value;

	(void)state;
	/* Key 1 twice: the last one counts. The rest holds no whole entry. */
	put_thread(&b, 7, "\x01\x02/a\x00\x00\x01\x02/b\x01\x09x", 13, 5);
	assert_true(activity_decode(over(&b), &r));
	assert_int_equal(r.time, 5);
	assert_int_equal(activity_trace(r.data)[0], 7);
	assert_true(activity_attribute_of(r.data, 1, &value));
	assert_true(equals(value, "/b"));
	assert_true(activity_attribute_of(r.data, 0, &value));
	assert_int_equal(value.len, 0);
	assert_false(activity_attribute_of(r.data, 2, &value));
	/* Without ids. */
	b.len = 0;
	put_thread(&b, 0, "", 0, 5);
	assert_true(activity_decode(over(&b), &r));
	assert_null(activity_trace(r.data));
	assert_null(activity_span(r.data));
	bytes_free(&b);
}

/* What was said of a thread is over when its number is another thread's, or its program another one; who speaks of a
 * process says nothing of others; and what is lost is counted. */
static void test_ends(void **state)
{
	struct timelines t = { 0 };
	struct bytes b[3] = { 0 };

	(void)state;
	put_thread(&b[0], 1, "", 0, 100);
	put_head(&b[1], ACTIVITY_THREAD, ACTIVITY_LOST, 0, 150);
	put_head(&b[2], ACTIVITY_THREAD, ACTIVITY_LOST, 16, 120);
	bytes_u64(&b[2], 7);
	bytes_u64(&b[2], 3);
	timelines_add(&t, 10, 11, 100, over(&b[0]));
	timelines_begin(&t, 10, 11, 200);
	timelines_begin(&t, 20, 11, 150);
	timelines_add(&t, 10, 12, 100, over(&b[0]));
	timelines_add(&t, 10, 12, 150, over(&b[1]));
	timelines_add(&t, 10, 0, 120, over(&b[2]));
	timelines_seal(&t);
	assert_int_equal(t.all.v[timelines_at(&t, 10, 11, 199)].status, ACTIVITY_KNOWN);
	assert_int_equal(timelines_at(&t, 10, 11, 200), TIMELINE_UNKNOWN);
	assert_int_equal(timelines_at(&t, 20, 11, 180), TIMELINE_UNKNOWN);
	assert_int_equal(t.all.v[timelines_at(&t, 10, 12, 149)].status, ACTIVITY_KNOWN);
	assert_int_equal(t.all.v[timelines_at(&t, 10, 12, 150)].status, ACTIVITY_LOST);
	assert_int_equal(timelines_at(&t, 10, 0, 130), TIMELINE_UNKNOWN);
	assert_int_equal(t.overwritten, 7);
	assert_int_equal(t.refused, 3);
	assert_int_equal(t.broken, 0);
	timelines_free(&t);
	for (u32 i = 0; i < ARRAY_LEN(b); i++)
		bytes_free(&b[i]);
}

static void test_timelines(void **state)
{
	struct timelines t = { 0 };
	struct bytes b[5] = { 0 };
	struct str value;
	const struct activity *a;

	(void)state;
	put_thread(&b[0], 1, "\x01\x02/x", 4, 0);
	put_thread(&b[1], 2, "", 0, 300);
	put_head(&b[2], ACTIVITY_THREAD, ACTIVITY_NONE, 0, 200);
	put_head(&b[3], ACTIVITY_PROCESS, ACTIVITY_KNOWN, sizeof(context) - 1, 0);
	bytes_put(&b[3], context, sizeof(context) - 1);
	put_head(&b[4], ACTIVITY_THREAD, ACTIVITY_KNOWN, 5, 0);
	bytes_zero(&b[4], 5);
	/* Not in the order of time. */
	timelines_add(&t, 10, 11, 100, over(&b[0]));
	timelines_add(&t, 10, 11, 310, over(&b[1]));
	timelines_add(&t, 10, 11, 210, over(&b[2]));
	timelines_add(&t, 10, 12, 100, over(&b[0]));
	timelines_add(&t, 10, 11, 100, over(&b[3]));
	timelines_add(&t, 10, 11, 100, over(&b[4]));
	timelines_seal(&t);
	assert_int_equal(t.broken, 1);
	assert_int_equal(timelines_at(&t, 10, 11, 99), TIMELINE_UNKNOWN);
	assert_int_equal(timelines_at(&t, 10, 13, 100), TIMELINE_UNKNOWN);
	assert_int_equal(activity_trace(t.all.v[timelines_at(&t, 10, 11, 100)].record)[0], 1);
	assert_int_equal(activity_trace(t.all.v[timelines_at(&t, 10, 11, 199)].record)[0], 1);
	assert_int_equal(t.all.v[timelines_at(&t, 10, 11, 200)].status, ACTIVITY_NONE);
	assert_int_equal(activity_trace(t.all.v[timelines_at(&t, 10, 11, UINT64_MAX)].record)[0], 2);
	/* Equal ones are one. */
	assert_int_equal(timelines_at(&t, 10, 11, 150), timelines_at(&t, 10, 12, 150));
	a = &t.all.v[timelines_at(&t, 10, 11, 150)];
	assert_true(activity_attribute_named(a, "http.route", &value));
	assert_true(equals(value, "/x"));
	assert_false(activity_attribute_named(a, "a", &value));
	assert_true(timelines_has_attribute(&t, "http.route"));
	assert_false(timelines_has_attribute(&t, "http"));
	timelines_free(&t);
	for (size_t i = 0; i < ARRAY_LEN(b); i++)
		bytes_free(&b[i]);
}

/* ProcessContext with one key, of one letter. */
static void put_key(struct bytes *b, char letter, u64 time, u64 image)
{
	static const char head[] = "\x12\x28\x0a\x1dthreadlocal.attribute_key_map\x12\x07\x2a\x05\x0a\x03\x0a\x01";

	put_head_of(b, ACTIVITY_PROCESS, ACTIVITY_KNOWN, sizeof(head), time, image);
	bytes_put(b, head, sizeof(head) - 1);
	bytes_char(b, letter);
}

static void put_attribute(struct bytes *b, u64 time, u64 image)
{
	put_head_of(b, ACTIVITY_THREAD, ACTIVITY_KNOWN, ACTIVITY_FIXED + 3, time, image);
	bytes_zero(b, ACTIVITY_FIXED);
	bytes_put(b, "\x00\x01x", 3);
}

static char name_at(const struct timelines *t, u32 tid, u64 time)
{
	const struct activity *a = &t->all.v[timelines_at(t, 10, tid, time)];
	struct str value;

	for (char c = 'a'; c <= 'z'; c++)
		if (activity_attribute_named(a, (char[]){ c, '\0' }, &value))
			return c;
	return ' ';
}

/* What a process published is good for its own time and image, whatever comes later, and in which order. */
static void test_publications(void **state)
{
	struct timelines t = { 0 };
	struct bytes b[9] = { 0 };

	(void)state;
	put_attribute(&b[0], 100, 1); /* before its process published: the first one counts */
	put_key(&b[1], 'p', 200, 1);
	put_attribute(&b[2], 250, 1);
	put_attribute(&b[3], 350, 1); /* after it published anew */
	put_key(&b[4], 'q', 300, 1);
	put_attribute(&b[5], 450, 2); /* after exec, or of the next process with that id: */
	put_key(&b[6], 'r', 500, 2);
	put_attribute(&b[7], 550, 3); /* one that publishes nothing */
	put_attribute(&b[8], 600, 1); /* the first one again, by the same words */
	for (size_t i = ARRAY_LEN(b); i-- > 0;)
		timelines_add(&t, 10, 11, 1000, over(&b[i]));
	timelines_seal(&t);
	assert_int_equal(name_at(&t, 11, 100), 'p');
	assert_int_equal(name_at(&t, 11, 250), 'p');
	assert_int_equal(name_at(&t, 11, 350), 'q');
	assert_int_equal(name_at(&t, 11, 450), 'r');
	assert_int_equal(name_at(&t, 11, 550), ' ');
	assert_int_equal(timelines_at(&t, 10, 11, 100), timelines_at(&t, 10, 11, 250));
	assert_int_not_equal(timelines_at(&t, 10, 11, 250), timelines_at(&t, 10, 11, 350));
	assert_int_equal(timelines_at(&t, 10, 11, 350), timelines_at(&t, 10, 11, 600));
	assert_true(timelines_has_attribute(&t, "p"));
	timelines_free(&t);
	for (size_t i = 0; i < ARRAY_LEN(b); i++)
		bytes_free(&b[i]);
}

static void test_spoiled_records(void **state)
{
	struct bytes thread = { 0 }, process = { 0 };
	u64 seed = 1;

	(void)state;
	put_thread(&thread, 7, "\x01\x02/a\x00\x00\x01\x02/b", 10, 5);
	put_head(&process, ACTIVITY_PROCESS, ACTIVITY_KNOWN, sizeof(context) - 1, 0);
	bytes_put(&process, context, sizeof(context) - 1);
	for (u32 i = 0; i < ROUNDS; i++) {
		struct timelines t = { 0 };
		size_t n, m;
		u8 *a = spoil(thread.p, thread.len, &seed, &n), *b = spoil(process.p, process.len, &seed, &m);
		struct str value;

		timelines_add(&t, 1, 1, 1, cursor_over(a, n, random_next(&seed) & 1));
		timelines_add(&t, 1, 1, 1, cursor_over(b, m, random_next(&seed) & 1));
		timelines_seal(&t);
		timelines_has_attribute(&t, "http.route");
		for (u32 k = 0; k < t.all.n; k++)
			activity_attribute_named(&t.all.v[k], "a", &value);
		timelines_free(&t);
		free(a);
		free(b);
	}
	bytes_free(&thread);
	bytes_free(&process);
}

/* --- types of the kernel --- */

static u32 name(struct bytes *strings, const char *s)
{
	u32 at = (u32)strings->len;

	bytes_put(strings, s, strlen(s) + 1);
	return at;
}

static void put_type(struct bytes *b, u32 name_at, u32 kind, u32 members, u32 ref)
{
	bytes_u32(b, name_at);
	bytes_u32(b, kind << 24 | members);
	bytes_u32(b, ref);
}

static void put_member(struct bytes *b, u32 name_at, u32 type, u32 bits)
{
	bytes_u32(b, name_at);
	bytes_u32(b, type);
	bytes_u32(b, bits);
}

/* struct inner { u64 one, two; }; typedef struct inner named; struct outer { u64 first; struct { named thread; }; } */
static void make_types(struct bytes *out)
{
	struct bytes types = { 0 }, strings = { 0 };
	u32 none = name(&strings, "");

	put_type(&types, name(&strings, "u64"), 1, 0, 8); /* 1 */
	bytes_u32(&types, 64);
	put_type(&types, name(&strings, "inner"), 4, 2, 16); /* 2 */
	put_member(&types, name(&strings, "one"), 1, 0);
	put_member(&types, name(&strings, "two"), 1, 64);
	put_type(&types, name(&strings, "named"), 8, 0, 2); /* 3 */
	put_type(&types, none, 4, 1, 16);		    /* 4 */
	put_member(&types, name(&strings, "thread"), 3, 0);
	put_type(&types, name(&strings, "outer"), 4, 2, 24); /* 5 */
	put_member(&types, name(&strings, "first"), 1, 0);
	put_member(&types, none, 4, 64);
	/* A type that is itself. */
	put_type(&types, name(&strings, "circle"), 4, 1, 8); /* 6 */
	put_member(&types, none, 6, 0);
	bytes_u16(out, 0xeb9f);
	bytes_u8(out, 1);
	bytes_u8(out, 0);
	bytes_u32(out, 24);
	bytes_u32(out, 0);
	bytes_u32(out, (u32)types.len);
	bytes_u32(out, (u32)types.len);
	bytes_u32(out, (u32)strings.len);
	bytes_put(out, types.p, types.len);
	bytes_put(out, strings.p, strings.len);
	bytes_free(&types);
	bytes_free(&strings);
}

static void test_types(void **state)
{
	struct bytes file = { 0 }, copy = { 0 };
	u64 seed = 1;
	struct btf b;
	u32 at;

	(void)state;
	make_types(&file);
	bytes_put(&copy, file.p, file.len);
	assert_int_equal(btf_take(&b, &copy), 0);
	assert_true(btf_offset(&b, "outer", "thread.two", &at));
	assert_int_equal(at, 16);
	assert_true(btf_offset(&b, "outer", "first", &at));
	assert_int_equal(at, 0);
	assert_false(btf_offset(&b, "outer", "thread.three", &at));
	assert_false(btf_offset(&b, "circle", "x", &at));
	assert_false(btf_offset(&b, "none", "x", &at));
	btf_free(&b);
	for (u32 i = 0; i < ROUNDS; i++) {
		struct bytes spoiled = { 0 };

		spoiled.p = spoil(file.p, file.len, &seed, &spoiled.len);
		spoiled.cap = spoiled.len;
		if (!btf_take(&b, &spoiled))
			btf_offset(&b, "outer", "thread.two", &at);
		btf_free(&b);
	}
	bytes_free(&file);
}

/* --- ELF files --- */

__thread u64 activity_test_variable;
__thread u64 activity_test_words[4];

/* One name, of a variable of 8 bytes. */
static bool find_tls(int fd, const char *name, bool as_program, u64 *left, struct tls_symbol *out)
{
	const struct tls_name one = { .name = name, .size = sizeof(u64) };

	return tls_symbol_find(fd, &one, 1, as_program, left, out);
}

static void look(const u8 *bytes, size_t len, struct tls_symbol *out)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	find_tls(fd, "activity_test_variable", true, &(u64){ ROOM }, out);
	find_tls(fd, "activity_test_variable", false, &(u64){ ROOM }, &(struct tls_symbol){ 0 });
	close(fd);
}

/* Where this program has its own variable, and what it says when anything in it is wrong. */
static void test_symbol(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct tls_symbol found;
	Elf64_Ehdr head;

	(void)state;
	assert_true(fd >= 0 && read(fd, &head, sizeof(head)) == sizeof(head));
	assert_true(find_tls(fd, "activity_test_variable", true, &(u64){ ROOM }, &found));
#if defined(__x86_64__) || defined(__aarch64__)
	assert_int_equal(found.kind, ACTIVITY_KIND_STATIC);
	assert_ptr_equal((char *)__builtin_thread_pointer() + (s64)found.where, &activity_test_variable);
#endif
	assert_true(find_tls(fd, "activity_test_nothing", true, &(u64){ ROOM }, &found));
	assert_int_equal(found.kind, ACTIVITY_KIND_NONE);
	close(fd);
	assert_false(find_tls(-1, "activity_test_variable", true, &(u64){ ROOM }, &found));
}

/* The first name that the file has counts, and the variable has the size that belongs to the name. */
static void test_symbols(void **state)
{
	const struct tls_name names[] = { { "activity_test_nothing", 8 },
					  { "activity_test_words", 8 },
					  { "activity_test_words", 32 },
					  { "activity_test_variable", 8 } };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct tls_symbol found;

	(void)state;
	assert_true(tls_symbol_find(fd, names, ARRAY_LEN(names), true, &(u64){ ROOM }, &found));
	assert_int_equal(found.name, 2);
#if defined(__x86_64__) || defined(__aarch64__)
	assert_ptr_equal((char *)__builtin_thread_pointer() + (s64)found.where, activity_test_words);
#endif
	assert_true(tls_symbol_find(fd, names, 2, true, &(u64){ ROOM }, &found));
	assert_int_equal(found.kind, ACTIVITY_KIND_NONE);
	close(fd);
}

/* A small file: a segment of the block, a table of symbols, its names, and relocations. Nothing in it leads to the
 * first of its variables. */
static void make_elf(struct bytes *out)
{
	Elf64_Ehdr h = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
		.e_type = ET_DYN,
#if defined(__aarch64__)
		.e_machine = EM_AARCH64,
#else
		.e_machine = EM_X86_64,
#endif
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_phoff = sizeof(h)
	};
	Elf64_Phdr tls = { .p_type = PT_TLS, .p_memsz = 24, .p_align = 16 };
	static const char names[] = "\0activity_test_variable\0activity_test_lonely";
	Elf64_Sym symbols[3] = { { 0 },
				 { .st_name = 24, .st_info = STT_TLS, .st_shndx = 1, .st_value = 16, .st_size = 8 },
				 { .st_name = 1, .st_info = STT_TLS, .st_shndx = 1, .st_value = 8, .st_size = 8 } };
#if defined(__aarch64__)
	Elf64_Rela slot = { .r_offset = 0x4000, .r_info = ELF64_R_INFO(2, R_AARCH64_TLSDESC) };
#else
	Elf64_Rela slot = { .r_offset = 0x4000, .r_info = ELF64_R_INFO(2, R_X86_64_TLSDESC) };
#endif
	u64 at = sizeof(h) + sizeof(tls);
	Elf64_Shdr sections[3] = {
		{ .sh_type = SHT_DYNSYM, .sh_offset = at, .sh_size = sizeof(symbols), .sh_link = 1 },
		{ .sh_type = SHT_STRTAB, .sh_offset = at + sizeof(symbols), .sh_size = sizeof(names) },
		{ .sh_type = SHT_RELA, .sh_offset = at + sizeof(symbols) + sizeof(names), .sh_size = sizeof(slot) },
	};

	h.e_shoff = at + sizeof(symbols) + sizeof(names) + sizeof(slot);
	bytes_put(out, &h, sizeof(h));
	bytes_put(out, &tls, sizeof(tls));
	bytes_put(out, symbols, sizeof(symbols));
	bytes_put(out, names, sizeof(names));
	bytes_put(out, &slot, sizeof(slot));
	bytes_put(out, sections, sizeof(sections));
}

/* A library may have a variable to which nothing in it leads: that does not hide the next one. */
static void test_lonely_symbol(void **state)
{
	const struct tls_name names[] = { { "activity_test_lonely", 8 }, { "activity_test_variable", 8 } };
	struct bytes file = { 0 };
	struct tls_symbol found;
	int fd = memfd_create("elf", MFD_CLOEXEC);

	(void)state;
	make_elf(&file);
	assert_int_equal(write(fd, file.p, file.len), file.len);
	assert_true(tls_symbol_find(fd, names, 1, false, &(u64){ ROOM }, &found));
	assert_int_equal(found.kind, ACTIVITY_KIND_NONE);
	assert_true(tls_symbol_find(fd, names, 2, false, &(u64){ ROOM }, &found));
	assert_int_equal(found.kind, ACTIVITY_KIND_DESC);
	assert_int_equal(found.name, 1);
	assert_int_equal(found.where, 0x4000);
	/* In a program both are at a known place. */
	assert_true(tls_symbol_find(fd, names, 2, true, &(u64){ ROOM }, &found));
	assert_int_equal(found.kind, ACTIVITY_KIND_STATIC);
	assert_int_equal(found.name, 0);
	close(fd);
	bytes_free(&file);
}

static void test_spoiled_elf(void **state)
{
	struct bytes file = { 0 };
	struct tls_symbol found;
	u64 seed = 1;
	int fd;

	(void)state;
	make_elf(&file);
	look(file.p, file.len, &found);
	assert_int_equal(found.kind, ACTIVITY_KIND_STATIC);
	fd = memfd_create("elf", MFD_CLOEXEC);
	assert_int_equal(write(fd, file.p, file.len), file.len);
	assert_true(find_tls(fd, "activity_test_variable", false, &(u64){ ROOM }, &found));
	assert_int_equal(found.kind, ACTIVITY_KIND_DESC);
	assert_int_equal(found.where, 0x4000);
	close(fd);
	for (u32 i = 0; i < ROUNDS; i++) {
		size_t n;
		u8 *spoiled = spoil(file.p, file.len, &seed, &n);

		look(spoiled, n, &found);
		free(spoiled);
	}
	bytes_free(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_keys_are_bounded),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_timelines),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_publications),
		cmocka_unit_test(test_spoiled_records),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_symbol),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_lonely_symbol),
		cmocka_unit_test(test_spoiled_elf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
