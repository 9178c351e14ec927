/* SPDX-License-Identifier: Apache-2.0 */
/* Keys from tracepoints: which names are fields of which events, and the texts of samples. */
#include "agg/trace_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "codec/perf_abi.h"
#include "tracing_data.h"

enum { WORK = 301, REST = 302 }; /* tracepoints */

/* "state" reads otherwise in the whole than as a number, "left" is not in it by that name. */
static const char work_format[] =
	"name: work\nID: 301\n" TRACING_COMMON "\tfield:char who[8];\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int state;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:int left;\toffset:20;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"who=%s state=%s%s %d left\", REC->who, __print_symbolic(REC->state, { 0, \"R\" }, { 1, \"S\" "
	"}), "
	"REC->left ? \"+\" : \"\", REC->left\n";
static const char rest_format[] =
	"name: rest\nID: 302\n" TRACING_COMMON "\tfield:int left;\toffset:8;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"left=%d\", REC->left\n";

static const char *const formats[] = { work_format, rest_format };

struct fixture {
	struct bytes section;
	struct features features;
	struct trace_texts *texts;
	struct event events[3]; /* both, and one that is no tracepoint, although its number is one's */
};

static void begin(struct fixture *x)
{
	*x = (struct fixture){ .section = tracing_data(formats, ARRAY_LEN(formats)), .texts = trace_texts_new() };
	x->features.tracing_data = x->section.p;
	x->features.tracing_data_size = x->section.len;
	x->events[0] =
		(struct event){ .name = (char *)"sys:work", .attr = { .type = PERF_TYPE_TRACEPOINT, .config = WORK } };
	x->events[1] =
		(struct event){ .name = (char *)"sys:rest", .attr = { .type = PERF_TYPE_TRACEPOINT, .config = REST } };
	x->events[2] = (struct event){ .name = (char *)"raw", .attr = { .type = PERF_TYPE_RAW, .config = WORK } };
}

static void end(struct fixture *x)
{
	trace_texts_free(x->texts);
	bytes_free(&x->section);
}

/* A sample of work, or of rest. */
static struct bytes record(u32 id, const char *who, u32 status, u32 left)
{
	struct bytes b = { 0 };
	char name[8] = { 0 };

	memcpy(name, who, strlen(who));
	bytes_u32(&b, id);
	bytes_u32(&b, 7);
	if (id == WORK) {
		bytes_put(&b, name, sizeof(name));
		bytes_u32(&b, status);
	}
	bytes_u32(&b, left);
	return b;
}

static const char *const fields[] = { "who", "state", "left", "rest.left", "sys:work.left", "work.state", "wor.left" };

/* The text of that field; field TRACE_WHOLE: of the sample. offset tells samples apart. */
static const char *text(struct fixture *x, struct trace_keys *k, u32 event, const struct bytes *raw, u64 offset,
			u32 field)
{
	struct sample s = { .raw = raw ? raw->p : NULL, .raw_size = raw ? (u32)raw->len : 0 };
	struct hit h = { .e = &x->events[event], .event = event, .full = &s, .offset = offset };

	return trace_texts_get(x->texts, trace_keys_text(k, &h, &(struct thread_view){ 0 }, field));
}

static void test_texts(void **state)
{
	static const struct {
		u32 event, field;
		const char *text;
	} rows[] = {
		{ 0, TRACE_WHOLE, "who=ann state=S+ 5 left" },
		{ 0, 0, "ann" },
		{ 0, 1, "S+" }, /* as in the whole */
		{ 0, 2, "5" },	/* which does not name it */
		{ 0, 3, "" },	/* another event's */
		{ 0, 4, "5" },
		{ 0, 5, "S+" },
		{ 0, 6, "" }, /* no event is called that */
		{ 1, TRACE_WHOLE, "left=-3" },
		{ 1, 0, "" },
		{ 1, 2, "-3" },
		{ 1, 3, "-3" },
		{ 1, 4, "" },
		{ 2, TRACE_WHOLE, "" },
		{ 2, 0, "" },
	};
	struct bytes work = record(WORK, "ann", 1, 5), rest = record(REST, "", 0, (u32)-3);
	struct trace_keys *k;
	struct fixture x;

	(void)state;
	begin(&x);
	k = trace_keys_new(x.texts, &x.features, NULL, NULL, fields, ARRAY_LEN(fields), NULL);
	for (u32 again = 0; again < 2; again++)
		for (u32 i = 0; i < ARRAY_LEN(rows); i++)
			if (strcmp(text(&x, k, rows[i].event, rows[i].event == 1 ? &rest : &work, rows[i].event,
					rows[i].field),
				   rows[i].text) != 0)
				fail_msg("event %u, field %d", rows[i].event, (int)rows[i].field);
	assert_string_equal(text(&x, k, 0, NULL, 9, TRACE_WHOLE), ""); /* without raw data there is nothing */
	assert_string_equal(text(&x, k, 0, NULL, 9, 0), "");
	trace_keys_free(k);
	bytes_free(&work);
	bytes_free(&rest);
	end(&x);
}

/* One sample after the other: texts are those of the sample at hand, and equal ones have one number. */
static void test_samples(void **state)
{
	struct bytes a = record(WORK, "ann", 0, 0), b = record(WORK, "bob", 1, 0);
	struct trace_keys *k[2];
	struct fixture x;

	(void)state;
	begin(&x);
	for (u32 i = 0; i < 2; i++)
		k[i] = trace_keys_new(x.texts, &x.features, NULL, NULL, fields, ARRAY_LEN(fields), NULL);
	assert_string_equal(text(&x, k[0], 0, &a, 100, TRACE_WHOLE), "who=ann state=R 0 left");
	assert_string_equal(text(&x, k[0], 0, &b, 200, TRACE_WHOLE), "who=bob state=S 0 left");
	assert_string_equal(text(&x, k[0], 0, &b, 200, 1), "S");
	assert_string_equal(text(&x, k[0], 0, &a, 300, 1), "R");
	assert_ptr_equal(text(&x, k[0], 0, &a, 300, 0), text(&x, k[1], 0, &a, 300, 0));
	for (u32 i = 0; i < 2; i++)
		trace_keys_free(k[i]);
	bytes_free(&a);
	bytes_free(&b);
	end(&x);
}

static void test_missing(void **state)
{
	static const struct {
		const char *names[3];
		u32 n, missing;
	} rows[] = {
		{ { "who", "left", "state" }, 3, ID_NONE },
		{ { "who", "rest.left", "sys:work.who" }, 3, ID_NONE },
		{ { "nobody", "who" }, 2, 0 },
		{ { "who", "rest.who", "nobody" }, 3, 1 },
		{ { "who", "left", "other.left" }, 3, 2 },
		{ { "common_pid" }, 1, ID_NONE },
		{ { "" }, 1, 0 },
		{ { NULL }, 0, ID_NONE },
	};
	struct evlist l = { 0 };
	struct fixture x;

	(void)state;
	begin(&x);
	vec_push(&l.events, x.events[2]);
	assert_int_equal(trace_keys_missing(&l, &x.features, NULL, rows[0].names, 3), 0); /* no tracepoint */
	vec_push(&l.events, x.events[0]);
	assert_int_equal(trace_keys_missing(&l, &x.features, NULL, rows[0].names, 3), ID_NONE);
	assert_int_equal(trace_keys_missing(&l, &x.features, NULL, rows[1].names, 3), 1); /* rest is not recorded */
	vec_push(&l.events, x.events[1]);
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(trace_keys_missing(&l, &x.features, NULL, rows[i].names, rows[i].n), rows[i].missing);
	vec_free(&l.events);
	end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
