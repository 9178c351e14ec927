/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that lie in a cache answer as those in memory do; damaged ones say that they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "state/symtab.h"

static u32 next_random(u32 *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* With overlaps when `wide`: then the table has segments. */
static struct symtab *make_table(u32 n, bool wide)
{
	struct symtab_build b;
	u32 seed = n;

	symtab_build_init(&b);
	for (u32 i = 0; i < n; i++) {
		char name[32];
		u64 start = 0x1000 + (u64)i * 64 + next_random(&seed) % 8;
		u64 size = 1 + next_random(&seed) % (wide && i % 5 == 0 ? 400 : 40);
		int len = snprintf(name, sizeof(name), "f%u", i);

		vec_push(&b.syms, (struct raw_symbol){ .start = start,
						       .end = start + size,
						       .name = symtab_build_name(&b, name, (size_t)len),
						       .bind = BIND_GLOBAL,
						       .is_func = true });
	}
	return symtab_finish(&b);
}

static struct stored *open_bytes(const struct bytes *body, struct stored_marks *marks)
{
	struct cache_entry e = { .fd = memfd_create("entry", MFD_CLOEXEC), .size = body->len };

	assert_true(e.fd >= 0);
	assert_int_equal(write(e.fd, body->p, body->len), (ssize_t)body->len);
	return stored_open(&e, marks);
}

static void check_same(u32 n, bool wide, u64 moved)
{
	struct symtab *t = make_table(n, wide), *u;
	struct stored_marks marks = { true, { 5, 7 } }, read = { 0 };
	struct bytes body = { 0 };
	struct stored *stored;

	assert_true(symtab_encode(t, &marks, &body));
	stored = open_bytes(&body, &read);
	assert_non_null(stored);
	assert_true(read.stripped);
	assert_int_equal(read.address[1], 7);
	stored_move(stored, moved);
	u = symtab_over(stored, NULL);
	assert_int_equal(symtab_count(u), symtab_count(t));
	for (u64 addr = 0xff0; addr < 0x1000 + (u64)n * 64 + 500; addr += 3) {
		u32 sym = symtab_find(t, addr);

		assert_int_equal(symtab_find(u, addr + moved), sym);
		if (sym == ID_NONE)
			continue;
		assert_string_equal(symtab_raw_name(u, sym), symtab_raw_name(t, sym));
		assert_string_equal(symtab_shown_name(u, sym), symtab_shown_name(t, sym));
		assert_int_equal(symtab_at(u, sym)->start, symtab_at(t, sym)->start + moved);
		assert_int_equal(symtab_at(u, sym)->end, symtab_at(t, sym)->end + moved);
	}
	symtab_free(u);
	symtab_free(t);
	bytes_free(&body);
}

static void same_answers(void **state)
{
	(void)state;
	check_same(1, false, 0);
	check_same(127, false, 0);
	check_same(128, false, 0x7000);
	check_same(129, false, 0x7000);
	check_same(2000, false, (u64)-0x1000);
	check_same(2000, true, 0);
	check_same(2000, true, 0x123456789000);
}

/* A file whose symbols share a name would be far larger here than it is. */
static void shared_names_are_not_kept(void **state)
{
	struct stored_marks marks = { 0 };
	struct bytes body = { 0 };
	struct symtab_build b;
	struct symtab *t;
	char name[40000];
	u32 at;

	(void)state;
	memset(name, 'x', sizeof(name));
	symtab_build_init(&b);
	at = symtab_build_name(&b, name, sizeof(name));
	for (u32 i = 0; i < 100; i++)
		vec_push(&b.syms, (struct raw_symbol){ .start = 0x1000 + i * 64,
						       .end = 0x1040 + i * 64,
						       .name = at,
						       .bind = BIND_GLOBAL,
						       .is_func = true });
	t = symtab_finish(&b);
	assert_int_equal(symtab_count(t), 100);
	assert_false(symtab_encode(t, &marks, &body));
	assert_int_equal(body.len, 0);
	bytes_free(&body);
	symtab_free(t);
}

static void empty_table(void **state)
{
	struct stored_marks marks = { 0 };
	struct symtab *t = make_table(0, false);
	struct bytes body = { 0 };
	struct stored *stored;

	(void)state;
	assert_true(symtab_encode(t, &marks, &body));
	stored = open_bytes(&body, &marks);
	assert_non_null(stored);
	assert_int_equal(stored_find(stored, 0x1000), ID_NONE);
	stored_free(stored);
	symtab_free(t);
	bytes_free(&body);
}

/* Each byte in turn is another one: the answer is the right one, or that it is damaged. */
static void damaged_table(void **state)
{
	struct stored_marks marks = { 0 };
	struct symtab *t = make_table(300, true);
	struct bytes body = { 0 };
	u32 found = 0;

	(void)state;
	assert_true(symtab_encode(t, &marks, &body));
	for (size_t i = 0; i < body.len; i += 7) {
		struct stored *stored;

		body.p[i] ^= 0x41;
		stored = open_bytes(&body, &marks);
		found += !stored;
		for (u64 addr = 0x1000; stored && addr < 0x1000 + 300 * 64; addr += 61) {
			u32 sym = stored_find(stored, addr);

			found += sym == STORED_DAMAGED;
			if (sym == STORED_DAMAGED)
				continue;
			assert_int_equal(sym, symtab_find(t, addr));
			if (sym != ID_NONE)
				assert_string_equal(stored_name(stored, sym), symtab_raw_name(t, sym));
		}
		stored_free(stored);
		body.p[i] ^= 0x41;
	}
	assert_true(found >= body.len / 7);
	for (size_t n = 0; n < body.len; n += 101) {
		struct bytes part = { .p = body.p, .len = n };
		struct stored *stored = open_bytes(&part, &marks);

		assert_true(!stored || stored_find(stored, 0x1000 + 299 * 64) == STORED_DAMAGED ||
			    n > body.len - 8000);
		stored_free(stored);
	}
	symtab_free(t);
	bytes_free(&body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_answers),
		cmocka_unit_test(empty_table),
		cmocka_unit_test(shared_names_are_not_kept),
		cmocka_unit_test(damaged_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
