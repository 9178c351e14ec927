/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/evlist.h"

struct heard {
	u32 errors, warnings;
	char last[256];
};

static void hear(void *ctx, const struct note *note)
{
	struct heard *h = ctx;

	h->errors += note->level == NOTE_ERROR;
	h->warnings += note->level == NOTE_WARNING;
	strncpy(h->last, note->text, sizeof(h->last) - 1);
}

static void names(void **state)
{
	static const struct {
		struct attr a;
		const char *name;
	} rows[] = {
#define HOST ATTR_EXCLUDE_GUEST
#define PRECISE(n) ((u64)(n) << ATTR_PRECISE_IP_SHIFT)
		{ { .type = 0, .config = 0, .flags = HOST }, "cycles" },
		{ { .type = 0, .config = 0 }, "cycles:HG" },
		{ { .type = 0, .config = 1, .flags = ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV }, "instructions:u" },
		{ { .type = 0, .config = 4, .flags = ATTR_EXCLUDE_USER | ATTR_EXCLUDE_HV | HOST }, "branches:kH" },
		{ { .type = 0, .config = 5, .flags = PRECISE(2) | HOST }, "branch-misses:ppH" },
		{ { .type = 0, .config = 9, .flags = HOST }, "ref-cycles" },
		{ { .type = 0, .config = 10, .flags = HOST }, "unknown-hardware" },
		{ { .type = 0, .config = 4ull << 32 | 1, .flags = HOST }, "instructions" },
		{ { .type = 1, .config = 0, .flags = HOST }, "cpu-clock" },
		{ { .type = 1, .config = 9, .flags = HOST }, "dummy" },
		{ { .type = 1, .config = 99, .flags = HOST }, "unknown-software" },
		{ { .type = 2, .config = 300 }, "unknown tracepoint" },
		{ { .type = 3, .config = 0, .flags = HOST }, "L1-dcache-loads" },
		{ { .type = 3, .config = 0x10000, .flags = HOST }, "L1-dcache-load-misses" },
		{ { .type = 3, .config = 0x10203, .flags = HOST }, "dTLB-prefetch-misses" },
		{ { .type = 3, .config = 0x105, .flags = HOST }, "invalid-cache" },
		{ { .type = 3, .config = 0x201, .flags = HOST }, "L1-icache-prefetches" },
		{ { .type = 3, .config = 7, .flags = HOST }, "unknown-ext-hardware-cache-type" },
		{ { .type = 3, .config = 0x300, .flags = HOST }, "unknown-ext-hardware-cache-op" },
		{ { .type = 3, .config = 0x20000, .flags = HOST }, "unknown-ext-hardware-cache-result" },
		{ { .type = 5, .config1 = 0x1000, .bp_type = 1, .flags = HOST }, "mem:0x1000:r" },
		{ { .type = 5, .config1 = 0x1000, .bp_type = 2, .flags = HOST }, "mem:0x1000:w" },
		{ { .type = 5, .config1 = 0x1000, .bp_type = 4, .flags = HOST }, "mem:0x1000:x" },
		{ { .type = 4, .config = 0x1c2, .flags = ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV }, "raw 0x1c2:u" },
		{ { .type = 5, .config1 = 0x401000, .bp_type = 3, .flags = HOST }, "mem:0x401000:rw" },
		{ { .type = 40, .config = 1 }, "unknown attr type: 40" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		char *name = attr_name(&rows[i].a);

		assert_string_equal(name, rows[i].name);
		free(name);
	}
}

static struct attr attr_of(u64 sample_type)
{
	return (struct attr){ .type = 1, .size = 128, .sample_type = sample_type, .flags = ATTR_SAMPLE_ID_ALL };
}

static u32 find(const struct evlist *l, u64 w0, u64 w1, bool is_sample)
{
	const u64 record[] = { 0, w0, w1 };

	return evlist_find(l, (const u8 *)record, sizeof(record), is_sample, false);
}

static void a_name_is_not_endless(void **state)
{
	struct evlist l = { 0 };
	u32 event = evlist_add(&l, &(struct attr){ .type = 1 }, NULL, NULL);
	char name[EVENT_NAME_MAX * 2];

	(void)state;
	memset(name, 'x', sizeof(name));
	evlist_rename(&l, event, (struct str){ "short", 5 });
	assert_string_equal(l.events.v[0].name, "short");
	evlist_rename(&l, event, (struct str){ name, sizeof(name) });
	assert_int_equal(strlen(l.events.v[0].name), EVENT_NAME_MAX);
	evlist_free(&l);
}

static void finds_by_id(void **state)
{
	const struct attr a = attr_of(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
	struct evlist l = { 0 };

	(void)state;
	evlist_add(&l, &a, "a", NULL);
	assert_int_equal(evlist_add(&l, &a, "b", NULL), 1);
	evlist_add_id(&l, 0, 100);
	evlist_add_id(&l, 1, 200);
	assert_int_equal(evlist_seal(&l, NULL, NULL), 0);
	assert_true(l.has_time);
	assert_false(l.trailers_differ);
	assert_int_equal(l.trailer.size, 16);
	assert_int_equal(find(&l, 200, 100, true), 1);
	assert_int_equal(find(&l, 200, 100, false), 0);
	assert_int_equal(find(&l, 300, 300, true), ID_NONE);
	assert_int_equal(find(&l, 0, 0, true), 0);
	assert_int_equal(find(&l, __builtin_bswap64(200), 0, true), ID_NONE);
	assert_int_equal(evlist_find(&l, (const u8[8]){ 0 }, 8, true, false), ID_NONE);
	assert_int_equal(evlist_find(&l, (const u8[8]){ 0 }, 8, false, false), ID_NONE);
	evlist_free(&l);
}

/* Neighbours are found in an array, which ids that come later put out of use. */
static void finds_neighbours(void **state)
{
	const struct attr a = attr_of(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
	const u64 most = UINT64_MAX;
	struct evlist l = { 0 };

	(void)state;
	evlist_add(&l, &a, "a", NULL);
	evlist_add(&l, &a, "b", NULL);
	evlist_add_id(&l, 0, most);
	evlist_add_id(&l, 1, most - 3);
	assert_int_equal(evlist_seal(&l, NULL, NULL), 0);
	assert_int_equal(l.near.n, 4);
	assert_int_equal(find(&l, most, 0, true), 0);
	assert_int_equal(find(&l, most - 3, 0, true), 1);
	assert_int_equal(find(&l, most - 1, 0, true), ID_NONE);
	assert_int_equal(find(&l, most - 4, 0, true), ID_NONE);
	assert_int_equal(find(&l, 1, 0, true), ID_NONE);
	evlist_add_id(&l, 1, 1);
	assert_int_equal(find(&l, 1, 0, true), 1);
	assert_int_equal(evlist_seal(&l, NULL, NULL), 0);
	assert_int_equal(l.near.n, 0);
	assert_int_equal(find(&l, 1, 0, true), 1);
	assert_int_equal(find(&l, most, 0, true), 0);
	evlist_free(&l);
}

static void one_event_needs_no_ids(void **state)
{
	const struct attr a = { .type = 1, .sample_type = PERF_SAMPLE_IP };
	struct evlist l = { 0 };

	(void)state;
	assert_int_equal(find(&l, 0, 0, true), ID_NONE);
	evlist_add(&l, &a, NULL, NULL);
	assert_int_equal(evlist_seal(&l, NULL, NULL), 0);
	assert_false(l.has_time);
	assert_string_equal(l.events.v[0].name, "cpu-clock:HG");
	assert_int_equal(find(&l, 123, 0, true), 0);
	assert_int_equal(find(&l, 123, 0, false), 0);
	evlist_free(&l);
}

static void disagreement(void **state)
{
	const struct attr a = attr_of(PERF_SAMPLE_IP | PERF_SAMPLE_ID), b = attr_of(PERF_SAMPLE_IDENTIFIER);
	const struct attr none = attr_of(PERF_SAMPLE_IP);
	struct heard heard = { 0 };
	const struct notify notify = { hear, &heard };
	struct evlist l = { 0 };

	(void)state;
	evlist_add(&l, &a, NULL, &notify);
	evlist_add(&l, &b, NULL, &notify);
	assert_int_equal(evlist_seal(&l, &notify, "x"), ERR_FORMAT);
	assert_int_equal(heard.errors, 1);
	evlist_free(&l);
	evlist_add(&l, &none, NULL, &notify);
	evlist_add(&l, &none, NULL, &notify);
	assert_int_equal(evlist_seal(&l, &notify, "x"), 0);
	assert_int_equal(heard.warnings, 1);
	assert_int_equal(find(&l, 123, 0, true), 0);
	evlist_free(&l);
}

static void trailers_of_a_dummy(void **state)
{
	const struct attr a = attr_of(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
	const struct attr dummy = attr_of(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	const u64 record[] = { 0, 0, 0, 200 };
	struct evlist l = { 0 };

	(void)state;
	evlist_add(&l, &a, NULL, NULL);
	evlist_add(&l, &dummy, NULL, NULL);
	evlist_add_id(&l, 0, 100);
	evlist_add_id(&l, 1, 200);
	assert_int_equal(evlist_seal(&l, NULL, NULL), 0);
	assert_true(l.trailers_differ);
	assert_int_equal(evlist_trailer(&l, (const u8 *)record, 32, false)->size, 24);
	assert_int_equal(evlist_trailer(&l, (const u8 *)record, 24, false)->size, 16);
	evlist_free(&l);
}

static void unknown_bits(void **state)
{
	const struct attr a = attr_of(1ull << 40);
	struct heard heard = { 0 };
	const struct notify notify = { hear, &heard };
	struct evlist l = { 0 };

	(void)state;
	evlist_add(&l, &a, "new", &notify);
	assert_true(l.events.v[0].unsupported);
	assert_int_equal(heard.warnings, 1);
	assert_int_equal(heard.errors, 0);
	assert_non_null(strstr(heard.last, "sample_type"));
	assert_non_null(strstr(heard.last, "0x10000000000"));
	evlist_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(a_name_is_not_endless),
		cmocka_unit_test(finds_by_id),
		cmocka_unit_test(finds_neighbours),
		cmocka_unit_test(one_event_needs_no_ids),
		cmocka_unit_test(disagreement),
		cmocka_unit_test(trailers_of_a_dummy),
		cmocka_unit_test(unknown_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
