/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by a key of activities: the texts of that key, the sums per activity, and what makes the heavy ones heavy. */
#include "agg/activities.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agg/activity_keys.h"
#include "agg/keys.h"
#include "agg/trace_keys.h"

#define ACTIVITIES 60u /* without activity 0, which is none */
#define FUNCTIONS 10u

struct fixture {
	struct timelines t;
	u8 records[ACTIVITIES + 1][ACTIVITY_FIXED];
	struct features features;
	struct trace_keys *keys;
	struct profile p;
	struct profile_event e;
	u32 text[ACTIVITIES + 1], frame[FUNCTIONS];
};

static const char *const fields[] = { "span_id", "trace_id" };

static u32 text_of(struct trace_keys *keys, u32 activity, u32 field)
{
	struct event event = { .name = (char *)"cycles", .attr.type = PERF_TYPE_HARDWARE };

	return trace_keys_text(keys, &(struct hit){ .e = &event, .activity = activity }, &(struct thread_view){ 0 },
			       field);
}

static void begin(struct fixture *x)
{
	static const u8 order[] = { SORT_FIELD + 1, SORT_SYMBOL };
	struct dso_key key = { .kind = DSO_BPF, .path = { "app", 3 } };
	u32 dso;

	memset(x, 0, sizeof(*x));
	vec_push(&x->t.published, (struct publication){ .pid = 1 });
	vec_push(&x->t.all, (struct activity){ 0 });
	for (u32 i = 1; i <= ACTIVITIES; i++) {
		memset(x->records[i], (int)i, 24); /* its trace and its span */
		vec_push(&x->t.all, ((struct activity){ .pid = 1,
							.status = ACTIVITY_KNOWN,
							.record = { (char *)x->records[i], ACTIVITY_FIXED } }));
	}
	x->p.texts = trace_texts_new();
	x->p.dsos = dsos_new(&(struct symbol_opts){ .offline = true }, NULL);
	x->p.frames = frames_new();
	x->keys = trace_keys_new(x->p.texts, &x->features, x->p.dsos, &x->t, fields, ARRAY_LEN(fields), NULL);
	for (u32 i = 0; i <= ACTIVITIES; i++)
		x->text[i] = text_of(x->keys, i, 1);
	dso = dsos_get(x->p.dsos, &key);
	for (u32 i = 0; i < FUNCTIONS; i++)
		x->frame[i] = frames_intern(x->p.frames,
					    &(struct frame){ .dso = dso, .sym = ID_NONE, .addr = i, .level = '.' });
	profile_sort_by(&x->p, order, ARRAY_LEN(order));
}

static void end(struct fixture *x)
{
	for (size_t i = 0; i < x->e.rows.n; i++)
		free((void *)x->e.rows.v[i].keys);
	vec_free(&x->e.rows);
	trace_keys_free(x->keys);
	trace_texts_free(x->p.texts);
	frames_free(x->p.frames);
	dsos_free(x->p.dsos);
	vec_free(&x->t.all);
	vec_free(&x->t.published);
}

/* Rows come by weight, the heaviest first. */
static void add_row(struct fixture *x, u32 activity, u32 function, u64 self, u64 samples)
{
	u64 *keys = mem_zalloc(2 * sizeof(*keys));

	keys[0] = x->text[activity];
	keys[1] = x->frame[function];
	vec_push(&x->e.rows,
		 (struct row){ .self = self, .samples = samples, .keys = keys, .frame = x->frame[function] });
}

/* Each activity has its text, whichever worker asks, and however often. */
static void test_texts(void **state)
{
	struct trace_keys *other;
	struct fixture x;

	(void)state;
	begin(&x);
	other = trace_keys_new(x.p.texts, &x.features, x.p.dsos, &x.t, fields, ARRAY_LEN(fields), NULL);
	assert_string_equal(trace_texts_get(x.p.texts, x.text[0]), ACTIVITY_NOTHING);
	assert_string_equal(trace_texts_get(x.p.texts, x.text[1]), "01010101010101010101010101010101");
	assert_string_equal(trace_texts_get(x.p.texts, x.text[0x2b]), "2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b");
	assert_string_equal(trace_texts_get(x.p.texts, text_of(x.keys, 0x2b, 0)), "2b2b2b2b2b2b2b2b");
	assert_int_equal(text_of(x.keys, 0x2b, 1), x.text[0x2b]);
	assert_int_equal(text_of(other, 0x2b, 1), x.text[0x2b]);
	/* Keys of activities are fields of every recording that has some; others are no fields here. */
	assert_int_equal(trace_keys_missing(&(struct evlist){ 0 }, &x.features, &x.t, fields, 2), ID_NONE);
	assert_int_equal(trace_keys_missing(&(struct evlist){ 0 }, &x.features, NULL, fields, 2), 0);
	assert_int_equal(trace_keys_missing(&(struct evlist){ 0 }, &x.features, &x.t,
					    (const char *[]){ "trace_id", "prev_pid", "span_id" }, 3),
			 1);
	trace_keys_free(other);
	end(&x);
}

/* Sums by activity, the heaviest first; of each its hottest functions; equal ones by name. */
static void test_sums(void **state)
{
	struct activity_sums s;
	struct fixture x;

	(void)state;
	begin(&x);
	for (u32 i = 0; i < FUNCTIONS; i++) /* 90 + 80 + ... of activity 3, with more functions than are kept */
		add_row(&x, 3, i, 10 * (FUNCTIONS - 1 - i), 1);
	add_row(&x, 7, 1, 300, 30);
	add_row(&x, 9, 1, 250, 20);
	add_row(&x, 5, 4, 200, 20);
	add_row(&x, 5, 2, 50, 5);
	activities_sum(&x.p, &x.e, &s);
	assert_int_equal(s.v.n, 4);
	assert_int_equal(s.v.v[0].text, x.text[3]);
	assert_int_equal(s.v.v[0].self, 450);
	assert_int_equal(s.v.v[0].samples, FUNCTIONS);
	assert_int_equal(s.v.v[0].nr_top, ACTIVITY_TOP);
	for (u32 i = 0; i < ACTIVITY_TOP; i++) {
		assert_int_equal(s.v.v[0].top[i].frame, x.frame[i]);
		assert_int_equal(s.v.v[0].top[i].self, 90 - 10 * i);
	}
	assert_int_equal(s.v.v[1].text, x.text[7]);
	assert_int_equal(s.v.v[2].text, x.text[5]); /* 250 like the next one, and 05... comes before 09... */
	assert_int_equal(s.v.v[2].self, 250);
	assert_int_equal(s.v.v[2].samples, 25);
	assert_int_equal(s.v.v[2].nr_top, 2);
	assert_int_equal(s.v.v[2].top[1].frame, x.frame[2]);
	assert_int_equal(s.v.v[3].text, x.text[9]);
	activities_free(&s);
	x.e.rows.n = 0;
	activities_sum(&x.p, &x.e, &s);
	assert_int_equal(s.v.n, 0);
	activities_free(&s);
	x.e.rows.n = FUNCTIONS + 4;
	end(&x);
}

/* Six of sixty activities spend 40 times longer in one function; threads that work for none do not count. In another
 * function all of them are even longer. */
static void test_cause(void **state)
{
	enum { EVERYBODYS, CAUSE = 3, USED = 5 };
	struct activity_causes c;
	struct fixture x;

	(void)state;
	begin(&x);
	for (u32 i = 0; i < USED; i++)
		add_row(&x, 0, USED - 1 - i, 1000000, 1000);
	for (u32 activity = 1; activity <= ACTIVITIES; activity++)
		for (u32 k = 0; k < USED; k++) {
			u32 i = USED - 1 - k; /* in another order than they are known in */
			u64 n = i == EVERYBODYS ? 5000 : activity % 10 == 0 && i == CAUSE ? 4000 : 100;

			add_row(&x, activity, i, 10 * n, n);
		}
	activities_compare(&x.p, &x.e, 0.1, &c);
	assert_int_equal(c.nr_heavy, 6);
	assert_int_equal(c.nr_others, ACTIVITIES - 6);
	assert_int_equal(c.v.v[0].function, x.frame[CAUSE]);
	assert_in_range((u64)c.v.v[0].heavy, 38000, 42000);
	assert_in_range((u64)c.v.v[0].others, 900, 1100);
	assert_true(c.v.v[0].errors > 10);
	assert_in_range((u64)c.others, 52000, 56000);
	for (size_t i = 1; i < c.v.n; i++)
		assert_true(c.v.v[i].errors < 4 && c.v.v[i].function != x.frame[CAUSE]);
	activity_causes_free(&c);
	end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
