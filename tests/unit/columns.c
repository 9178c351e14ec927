/* SPDX-License-Identifier: Apache-2.0 */
/* What columns say of a row, what they are called, and keys of frames. */
#include "agg/columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "agg/cpu_modes.h"
#include "agg/keys.h"
#include "agg/weights.h"

#define NUMBER(id, view) column_number(COLUMN_##id, view)

static const u64 no_keys;

/* Two rows of the event, and one that only other events of its group have. */
struct fixture {
	struct profile p;
	struct profile_event e;
	struct weight_row weights[2];
	struct mode_weights modes[2];
	struct profile_weights w;
	struct profile_modes m;
	struct row rows[3];
};

static void begin(struct fixture *x)
{
	*x = (struct fixture){
		.weights = { [1] = { 4, 1002, 900, 30, 850 } },
		.modes = { [1] = { .of = { [MODE_KERNEL] = 10,
					   [MODE_USER] = 20,
					   [MODE_GUEST_KERNEL] = 30,
					   [MODE_GUEST_USER] = 40 } } },
		.rows = { { 5, 6, 7, 8, &no_keys, 0, ID_NONE }, { 100, 300, 9, 12, &no_keys, 0, ID_NONE }, { 0 } }
	};
	x->w.rows = x->weights;
	x->m.rows = x->modes;
	x->e.rows.v = x->rows;
	x->e.rows.n = 2;
}

static void test_values(void **state)
{
	struct fixture x;
	struct row_view v = { &x.p, &x.e, &x.rows[1], false }, first = v, others = v;

	(void)state;
	begin(&x);
	first.row = &x.rows[0];
	others.row = &x.rows[2];
	assert_int_equal(NUMBER(OVERHEAD, &v), 100);
	assert_int_equal(NUMBER(CHILDREN, &v), 300);
	assert_int_equal(NUMBER(SAMPLES, &v), 9);
	assert_int_equal(NUMBER(PERIOD, &v), 100);
	/* Nothing was measured. */
	assert_true(NUMBER(WEIGHT_MEAN, &v) == COLUMN_UNKNOWN && NUMBER(WEIGHT_P50, &v) == COLUMN_UNKNOWN);
	assert_true(NUMBER(WEIGHT_P99, &v) == COLUMN_UNKNOWN && NUMBER(WEIGHT_MAX, &v) == COLUMN_UNKNOWN);
	assert_int_equal(NUMBER(KERNEL, &v), 0);
	x.e.measured[MEASURE_WEIGHTS] = &x.w;
	x.e.measured[MEASURE_CPU_MODES] = &x.m;
	assert_int_equal(NUMBER(WEIGHT_MEAN, &v), 251); /* 250.5 */
	assert_int_equal(NUMBER(WEIGHT_P50, &v), 30);
	assert_int_equal(NUMBER(WEIGHT_P99, &v), 850);
	assert_int_equal(NUMBER(WEIGHT_MAX, &v), 900);
	assert_true(NUMBER(WEIGHT_MEAN, &first) == COLUMN_UNKNOWN); /* no sample of it has a weight */
	assert_int_equal(NUMBER(KERNEL, &v), 10);
	assert_int_equal(NUMBER(USER, &v), 20);
	assert_int_equal(NUMBER(GUEST_KERNEL, &v), 30);
	assert_int_equal(NUMBER(GUEST_USER, &v), 40);
	assert_int_equal(NUMBER(KERNEL, &first), 0);
	assert_int_equal(NUMBER(KERNEL, &others), 0);
	assert_true(NUMBER(WEIGHT_MAX, &others) == COLUMN_UNKNOWN);
}

static void check_label(u32 id, const struct row_view *v, const char *expected)
{
	struct bytes out = { 0 };

	column_label(id, v, &out);
	bytes_u8(&out, 0);
	assert_string_equal((const char *)out.p, expected);
	bytes_free(&out);
}

/* Numbers are decimal in tables; what is not known is nothing; and some keys have a form of their own. */
static void test_labels(void **state)
{
	static const u8 order[] = { SORT_CPU, SORT_SOCKET };
	struct fixture x;
	struct row_view v = { &x.p, &x.e, &x.rows[1], false };
	u64 keys[] = { 7, 2 };

	(void)state;
	begin(&x);
	profile_sort_by(&x.p, order, ARRAY_LEN(order));
	x.rows[1].keys = keys;
	check_label(COLUMN_SAMPLES, &v, "9");
	check_label(COLUMN_WEIGHT_MEAN, &v, "");
	assert_int_equal(column_number(column_of_key(SORT_CPU), &v), 7);
	assert_int_equal(column_number(column_of_key(SORT_SOCKET), &v), 2);
}

/* perf's names, and ours; nothing else is one. */
static void test_names(void **state)
{
	static const struct {
		const char *name;
		u32 id;
	} rows[] = {
		{ "overhead", COLUMN_OVERHEAD },
		{ "self", COLUMN_OVERHEAD },
		{ "overhead_children", COLUMN_CHILDREN },
		{ "children", COLUMN_CHILDREN },
		{ "total", COLUMN_CHILDREN },
		{ "overhead_sys", COLUMN_KERNEL },
		{ "overhead_us", COLUMN_USER },
		{ "overhead_guest_sys", COLUMN_GUEST_KERNEL },
		{ "overhead_guest_us", COLUMN_GUEST_USER },
		{ "sample", COLUMN_SAMPLES },
		{ "samples", COLUMN_SAMPLES },
		{ "period", COLUMN_PERIOD },
		{ "comm", COLUMN_COMM },
		{ "command", COLUMN_COMM },
		{ "sym", COLUMN_SYMBOL },
		{ "symbol", COLUMN_SYMBOL },
		{ "dso", COLUMN_DSO },
		{ "parent", COLUMN_PARENT },
		{ "trace", NR_VALUE_COLUMNS + SORT_TRACE },
		{ "overhea", ID_NONE },
		{ "overheads", ID_NONE },
		{ "", ID_NONE },
		{ "FIELD", ID_NONE }, /* which stands for names that a recording's events have */
	};
	const char *const fields[] = { "prev_pid", "next_pid" };
	const struct profile p = { .fields = fields, .nr_fields = 2 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		if (column_find(rows[i].name, strlen(rows[i].name)) != rows[i].id)
			fail_msg("%s", rows[i].name);
	assert_int_equal(column_find("comma", 4), COLUMN_COMM); /* as long as it says, not as there is text */
	assert_string_equal(column_header(&p, column_of_key(SORT_FIELD + 1)), "next_pid");
	assert_string_equal(column_json(&p, column_of_key(SORT_FIELD)), "prev_pid");
	assert_string_equal(column_header(&p, COLUMN_COMM), "Command");
	assert_string_equal(column_json(&p, COLUMN_CHILDREN), "total");
	assert_string_equal(column_header(&p, column_of_key(SORT_TRACE)), "Trace output");
	assert_false(column_is_key(COLUMN_WEIGHT_MAX) || column_is_key(NR_COLUMNS));
	assert_true(column_is_key(COLUMN_COMM) && column_is_key(NR_COLUMNS - 1));
}

static void test_shares(void **state)
{
	(void)state;
	assert_true(share_of(1, 4) == 25);
	assert_true(share_of(0, 4) == 0);
	assert_true(share_of(4, 0) == 0);
}

/* Files of one name are one; what is too large to say is the largest number that can be said. */
static void test_frames(void **state)
{
	struct strtab strings = { 0 };
	struct profile p = { .dsos = dsos_new(&(struct symbol_opts){ .offline = true }, NULL),
			     .frames = frames_new(),
			     .strings = &strings };
	struct frame_keys k = { .p = &p };
	struct dso_key key[] = { { .kind = DSO_FILE, .path = { "/a/lib", 6 } },
				 { .kind = DSO_FILE, .path = { "/b/lib", 6 } },
				 { .kind = DSO_FILE, .path = { "/a/app", 6 } } };
	u32 dso[3], code[2];
	struct frame f = { .level = '.' };

	(void)state;
	for (u32 i = 0; i < 3; i++)
		dso[i] = dsos_get(p.dsos, &key[i]);
	dsos_note_mapped(p.dsos, dso[0], 0x3000, 0);
	dsos_note_mapped(p.dsos, dso[1], 1ull << 40, 0);
	assert_int_equal(frame_key_dso_by_name(&k, dso[0]), dso[0]);
	assert_int_equal(frame_key_dso_by_name(&k, dso[1]), dso[0]);
	assert_int_equal(frame_key_dso_by_name(&k, dso[2]), dso[2]);
	f.dso = dso[0];
	assert_int_equal(frame_key_dso_size(&k, &f), 0x3000);
	f.dso = dso[1];
	assert_int_equal(frame_key_dso(&k, &f), dso[0]);
	assert_int_equal(frame_key_dso_size(&k, &f), ID_NONE - 1);
	key[0] = (struct dso_key){ .kind = DSO_BPF, .path = { "code", 4 } };
	dso[0] = dsos_get(p.dsos, &key[0]);
	dsos_add_symbol(p.dsos, dso[0], 0x100, 0x180, (struct str){ "f", 1 });
	dsos_add_symbol(p.dsos, dso[0], 0x1000, 1ull << 40, (struct str){ "large", 5 });
	f = (struct frame){ .dso = dso[0], .sym = dsos_symbol_at(p.dsos, dso[0], 0x1000), .level = '.' };
	assert_int_equal(frame_key_symbol_size(&k, &f), ID_NONE - 1);
	f = (struct frame){ .dso = dso[0], .sym = dsos_symbol_at(p.dsos, dso[0], 0x110), .level = '.', .addr = 0x110 };
	code[0] = frame_key_symbol(&k, &f);
	assert_int_equal(frame_key_symbol_size(&k, &f), 0x80);
	f.addr = 0x120; /* another address of it is the same function */
	assert_int_equal(frame_key_symbol(&k, &f), code[0]);
	f.sym = ID_NONE; /* of code without one, each address is its own */
	code[1] = frame_key_symbol(&k, &f);
	assert_int_not_equal(code[1], code[0]);
	assert_int_equal(frame_key_symbol_size(&k, &f), 0);
	f.addr = 0x130;
	assert_int_not_equal(frame_key_symbol(&k, &f), code[1]);
	/* No line is known: rows have the function instead, and no file. */
	f.sym = dsos_symbol_at(p.dsos, dso[0], 0x110);
	for (u32 i = 0; i < 2; i++) {
		f.addr = i ? 0x110 : 0;
		assert_string_equal(strtab_get(&strings, frame_key_srcline(&k, &f)), "f");
		assert_string_equal(strtab_get(&strings, frame_key_srcfile(&k, &f)), "");
	}
	assert_string_equal(strtab_get(&strings, (u32)frame_key_end_line(&k, frames_intern(p.frames, &f))), "f");
	frame_keys_free(&k);
	strtab_free(&strings);
	frames_free(p.frames);
	dsos_free(p.dsos);
}

/* Shares are as wide as perf's, numbers have room for large ones, and no header is cut. */
static void test_widths(void **state)
{
	static const u32 widths[NR_VALUE_COLUMNS] = {
		[COLUMN_OVERHEAD] = 8,	  [COLUMN_CHILDREN] = 8,     [COLUMN_KERNEL] = 8,
		[COLUMN_USER] = 8,	  [COLUMN_GUEST_KERNEL] = 9, [COLUMN_GUEST_USER] = 9,
		[COLUMN_SAMPLES] = 12,	  [COLUMN_PERIOD] = 12,	     [COLUMN_WEIGHT_MEAN] = 11,
		[COLUMN_WEIGHT_P50] = 13, [COLUMN_WEIGHT_P99] = 10,  [COLUMN_WEIGHT_MAX] = 10,
	};

	(void)state;
	for (u32 i = 0; i < NR_VALUE_COLUMNS; i++) {
		assert_int_equal(column_get(i)->width, widths[i]);
		assert_true(column_get(i)->width >= strlen(column_get(i)->header));
	}
	/* Of keys, only numbers of few digits have a width of their own. */
	for (u32 key = 0; key <= SORT_FIELD; key++) {
		u32 width = key == SORT_CPU ? 3 : key == SORT_SOCKET ? 6 : key == SORT_TIME ? 12 : 0;

		assert_int_equal(column_get(column_of_key(key))->width, width);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values), cmocka_unit_test(test_widths), cmocka_unit_test(test_labels),
		cmocka_unit_test(test_names),  cmocka_unit_test(test_shares), cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
