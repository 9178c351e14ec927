/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas of metrics: their values, and how these change with each sum. */
#include "metric/expr.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define A 3.0
#define B 5.0
#define OF_ALL 11.0

/* Nodes 0 to 3 are the row's sums A and B, that of all rows, and 2. */
static struct metric_expr expr_of(u8 op, u8 left, u8 right)
{
	struct metric_expr x = { .n = 5, .root = 4 };

	x.nodes[0] = (struct expr_node){ .op = EXPR_SUM, .left = 0 };
	x.nodes[1] = (struct expr_node){ .op = EXPR_SUM, .left = 1 };
	x.nodes[2] = (struct expr_node){ .op = EXPR_TOTAL, .left = 1 };
	x.nodes[3] = (struct expr_node){ .op = EXPR_CONST, .value = 2 };
	x.nodes[4] = (struct expr_node){ .op = op, .left = left, .right = right };
	return x;
}

static double value_of(const struct metric_expr *x, double a, double b, double all, double *gradient)
{
	const double row[WINDOW_MEMBERS] = { a, b }, total[WINDOW_MEMBERS] = { 1000, all };

	return metric_expr_value(x, x->root, row, total, gradient);
}

static void expect(const struct metric_expr *x, double value, double by_a, double by_b, double by_all)
{
	double gradient[EXPR_VARS];

	assert_true(value_of(x, A, B, OF_ALL, NULL) == value);
	assert_true(value_of(x, A, B, OF_ALL, gradient) == value);
	for (u32 i = 0; i < EXPR_VARS; i++) {
		double want = i == 0 ? by_a : i == 1 ? by_b : i == WINDOW_MEMBERS + 1 ? by_all : 0;

		assert_true(fabs(gradient[i] - want) < 1e-12);
	}
}

static void test_operators(void **state)
{
	static const struct {
		u8 op, left, right;
		double value, by_a, by_b, by_all;
	} rows[] = {
		{ EXPR_ADD, 0, 1, A + B, 1, 1, 0 },
		{ EXPR_ADD, 0, 0, 2 * A, 2, 0, 0 },
		{ EXPR_SUB, 0, 1, A - B, 1, -1, 0 },
		{ EXPR_SUB, 0, 3, A - 2, 1, 0, 0 },
		{ EXPR_SUB, 3, 2, 2 - OF_ALL, 0, 0, -1 },
		{ EXPR_MUL, 0, 1, A * B, B, A, 0 },
		{ EXPR_MUL, 3, 1, 2 * B, 0, 2, 0 },
		{ EXPR_MUL, 2, 0, OF_ALL * A, OF_ALL, 0, A },
		{ EXPR_DIV, 0, 1, A / B, 1 / B, -A / (B * B), 0 },
		{ EXPR_DIV, 1, 2, B / OF_ALL, 0, 1 / OF_ALL, -B / (OF_ALL * OF_ALL) },
		{ EXPR_DIV, 3, 0, 2 / A, -2 / (A * A), 0, 0 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct metric_expr x = expr_of(rows[i].op, rows[i].left, rows[i].right);

		expect(&x, rows[i].value, rows[i].by_a, rows[i].by_b, rows[i].by_all);
	}
}

/* (A - B) / (B * all), against what a small step does. */
static void test_nested(void **state)
{
	struct metric_expr x = expr_of(EXPR_SUB, 0, 1);
	double gradient[EXPR_VARS], step = 1e-6;

	(void)state;
	x.nodes[5] = (struct expr_node){ .op = EXPR_MUL, .left = 1, .right = 2 };
	x.nodes[6] = (struct expr_node){ .op = EXPR_DIV, .left = 4, .right = 5 };
	x.n = 7;
	x.root = 6;
	assert_true(fabs(value_of(&x, A, B, OF_ALL, gradient) - (A - B) / (B * OF_ALL)) < 1e-12);
	assert_true(
		fabs((value_of(&x, A + step, B, OF_ALL, NULL) - value_of(&x, A - step, B, OF_ALL, NULL)) / (2 * step) -
		     gradient[0]) < 1e-6);
	assert_true(
		fabs((value_of(&x, A, B + step, OF_ALL, NULL) - value_of(&x, A, B - step, OF_ALL, NULL)) / (2 * step) -
		     gradient[1]) < 1e-6);
	assert_true(
		fabs((value_of(&x, A, B, OF_ALL + step, NULL) - value_of(&x, A, B, OF_ALL - step, NULL)) / (2 * step) -
		     gradient[WINDOW_MEMBERS + 1]) < 1e-6);
}

/* Events that no formula has a name of its own for: they are known by the whole text, by what stands before their
 * terms or modifiers, by the name that a PMU has for them, and by nothing that only begins like that. */
static void test_names(void **state)
{
	static const char *const events[] = { "pear/x=1/u", "plum:u", "tree/fig,x=1/u" };
	static const struct {
		const char *text;
		u32 member; /* ID_NONE: unknown */
	} rows[] = {
		{ "'pear/x=1/u'", 0 }, { "pear", 0 },	     { "plum", 1 },	  { "'plum:u'", 1 },
		{ "pea", ID_NONE },    { "pears", ID_NONE }, { "peal", ID_NONE }, { "p", ID_NONE },
		{ "plu", ID_NONE },    { "plums", ID_NONE }, { "plus", ID_NONE }, { "'plum:k'", ID_NONE },
		{ "fig", 2 },	       { "figs", ID_NONE },
	};
	struct window_group g = { .nr = 3, .events = { 0, 1, 2 }, .roles = { NR_ROLES, NR_ROLES, NR_ROLES } };
	struct evlist l = { 0 };

	(void)state;
	for (u32 i = 0; i < 3; i++)
		evlist_add(&l, &(struct attr){ .size = 128, .type = 77, .config = i }, events[i], NULL);
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct expr_fault fault;
		struct metric_expr x;
		bool known = metric_expr_parse(&x, rows[i].text, &g, &l, &fault);

		if (known != (rows[i].member != ID_NONE))
			fail_msg("%s", rows[i].text);
		if (known)
			assert_int_equal(x.members, 1u << rows[i].member);
		else
			assert_int_equal(fault.error, EXPR_UNKNOWN_NAME);
	}
	evlist_free(&l);
}

/* What is wrong with a text, and where it begins and ends. */
static void test_faults(void **state)
{
	static const struct {
		const char *text;
		enum expr_error error;
		size_t at, len;
	} rows[] = {
		{ "1+2", EXPR_FINE, 0, 0 },	     { "1+2 3+4", EXPR_SYNTAX, 4, 1 }, { "1)", EXPR_SYNTAX, 1, 1 },
		{ "(1+2", EXPR_SYNTAX, 4, 1 },	     { "1+?", EXPR_SYNTAX, 2, 1 },     { "1+'ab", EXPR_SYNTAX, 3, 2 },
		{ "2*ab", EXPR_UNKNOWN_NAME, 2, 2 },
	};
	struct window_group g = { 0 };
	struct evlist l = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct expr_fault fault;
		struct metric_expr x;

		assert_int_equal(metric_expr_parse(&x, rows[i].text, &g, &l, &fault), !rows[i].error);
		assert_int_equal(fault.error, rows[i].error);
		assert_int_equal(fault.at, rows[i].at);
		assert_int_equal(fault.len, rows[i].len);
	}
}

/* Brackets in brackets: as deep as anybody writes them, and a fault, at the one too many, where they lead on and on.
 */
static void test_deep(void **state)
{
	struct window_group g = { 0 };
	struct evlist l = { 0 };

	(void)state;
	for (u32 deep = 1; deep <= 40; deep++) {
		struct expr_fault fault;
		struct metric_expr x;
		char text[100];

		memset(text, '(', deep);
		text[deep] = '7';
		memset(text + deep + 1, ')', deep);
		text[2 * deep + 1] = 0;
		assert_int_equal(metric_expr_parse(&x, text, &g, &l, &fault), deep <= 32);
		assert_int_equal(fault.error, deep <= 32 ? EXPR_FINE : EXPR_TOO_LONG);
		if (deep > 32)
			assert_int_equal(fault.at, 32);
		else
			assert_true(metric_expr_value(&x, x.root, NULL, NULL, NULL) == 7);
	}
	/* Side by side they are none too many. */
	assert_true(metric_expr_parse(&(struct metric_expr){ 0 },
				      "((1))+((1))+((1))+((1))+((1))+((1))+((1))+((1))+((1))", &g, &l,
				      &(struct expr_fault){ 0 }));
	for (u32 n = 1; n <= 60; n++) {
		struct expr_fault fault;
		struct metric_expr x;
		char text[500] = "(1)";

		for (u32 i = 1; i < n; i++)
			strcat(text, "+(1)");
		assert_int_equal(metric_expr_parse(&x, text, &g, &l, &fault), 2 * n - 1 <= EXPR_NODES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operators), cmocka_unit_test(test_nested), cmocka_unit_test(test_names),
		cmocka_unit_test(test_faults),	  cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
