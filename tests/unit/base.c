/* SPDX-License-Identifier: Apache-2.0 */
/* The base layer: containers, buffers, escaping, the cursor, the pool. */
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/block.h"
#include "base/bytes.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/sanitized.h"
#include "base/search.h"
#include "base/set.h"
#include "base/sort.h"
#include "base/strtab.h"

static void map_keeps_many(void **state)
{
	struct map m = { 0 };

	(void)state;
	assert_int_equal(map_get(&m, 0), ID_NONE);
	for (u32 i = 0; i < 10000; i++)
		map_set(&m, (u64)i << 32, i);
	map_set(&m, (u64)7 << 32, 70);
	assert_int_equal(m.n, 10000);
	for (u32 i = 0; i < 10000; i++)
		assert_int_equal(map_get(&m, (u64)i << 32), i == 7 ? 70 : i);
	assert_int_equal(map_get(&m, 1), ID_NONE);
	*map_at(&m, 1, 5) += 1;
	assert_int_equal(map_get(&m, 1), 6);
	map_free(&m);
}

/* Things of one hash, and of hashes that differ in what the set does not keep, are told apart by the caller. */
static void set_finds_what_is_the_same(void **state)
{
	u64 things[3000];
	struct set s = { 0 };
	u32 id, at, looks = 0;

	(void)state;
	SET_FIND(id, &s, 7, at, true);
	assert_int_equal(id, ID_NONE);
	for (u32 i = 0; i < ARRAY_LEN(things); i++) {
		things[i] = (u64)i << 32 | i % 10;
		set_add(&s, i < 30 ? things[i] % 10 : hash_u64(things[i]), i);
	}
	assert_int_equal(s.n, ARRAY_LEN(things));
	for (u32 i = 0; i < ARRAY_LEN(things); i++) {
		SET_FIND(id, &s, i < 30 ? things[i] % 10 : hash_u64(things[i]), at,
			 (looks++, things[id] == things[i]));
		assert_int_equal(id, i);
	}
	assert_true(looks < 3 * ARRAY_LEN(things) / 2);
	SET_FIND(id, &s, 3, at, things[id] == 12345);
	assert_int_equal(id, ID_NONE);
	set_free(&s);
	assert_int_equal(s.n, 0);
}

static void strtab_gives_one_id_per_string(void **state)
{
	struct strtab t = { 0 };
	u32 a, b;

	(void)state;
	assert_int_equal(strtab_intern(&t, "x", 0), 0);
	a = strtab_intern_z(&t, "alpha");
	b = strtab_intern(&t, "alphabet", 5);
	assert_int_equal(a, b);
	assert_string_equal(strtab_get(&t, a), "alpha");
	assert_string_equal(strtab_get(&t, 12345), "");
	strtab_free(&t);
}

static void arena_aligns_and_keeps(void **state)
{
	struct arena a = { 0 };
	char *first = arena_strndup(&a, "first", 5);

	(void)state;
	for (size_t align = 1; align <= 64; align *= 2) {
		for (int i = 0; i < 300; i++) {
			u8 *p = arena_alloc(&a, (size_t)i * 7, align);

			assert_int_equal((uintptr_t)p % align, 0);
			memset(p, 0xee, (size_t)i * 7);
		}
	}
	memset(arena_alloc(&a, 10 << 20, 8), 1, 10 << 20);
	assert_string_equal(first, "first");
	arena_free(&a);
	assert_int_equal(a.bytes, 0);
}

static void cursor_never_passes_the_end(void **state)
{
	const u8 data[] = { 1, 2, 3, 4, 5, 6, 7 };
	struct cursor c = cursor_over(data, sizeof(data), false);

	(void)state;
	assert_int_equal(cursor_u32(&c), 0x04030201);
	assert_int_equal(cursor_u64(&c), 0);
	assert_true(c.bad);
	assert_int_equal(cursor_u8(&c), 0); /* stays bad */
	c = cursor_over(data, sizeof(data), true);
	assert_int_equal(cursor_u16(&c), 0x0102);
	assert_int_equal(cursor_u64s(&c, UINT64_MAX / 4).n, 0);
	assert_true(c.bad);
	c = cursor_over(data, sizeof(data), false);
	assert_true(cursor_sub(&c, 8).bad);
	c = cursor_over("ab\0cd", 5, false);
	assert_int_equal(cursor_text(&c, 5).len, 2);
	c = cursor_over("abcde", 5, false);
	assert_int_equal(cursor_text(&c, 5).len, 5);
}

static void check_text(struct bytes *b, const char *want)
{
	assert_int_equal(b->len, strlen(want));
	assert_memory_equal(b->p, want, b->len);
	b->len = 0;
}

static void bytes_escape(void **state)
{
	struct bytes b = { 0 };

	(void)state;
	bytes_json(&b, "a\"\\\n\xff\xc3\xa9", 7);
	check_text(&b, "a\\\"\\\\\\u000a\xef\xbf\xbd\xc3\xa9");
	bytes_xml(&b, "<&>\"'\x01", 6);
	check_text(&b, "&lt;&amp;&gt;&quot;&#39;?");
	bytes_csv(&b, "a,\"b\"", 5);
	check_text(&b, "\"a,\"\"b\"\"\"");
	bytes_csv(&b, "plain", 5);
	check_text(&b, "plain");
	bytes_csv(&b, "t,\xff\xc3\xa4", 5);
	check_text(&b, "\"t,\xef\xbf\xbd\xc3\xa4\"");
	/* Controls, also those that turn text around, in no format; nothing that a spreadsheet would calculate. */
	bytes_csv(&b,
		  "a\x1b\r\xc2\x85"
		  "b\xe2\x80\xae"
		  "c",
		  10);
	check_text(&b, "a???b?c");
	bytes_csv(&b, "=cmd|' /C calc'!A1", 18);
	check_text(&b, "'=cmd|' /C calc'!A1");
	bytes_csv(&b, "operator==", 10);
	check_text(&b, "operator==");
	b.formulas = true;
	bytes_csv(&b, "=1+1", 4);
	check_text(&b, "=1+1");
	bytes_json(&b, "\xc2\x9b\xe2\x81\xa6\xd8\x9c\xe2\x82\xac", 10);
	check_text(&b, "\\u009b\\u2066\\u061c\xe2\x82\xac");
	bytes_xml(&b, "\xc2\x9bx", 3);
	check_text(&b, "?x");
	bytes_plain(&b, "x\x1b[31m\xc2\x9b\xed\xa0\x80y", 12);
	check_text(&b, "x?[31m????y");
	bytes_dec(&b, UINT64_MAX);
	bytes_char(&b, ' ');
	bytes_hex(&b, 0xfeed);
	bytes_repeat(&b, '.', 3);
	bytes_repeat(&b, '.', -1);
	check_text(&b, "18446744073709551615 feed...");
	bytes_printf(&b, "%0600d", 1);
	assert_int_equal(b.len, 600);
	bytes_free(&b);
}

/* Each byte at each place of eight that are looked at together, and of the rest. */
static void plain_of_each_byte(void **state)
{
	struct bytes b = { 0 };

	(void)state;
	for (u32 byte = 0; byte < 256; byte++)
		for (u32 at = 0; at < 21; at++) {
			char text[] = "abcdefghijklmnopqrstu", want[] = "abcdefghijklmnopqrstu";

			text[at] = (char)byte;
			want[at] = byte >= 0x20 && byte < 0x7f ? (char)byte : '?';
			b.len = 0;
			bytes_plain(&b, text, sizeof(text) - 1);
			check_text(&b, want);
		}
	bytes_free(&b);
}

static void json_puts_commas_and_escapes(void **state)
{
	struct bytes b = { 0 };
	struct json j = { .out = &b };

	(void)state;
	json_object(&j);
	json_set_text(&j, "a", "\"\n");
	json_set_s64(&j, "least", INT64_MIN);
	json_set_list(&j, "none");
	json_list_end(&j);
	json_set_list(&j, "list");
	json_u64(&j, UINT64_MAX);
	json_bool(&j, false);
	json_text(&j, NULL);
	json_object(&j);
	json_object_end(&j);
	json_list_end(&j);
	json_key_text(&j, "x\\y");
	json_addr(&j, 0xfeed);
	json_set_hex(&j, "bytes", (const u8 *)"\x01\xff", 2);
	json_object_end(&j);
	json_end(&j);
	json_null(&j);
	check_text(&b, "{\"a\":\"\\\"\\u000a\",\"least\":-9223372036854775808,\"none\":[],"
		       "\"list\":[18446744073709551615,false,null,{}],"
		       "\"x\\\\y\":\"0xfeed\",\"bytes\":\"01ff\"}\nnull");
	/* Lines and blanks. */
	j = (struct json){ .out = &b, .spaced = true };
	json_list(&j);
	for (u64 i = 0; i < 2; i++) {
		json_line(&j, "  ");
		json_object(&j);
		json_set_u64(&j, "i", i);
		json_set_bool(&j, "last", i == 1);
		json_object_end(&j);
	}
	json_list_end_line(&j);
	check_text(&b, "[\n  {\"i\": 0, \"last\": false},\n  {\"i\": 1, \"last\": true}\n]");
	bytes_free(&b);
}

/* Whole ones in full, and none that JSON does not have. */
static void json_puts_numbers(void **state)
{
	struct bytes b = { 0 };
	struct json j = { .out = &b };

	(void)state;
	json_list(&j);
	json_real(&j, 123456789012.0, 3);
	json_real(&j, 0.123456, 3);
	json_real(&j, (double)INFINITY, 3);
	json_fixed(&j, 1, 2);
	json_fixed(&j, (double)NAN, 2);
	json_list_end(&j);
	check_text(&b, "[123456789012,0.123,null,1.00,null]");
	bytes_free(&b);
}

/* What was written apart stands first in one list, behind others in the next. */
static void json_puts_what_was_written_apart(void **state)
{
	struct bytes b = { 0 }, rendered = { 0 };
	struct json j = { .out = &b }, part = { .out = &rendered, .more = true };

	(void)state;
	json_u64(&part, 7);
	json_list(&j);
	json_rendered(&j, (const char *)rendered.p, 0);
	json_rendered(&j, (const char *)rendered.p, rendered.len);
	json_rendered(&j, (const char *)rendered.p, rendered.len);
	json_u64(&j, 8);
	json_list_end(&j);
	check_text(&b, "[7,7,8]");
	bytes_free(&rendered);
	bytes_free(&b);
}

static void bytes_go_to_a_file(void **state)
{
	int fds[2];
	struct bytes b;
	char got[4];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	bytes_to_fd(&b, fds[1]);
	bytes_str(&b, "abc");
	assert_int_equal(bytes_flush(&b), 0);
	assert_int_equal(read(fds[0], got, 4), 3);
	assert_memory_equal(got, "abc", 3);
	bytes_free(&b);
	close(fds[0]);
	close(fds[1]);
	/* A full device: the error is kept, writing goes on without harm. */
	bytes_to_fd(&b, open("/dev/full", O_WRONLY));
	for (int i = 0; i < 100000; i++)
		bytes_str(&b, "0123456789");
	assert_int_equal(bytes_flush(&b), ERR_IO);
	close(b.fd);
	bytes_free(&b);
}

static atomic_uint touched[1000];

static void touch(void *ctx, u32 worker, u32 unit)
{
	assert_in_range(worker, 0, *(u32 *)ctx - 1);
	atomic_fetch_add(&touched[unit], 1);
}

static void pool_runs_each_unit_once(void **state)
{
	(void)state;
	for (u32 workers = 1; workers <= 4; workers++) {
		pool_run(workers, 1000, touch, &workers);
		for (u32 i = 0; i < 1000; i++)
			assert_int_equal(touched[i], workers);
	}
	assert_in_range(pool_default_workers(), 1, 100000);
}

struct numbers {
	u32 slots[12];
	u32 n; /* put so far */
	bool in_order;
};

static void make_number(void *ctx, u32 worker, u32 unit, u32 slot)
{
	struct numbers *n = ctx;

	(void)worker;
	if (unit % 7 == 0)
		usleep(100);
	n->slots[slot] = unit;
}

static void put_number(void *ctx, u32 slot)
{
	struct numbers *n = ctx;

	n->in_order &= n->slots[slot] == n->n++;
}

static void pool_puts_in_order(void **state)
{
	(void)state;
	for (u32 workers = 1; workers <= 4; workers++) {
		struct numbers n = { .in_order = true };

		pool_run_in_order(workers, 500, 3 * workers, make_number, put_number, &n);
		assert_true(n.in_order);
		assert_int_equal(n.n, 500);
	}
}

static int by_upper_half(const void *a, const void *b, void *ctx)
{
	(void)ctx;
	return (int)(*(const u32 *)a >> 16) - (int)(*(const u32 *)b >> 16);
}

/* The upper half is what is sorted by, the lower half the place before. */
static void sort_is_stable(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 4097, 20000, 60001 };
	u32 v[60001];

	(void)state;
	for (u32 workers = 1; workers <= 5; workers++) {
		for (u32 k = 0; k < ARRAY_LEN(counts); k++) {
			u32 x = 1;

			for (u32 i = 0; i < counts[k]; i++) {
				x = x * 1664525 + 1013904223;
				v[i] = (x >> 24) << 16 | i;
			}
			sort_parallel(workers, v, counts[k], sizeof(*v), by_upper_half, NULL);
			for (u32 i = 1; i < counts[k]; i++)
				assert_true(v[i - 1] < v[i]);
		}
	}
}

struct numbered {
	u64 first, second;
	u32 nr; /* does not count */
};

/* From 0 to 5000 things, some with equal numbers, which stay in order. */
static void words_are_sorted_as_if_they_were_compared(void **state)
{
	static struct numbered v[5000];
	static u32 ids[5000];
	u32 x = 1;

	(void)state;
	for (u32 n = 0; n <= 5000; n = n * 3 + 1) {
		for (u32 i = 0; i < n; i++) {
			x = x * 1664525 + 1013904223;
			v[i] = (struct numbered){ (u64)(x >> 30) << 60 | x >> 29, (u64)(x >> 20 & 15) << 20, n - i };
		}
		sort_by_words(ids, v, n, sizeof(*v), 2);
		for (u32 i = 1; i < n; i++) {
			const struct numbered *a = &v[ids[i - 1]], *b = &v[ids[i]];

			assert_true(a->first <= b->first);
			assert_true(a->first < b->first || a->second <= b->second);
			assert_true(a->first < b->first || a->second < b->second || ids[i - 1] < ids[i]);
		}
	}
}

static void keep_note(void *ctx, const struct note *note)
{
	snprintf(ctx, 200, "%d %s %llx %s", note->level, note->file, (unsigned long long)note->offset, note->text);
}

static void notes_reach_the_notifier(void **state)
{
	char got[200];
	struct notify to = { keep_note, got };

	(void)state;
	assert_int_equal(notify_at(&to, NOTE_ERROR, ERR_FORMAT, "f", 0x10, "bad %d", 7), ERR_FORMAT);
	assert_string_equal(got, "0 f 10 bad 7");
	assert_int_equal(notify_error(NULL, ERR_IO, "nobody hears"), ERR_IO);
	assert_string_equal(err_name(ERR_TRUNCATED), "truncated");
	assert_string_equal(err_name(0), "ok");
	assert_string_equal(err_name(-99), "unknown error");
}

static void hash_spreads_neighbours(void **state)
{
	u32 buckets[64] = { 0 };

	(void)state;
	for (u64 i = 0; i < 6400; i++)
		buckets[hash_mix(hash_u64(5), 0x7f0000000000 + i * 16) % 64]++;
	for (u32 i = 0; i < 64; i++)
		assert_in_range(buckets[i], 50, 150);
	assert_int_not_equal(hash_bytes("a", 1), hash_bytes("a\0", 2));
}

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

/* Ids and addresses in a row: pairs with the same exclusive-or are common. */
static void hash_pair_tells_pairs_apart(void **state)
{
	static u64 seen[200 * 200];
	size_t n = 0;

	(void)state;
	for (u64 a = 0; a < 200; a++)
		for (u64 b = 0; b < 200; b++)
			seen[n++] = hash_pair(0x10000 + a, b);
	qsort(seen, n, sizeof(*seen), by_value);
	for (size_t i = 1; i < n; i++)
		assert_true(seen[i - 1] != seen[i]);
}

/* 1 / odd, modulo 2^64. */
static u64 inverse(u64 odd)
{
	u64 x = odd;

	for (u32 i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

/* What somebody can choose who knows the program, but not where it was loaded: keys that hash_finish would all send to
 * 0. */
static void keys_cannot_be_chosen_to_meet(void **state)
{
	u32 buckets[64] = { 0 };

	(void)state;
	for (u64 i = 1; i <= 6400; i++) {
		u64 key = i << 32;

		key ^= key >> 32;
		key *= inverse(0xbf58476d1ce4e5b9u);
		key ^= key >> 29 ^ key >> 58;
		key *= inverse(0x9e3779b97f4a7c15u);
		key ^= key >> 32;
		assert_int_equal((u32)hash_finish(key), 0);
		buckets[hash_u64(key) % 64]++;
	}
	for (u32 i = 0; i < 64; i++)
		assert_in_range(buckets[i], 20, 300);
	assert_int_equal(hash_stable("a name", 6), hash_bytes_by(0, "a name", 6));
}

static void numbers_are_written_as_printf_does(void **state)
{
	static const u64 around[] = { 0,	  10,	      100,	   1000,       99999,
				      1000000000, 1ull << 32, 10000000000, 1ull << 63, UINT64_MAX };
	struct bytes b = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(around) * 3; i++) {
		u64 v = around[i / 3] + i % 3 - 1; /* one less, it, and one more; round the corner, too */
		char want[128];

		b.len = 0;
		bytes_dec(&b, v);
		bytes_dec_pad(&b, v, 9, '0');
		bytes_dec_pad(&b, v, 40, ' ');
		bytes_hex_pad(&b, v, 16, ' ');
		bytes_char(&b, 0);
		snprintf(want, sizeof(want), "%llu%09llu%40llu%16llx", (unsigned long long)v, (unsigned long long)v,
			 (unsigned long long)v, (unsigned long long)v);
		assert_string_equal((char *)b.p, want);
	}
	bytes_free(&b);
}

/* What of the heap was asked to have huge pages. */
static const char *huge_at;
static size_t huge_size;

int madvise(void *p, size_t size, int advice)
{
	if (advice == MADV_HUGEPAGE) {
		huge_at = p;
		huge_size = size;
	}
	return (int)syscall(SYS_madvise, p, size, advice);
}

static void *take_and_fill(void *size)
{
	return memset(mem_alloc(*(size_t *)size), 7, *(size_t *)size);
}

/* One thread after the other, none of which is the first: each would have a heap of its own. */
static void threads_share_one_heap(void **state)
{
	size_t size = 10000;
	char *blocks[4];

	(void)state;
	mallopt(M_MMAP_THRESHOLD, 256 << 10); /* as the program does */
	mem_one_heap();
	if (!SANITIZED) /* then it is glibc's */ {
		assert_true(huge_at && huge_size >= 4 << 20 && !(huge_size % (2 << 20)));
		assert_true(huge_at + huge_size <= (char *)sbrk(0));
	}
	mem_one_heap(); /* for the next recording */
	for (u32 i = 0; i < ARRAY_LEN(blocks); i++) {
		pthread_t thread;
		void *out;

		assert_int_equal(pthread_create(&thread, NULL, take_and_fill, &size), 0);
		assert_int_equal(pthread_join(thread, &out), 0);
		blocks[i] = out;
	}
	for (u32 i = 0; i < ARRAY_LEN(blocks); i++) {
		const char *end = sbrk(0);

		assert_true(blocks[i][0] == 7 && blocks[i][size - 1] == 7);
		if (!SANITIZED) /* then it is glibc's */
			assert_true(blocks[i] < end && end - blocks[i] < 64 << 20);
		free(blocks[i]);
	}
}

/* Beside a look at all of them: some begin together, and from an origin on they go round the end of the numbers. */
static void search_counts_what_begins_before(void **state)
{
	struct item {
		u64 start;
		u32 more;
	} items[40];

	(void)state;
	for (u32 n = 0; n <= ARRAY_LEN(items); n++) {
		for (u64 origin = 0; origin < 3; origin++) {
			u64 first = origin * (UINT64_MAX / 2 - 20); /* that of the last is just before the end */

			for (u32 i = 0; i < n; i++)
				items[i] = (struct item){ first + 3 + i / 2 * 4, i };
			for (u64 addr = first; addr != first + 100; addr++) {
				u32 upto = 0;

				while (upto < n && items[upto].start - first <= addr - first)
					upto++;
				assert_int_equal(search_upto(items, n, sizeof(*items), first, addr), upto);
			}
		}
	}
}

/* At any address, each bit counts; those outside a mask do not. */
static void blocks_differ_in_any_bit(void **state)
{
	u8 a[64 + 3], b[64 + 5], mask[64], masked[64 + 1];

	(void)state;
	for (u32 bit = 0; bit < 8 * 64; bit++) {
		memset(a, 0x5a, sizeof(a));
		memset(b, 0x5a, sizeof(b));
		memset(mask, 0xff, sizeof(mask));
		assert_true(block_is(a + 3, b + 5));
		assert_true(block_fits(a + 3, mask, b + 5));
		a[3 + bit / 8] ^= (u8)(1u << bit % 8);
		assert_false(block_is(a + 3, b + 5));
		assert_false(block_fits(a + 3, mask, b + 5));
		mask[bit / 8] ^= (u8)(1u << bit % 8);
		b[5 + bit / 8] &= mask[bit / 8];
		assert_true(block_fits(a + 3, mask, b + 5));
		block_mask(masked + 1, a + 3, mask);
		assert_memory_equal(masked + 1, b + 5, 64);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_share_one_heap), /* before any other thread has a heap */
		cmocka_unit_test(keys_cannot_be_chosen_to_meet),
		cmocka_unit_test(map_keeps_many),
		cmocka_unit_test(set_finds_what_is_the_same),
		cmocka_unit_test(strtab_gives_one_id_per_string),
		cmocka_unit_test(arena_aligns_and_keeps),
		cmocka_unit_test(cursor_never_passes_the_end),
		cmocka_unit_test(bytes_escape),
		cmocka_unit_test(plain_of_each_byte),
		cmocka_unit_test(json_puts_commas_and_escapes),
		cmocka_unit_test(json_puts_numbers),
		cmocka_unit_test(json_puts_what_was_written_apart),
		cmocka_unit_test(bytes_go_to_a_file),
		cmocka_unit_test(pool_runs_each_unit_once),
		cmocka_unit_test(pool_puts_in_order),
		cmocka_unit_test(sort_is_stable),
		cmocka_unit_test(words_are_sorted_as_if_they_were_compared),
		cmocka_unit_test(notes_reach_the_notifier),
		cmocka_unit_test(hash_spreads_neighbours),
		cmocka_unit_test(hash_pair_tells_pairs_apart),
		cmocka_unit_test(numbers_are_written_as_printf_does),
		cmocka_unit_test(search_counts_what_begins_before),
		cmocka_unit_test(blocks_differ_in_any_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
