/* SPDX-License-Identifier: Apache-2.0 */
/* Address spaces over time against a plain model: an array of pages, painted in order. */
#include "state/space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PAGES 64

struct model {
	u32 owner[PAGES]; /* dso that holds the page; 0: none */
};

static u32 seed = 12345;

static u32 next(u32 n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static void paint(struct model *m, const struct vmap *v)
{
	for (u64 page = v->start; page < v->end; page++)
		m->owner[page] = v->dso;
}

static struct vmap random_map(u32 dso)
{
	u32 start = next(PAGES), len = 1 + next(12);

	/* Now and then an unmapping. */
	return (struct vmap){ .start = start, .end = MIN(start + len, (u32)PAGES), .dso = next(8) ? dso : 0 };
}

static void assert_same(const struct maps *maps, const struct model *model)
{
	for (u32 page = 0; page < PAGES; page++) {
		const struct vmap *v = maps_find(maps, page);

		assert_int_equal(v ? v->dso : 0, model->owner[page]);
	}
}

/* Every version of a log of n entries, indexed (n >= 32) or scanned. */
static void check_versions(u32 n)
{
	u64 plenty = UINT64_MAX;
	struct space *s = space_new((struct maps){ 0 }, &plenty);
	struct model *models = mem_zalloc((n + 1) * sizeof(*models));

	for (u32 i = 0; i < n; i++) {
		struct vmap v = random_map(i + 1);

		space_add(s, &v, 10 * i + 10);
		models[i + 1] = models[i];
		paint(&models[i + 1], &v);
	}
	space_seal(s);
	for (u32 i = 0; i <= n; i++) {
		u64 from = 0, until = UINT64_MAX;
		struct maps at = space_at(s, 10 * i + 5, &from, &until);

		assert_int_equal(at.n, i);
		assert_int_equal(from, i ? 10 * i : 0);
		assert_int_equal(until, i < n ? 10 * i + 10 : UINT64_MAX);
		assert_same(&at, &models[i]);
	}
	space_free(s);
	free(models);
}

static void versions_of_short_logs(void **state)
{
	(void)state;
	for (u32 n = 0; n < 31; n++)
		check_versions(n);
}

static void versions_of_long_logs(void **state)
{
	(void)state;
	check_versions(32);
	check_versions(33);
	check_versions(64);
	check_versions(95);
	check_versions(256);
	check_versions(777);
	check_versions(2100);
}

static void fork_sees_the_parent_as_it_was(void **state)
{
	u64 plenty = UINT64_MAX;
	struct space *parent = space_new((struct maps){ 0 }, &plenty), *child;
	struct maps m;

	(void)state;
	space_add(parent, &(struct vmap){ .start = 0, .end = 10, .dso = 1 }, 1);
	child = space_new((struct maps){ parent, 1 }, &plenty);
	space_add(parent, &(struct vmap){ .start = 5, .end = 15, .dso = 2 }, 2);
	space_add(child, &(struct vmap){ .start = 2, .end = 4, .dso = 3 }, 3);
	space_seal(parent);
	space_seal(child);
	m = (struct maps){ child, 1 };
	assert_int_equal(maps_find(&m, 1)->dso, 1);
	assert_int_equal(maps_find(&m, 3)->dso, 3);
	assert_int_equal(maps_find(&m, 6)->dso, 1);
	assert_null(maps_find(&m, 12));
	space_free(child);
	space_free(parent);
}

static void forks_of_forks_stay_shallow(void **state)
{
	u64 plenty = UINT64_MAX;
	struct space *s[100];
	struct maps m;

	(void)state;
	s[0] = space_new((struct maps){ 0 }, &plenty);
	for (u32 i = 0; i < 100; i++) {
		if (i)
			s[i] = space_new((struct maps){ s[i - 1], (u32)s[i - 1]->log.n }, &plenty);
		space_add(s[i], &(struct vmap){ .start = i, .end = i + 1, .dso = i + 1 }, i);
		assert_in_range(s[i]->depth, 0, 17);
	}
	m = (struct maps){ s[99], (u32)s[99]->log.n };
	for (u32 i = 0; i < 100; i++)
		assert_int_equal(maps_find(&m, i)->dso, i + 1);
	for (u32 i = 0; i < 100; i++)
		space_free(s[i]);
}

/* Many forks of one process deep down the line: none may be worth a copy of all that came before. */
static void forks_copy_no_more_than_allowed(void **state)
{
	struct space *line[20], *kids[10];
	u64 may_copy = 50, copied = 0;

	(void)state;
	line[0] = space_new((struct maps){ 0 }, &may_copy);
	for (u32 i = 0; i < 20; i++) {
		if (i)
			line[i] = space_new((struct maps){ line[i - 1], 1 }, &may_copy);
		space_add(line[i], &(struct vmap){ .start = i, .end = i + 1, .dso = i + 1 }, i);
	}
	assert_int_equal(line[17]->depth, 0); /* the one copy, of 17 entries */
	assert_int_equal(may_copy, 50 - 17);
	for (u32 i = 0; i < 10; i++) {
		struct maps m;

		kids[i] = space_new((struct maps){ line[16], 1 }, &may_copy);
		copied += kids[i]->log.n;
		m = (struct maps){ kids[i], (u32)kids[i]->log.n };
		for (u32 k = 0; k < 17; k++)
			assert_int_equal(maps_find(&m, k)->dso, k + 1);
	}
	assert_int_equal(copied, 17);
	assert_int_equal(may_copy, 50 - 2 * 17);
	for (u32 i = 0; i < 20; i++)
		space_free(line[i]);
	for (u32 i = 0; i < 10; i++)
		space_free(kids[i]);
}

static void empty_and_whole_ranges(void **state)
{
	u64 plenty = UINT64_MAX;
	struct space *s = space_new((struct maps){ 0 }, &plenty);
	struct maps m;

	(void)state;
	space_add(s, &(struct vmap){ .start = 5, .end = 5, .dso = 1 }, 1);
	space_add(s, &(struct vmap){ .start = 9, .end = 2, .dso = 1 }, 1);
	assert_int_equal(s->log.n, 0);
	space_add(s, &(struct vmap){ .start = 0, .end = UINT64_MAX, .dso = 1 }, 1);
	space_seal(s);
	m = (struct maps){ s, 1 };
	assert_int_equal(maps_find(&m, UINT64_MAX - 1)->dso, 1);
	assert_null(maps_find(&m, UINT64_MAX));
	assert_null(maps_find(&(struct maps){ 0 }, 1));
	space_free(s);
}

/* How many of some addresses, far from anything mapped, the filter takes for mapped ones. */
static u32 taken_for_mapped(const struct space *s)
{
	u32 n = 0;

	for (u32 i = 0; i < 1000; i++)
		n += space_may_hold(s, 0x700000000000 + ((u64)i << SPACE_REGION_SHIFT) * 1009);
	return n;
}

/* Nothing that is mapped is missed, however large a mapping is; and up to a limit the filter tells something. */
static void filter_over_regions(void **state)
{
	const u64 region = 1 << SPACE_REGION_SHIFT, most = (1 << SPACE_REGION_BITS) / 2;
	u64 plenty = UINT64_MAX;

	(void)state;
	assert_false(space_may_hold(NULL, region));
	for (u64 regions = most - 1; regions <= most + 1; regions++)
		for (u64 off = 0; off <= region / 2; off += region / 2) {
			struct space *s = space_new((struct maps){ 0 }, &plenty);
			u64 start = 77 * region + off, end = start + regions * region;

			space_add(s, &(struct vmap){ .start = start, .end = end, .dso = 1 }, 1);
			for (u64 at = start; at < end; at += region / 2)
				assert_true(space_may_hold(s, at));
			assert_true(space_may_hold(s, end - 1));
			if (regions + (off > 0) <= most)
				assert_in_range(taken_for_mapped(s), 1, 800);
			else
				assert_int_equal(taken_for_mapped(s), 1000);
			space_free(s);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filter_over_regions),	       cmocka_unit_test(versions_of_short_logs),
		cmocka_unit_test(versions_of_long_logs),       cmocka_unit_test(fork_sees_the_parent_as_it_was),
		cmocka_unit_test(forks_of_forks_stay_shallow), cmocka_unit_test(forks_copy_no_more_than_allowed),
		cmocka_unit_test(empty_and_whole_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
