/* SPDX-License-Identifier: Apache-2.0 */
/* Chains are taken apart by one rule, whoever follows them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attrib/chain.h"
#include "codec/perf_abi.h"

#define NO_MARK (UINT64_MAX - 3) /* looks like a mark, and is none */
#define COOKIE 7

static struct u64s words(const u64 *v, u32 n)
{
	return (struct u64s){ (const u8 *)v, n, false };
}

static void expect(struct chain_walk *w, u32 cpumode, enum chain_origin origin, u64 first, u32 n)
{
	struct chain_part p;

	assert_true(chain_next(w, &p));
	assert_int_equal(p.cpumode, cpumode);
	assert_int_equal(p.origin, origin);
	assert_int_equal(p.end - p.at, n);
	assert_int_equal(u64s_at(p.words, p.at), first);
}

static void expect_end(struct chain_walk *w)
{
	struct chain_part p;

	assert_false(chain_next(w, &p));
	assert_false(chain_next(w, &p));
}

static void marks_part_it(void **state)
{
	const u64 v[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000001, 0xffffffff81000002, PERF_CONTEXT_USER, 0x401000 };
	struct u64s chain = words(v, 5), none = words(v, 0), marks_alone = words(v, 1);
	struct chain_walk w;

	(void)state;
	assert_true(chain_start(&w, &chain, 0, PERF_RECORD_MISC_USER, NULL));
	expect(&w, PERF_RECORD_MISC_KERNEL, CHAIN_RECORDED, v[1], 2);
	expect(&w, PERF_RECORD_MISC_USER, CHAIN_RECORDED, v[4], 1);
	expect_end(&w);
	/* Behind the leaf it goes on in the leaf's mode. */
	assert_true(chain_start(&w, &chain, 2, PERF_RECORD_MISC_KERNEL, NULL));
	expect(&w, PERF_RECORD_MISC_KERNEL, CHAIN_RECORDED, v[2], 1);
	expect(&w, PERF_RECORD_MISC_USER, CHAIN_RECORDED, v[4], 1);
	expect_end(&w);
	assert_true(chain_start(&w, &none, 0, PERF_RECORD_MISC_USER, NULL));
	expect_end(&w);
	assert_true(chain_start(&w, &marks_alone, 0, PERF_RECORD_MISC_USER, NULL));
	expect_end(&w);
}

static void noise_hides_all_of_it(void **state)
{
	const u64 v[] = { PERF_CONTEXT_USER, 0x401000, 0x402000, NO_MARK };
	const u64 d[] = { PERF_CONTEXT_USER, 0x401000, PERF_CONTEXT_USER_DEFERRED, COOKIE };
	struct u64s chain = words(v, 4), deferred = words(d, 4);
	struct chain_walk w;

	(void)state;
	assert_false(chain_start(&w, &chain, 0, PERF_RECORD_MISC_USER, NULL));
	expect_end(&w);
	/* A deferred mark of an event that defers nothing is a stray word. */
	assert_false(chain_start(&w, &deferred, 0, PERF_RECORD_MISC_USER, NULL));
	expect_end(&w);
}

static void what_was_deferred_comes_last(void **state)
{
	const u64 v[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000001, PERF_CONTEXT_USER_DEFERRED, COOKIE, 0x409000 };
	const u64 user[] = { PERF_CONTEXT_USER, 0x401000, 0x402000 };
	struct u64s chain = words(v, 5), cut = words(v, 3), user_chain = words(user, 3);
	struct deferred_chains d = { 0 };
	struct chain_walk w;

	(void)state;
	assert_true(chain_start(&w, &chain, 0, PERF_RECORD_MISC_USER, &d));
	expect(&w, PERF_RECORD_MISC_KERNEL, CHAIN_RECORDED, v[1], 1);
	expect_end(&w); /* its record was lost */
	deferred_add(&d, COOKIE, &user_chain);
	assert_true(chain_start(&w, &chain, 0, PERF_RECORD_MISC_USER, &d));
	expect(&w, PERF_RECORD_MISC_KERNEL, CHAIN_RECORDED, v[1], 1);
	expect(&w, PERF_RECORD_MISC_USER, CHAIN_DEFERRED, user[1], 2);
	expect_end(&w);
	assert_true(chain_start(&w, &cut, 0, PERF_RECORD_MISC_USER, &d));
	expect(&w, PERF_RECORD_MISC_KERNEL, CHAIN_RECORDED, v[1], 1);
	expect_end(&w);
	deferred_free(&d);
}

static void a_deferred_part_leads_no_further(void **state)
{
	const u64 v[] = { PERF_CONTEXT_USER_DEFERRED, COOKIE };
	const u64 again[] = { PERF_CONTEXT_USER, 0x401000, PERF_CONTEXT_USER_DEFERRED, COOKIE };
	const u64 noise[] = { PERF_CONTEXT_USER, 0x401000, NO_MARK }, noise_first[] = { NO_MARK, 0x401000 };
	struct u64s noise_first_chain = words(noise_first, 2);
	struct u64s chain = words(v, 2), again_chain = words(again, 4), noise_chain = words(noise, 3);
	struct deferred_chains d = { 0 };
	struct chain_walk w;

	(void)state;
	deferred_add(&d, COOKIE, &again_chain);
	assert_true(chain_start(&w, &chain, 0, PERF_RECORD_MISC_USER, &d));
	expect(&w, PERF_RECORD_MISC_USER, CHAIN_DEFERRED, again[1], 1);
	expect_end(&w);
	deferred_add(&d, COOKIE, &noise_chain);
	assert_true(chain_start(&w, &chain, 0, PERF_RECORD_MISC_USER, &d));
	expect_end(&w);
	deferred_add(&d, COOKIE, &noise_first_chain);
	assert_true(chain_start(&w, &chain, 0, PERF_RECORD_MISC_USER, &d));
	expect_end(&w);
	deferred_free(&d);
}

static void a_cookie_may_look_like_anything(void **state)
{
	const u64 v[] = { PERF_CONTEXT_USER_DEFERRED, NO_MARK };
	const u64 user[] = { PERF_CONTEXT_USER, 0x401000 };
	const u64 bare[] = { 0x402000, 0x403000 };
	struct u64s chain = words(v, 2), user_chain = words(user, 2), bare_chain = words(bare, 2);
	struct deferred_chains d = { 0 };
	struct chain_walk w;

	(void)state;
	deferred_add(&d, NO_MARK, &user_chain);
	assert_true(chain_start(&w, &chain, 0, PERF_RECORD_MISC_USER, &d));
	expect(&w, PERF_RECORD_MISC_USER, CHAIN_DEFERRED, user[1], 1);
	expect_end(&w);
	/* A part without a mark begins with its first word. */
	deferred_add(&d, NO_MARK, &bare_chain);
	assert_true(chain_start(&w, &chain, 0, PERF_RECORD_MISC_USER, &d));
	expect(&w, PERF_RECORD_MISC_USER, CHAIN_DEFERRED, bare[0], 2);
	expect_end(&w);
	deferred_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_part_it),
		cmocka_unit_test(noise_hides_all_of_it),
		cmocka_unit_test(what_was_deferred_comes_last),
		cmocka_unit_test(a_deferred_part_leads_no_further),
		cmocka_unit_test(a_cookie_may_look_like_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
