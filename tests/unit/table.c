/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of made-up cells: what each printer makes of each kind, without a profile. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "view/names.h"
#include "view/table.h"

/* A row has a name, a weight of 1000, a change and a ratio. */
struct made {
	const char *name;
	u64 weight;
	s64 change;
	double ratio;
	bool doubtful;
	u32 level;
};

static const struct made rows[] = {
	{ "one,\"two\"", 900, -5, 1.25, false, 1 },
	{ "a longer name\n", 60, 7, 2, true, 2 },
	{ "light", 40, 0, NAN, false, 2 },
};

static const struct made *row_of(const struct table *t, const struct table_row *r)
{
	static const struct made all = { "all", 1000, 2, 1.5, false, 1 };
	const struct made *of = t->form;

	return r->at == TABLE_TOTAL ? &all : &of[r->at];
}

static void get_share(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	(void)c;
	out->kind = CELL_SHARE;
	out->share.part = row_of(t, r)->weight;
	out->share.percent = (double)out->share.part / 10;
}

static void get_count(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	if (row_of(t, r)->weight <= c->what)
		return;
	out->kind = CELL_COUNT;
	out->count = row_of(t, r)->weight + c->nth;
}

static void get_change(const struct table *t, const struct table_column *c, const struct table_row *r,
		       struct cell *out)
{
	(void)c;
	out->kind = CELL_CHANGE;
	out->change = row_of(t, r)->change;
}

static void get_real(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	(void)c;
	out->kind = CELL_REAL;
	out->real = row_of(t, r)->ratio;
}

static void get_ratio(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct made *m = row_of(t, r);

	(void)c;
	out->kind = CELL_RATIO;
	out->ratio = (struct metric_value){ m->ratio, 5, 4, 0.25, 0.5, m->ratio - 0.5, m->ratio + 0.5, m->doubtful };
}

static void get_mark(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	(void)c;
	out->kind = CELL_MARK;
	out->mark = row_of(t, r)->change > 0;
}

static void get_name(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	(void)c;
	out->kind = CELL_TEXT;
	bytes_str(out->text, row_of(t, r)->name);
}

static bool heavy(const struct table *t, size_t row)
{
	const struct made *of = t->form;

	return of[row].weight >= 50;
}

static struct table made_table(void)
{
	return (struct table){ .form = rows, .nr_rows = ARRAY_LEN(rows) };
}

/* Ends the table. */
static void check(struct table *t, struct bytes *out, const char *expected)
{
	bytes_char(out, 0);
	assert_string_equal((const char *)out->p, expected);
	bytes_free(out);
	table_free(t);
}

static void check_text(struct table *t, const struct table_print *how, const char *expected)
{
	struct bytes out = { 0 };

	table_text(t, how, true, &out);
	check(t, &out, expected);
}

static void text_of_each_kind(void **state)
{
	struct table t = made_table();
	struct table_column *c;

	(void)state;
	table_column_add(&t, CELL_SHARE, "share", "Share", get_share);
	table_column_add(&t, CELL_COUNT, "count", "Count", get_count)->what = 50;
	table_column_add(&t, CELL_CHANGE, "change", "Change", get_change);
	c = table_column_add(&t, CELL_REAL, "real", "Real", get_real);
	c->decimals = 1;
	c->percent = c->sign = true;
	table_column_add(&t, CELL_RATIO, "ratio", "Ratio", get_ratio)->decimals = 2;
	table_column_add(&t, CELL_MARK, "mark", "Grew", get_mark);
	table_column_add(&t, CELL_TEXT, "name", "Name", get_name);
	check_text(&t, &(struct table_print){ .workers = 2 },
		   "#  Share  Count  Change   Real       Ratio  Grew  Name          \n"
		   "# ......  .....  ......  .....  ..........  ....  ..............\n"
		   "#\n"
		   "  90.00%    900      -5  +1.2%   1.25±0.50        one,\"two\"\n"
		   "   6.00%     60      +7  +2.0%  ~2.00±0.50   yes  a longer name?\n"
		   "   4.00%             +0      -           -        light\n");
}

static void widths_colours_and_totals(void **state)
{
	struct table t = made_table();
	struct table_column *c;

	(void)state;
	t.has_total = true;
	t.wants = heavy;
	table_column_add(&t, CELL_SHARE, "share", "Share", get_share)->least = 8;
	table_column_add(&t, CELL_RATIO, "ratio", "R", get_ratio)->bare = true;
	c = table_column_add(&t, CELL_TEXT, "name", "Name", get_name);
	c->asked = 8;
	c->name = true;
	check_text(&t, &(struct table_print){ .workers = 1, .color = true },
		   "#    Share   R  Name    \n"
		   "# ........  ..  ........\n"
		   "#\n"
		   "  \033[31m  90.00%\033[m   1  one,…wo\"\n"
		   "  \033[31m   6.00%\033[m  \033[90m~2\033[m  a lo…me?\n"
		   "   100.00%   2  all\n");
}

/* Wide rows widen the table whether or not there is a head. */
static void no_head_and_unknown_numbers(void **state)
{
	struct table t = made_table();
	struct table_column *c;
	struct bytes out = { 0 };

	(void)state;
	c = table_column_add(&t, CELL_REAL, "real", "R", get_real);
	c->decimals = 1;
	c->unknown = "unknown";
	table_column_add(&t, CELL_COUNT, "count", "Count", get_count);
	table_text(&t, &(struct table_print){ .workers = 1 }, false, &out);
	table_csv_rows(&t, &out);
	check(&t, &out,
	      "      1.2    900\n"
	      "      2.0     60\n"
	      "  unknown     40\n"
	      "1.2,900\n2.0,60\n,40\n");
}

/* A name is cut where the table is wider than its room, but not below what tells names apart. */
static void narrow_rooms(void **state)
{
	static const struct made wide[] = { { "0123456789012345678901234567890123456789", 500, 0, 0, false, 1 } };
	struct table t = { .form = wide, .nr_rows = 1 };

	(void)state;
	table_column_add(&t, CELL_SHARE, "share", "Share", get_share);
	table_column_add(&t, CELL_TEXT, "name", "Name", get_name)->name = true;
	check_text(&t, &(struct table_print){ .workers = 1, .room = 40, .no_ruler = true },
		   "#  Share  Name\n"
		   "  50.00%  012345678901234…67890123456789\n");
	t = (struct table){ .form = wide, .nr_rows = 1 };
	table_column_add(&t, CELL_TEXT, "name", "Name", get_name)->name = true;
	check_text(&t, &(struct table_print){ .workers = 1, .room = 10, .whole_names = true, .no_ruler = true },
		   "# Name\n"
		   "  0123456789012345678901234567890123456789\n");
}

static u64 number_of_name(const struct table *t, const struct table_column *c, size_t row)
{
	const struct made *of = t->form;

	(void)c;
	return strlen(of[row].name);
}

/* Names that are alike are measured once for each measuring, whichever columns there are then. */
static void alike_cells_are_measured_again(void **state)
{
	struct table t = made_table();
	struct table_text *x;
	struct table_column *c;

	(void)state;
	t.number = number_of_name;
	table_column_add(&t, CELL_COUNT, "count", "Count", get_count);
	c = table_column_add(&t, CELL_TEXT, "name", "Name", get_name);
	c->alike = true;
	x = table_text_new(&t, &(struct table_print){ .workers = 2 });
	for (u32 i = 0; i < 3; i++) {
		table_text_measure(x);
		assert_int_equal(table_text_width(x, 1), strlen("a longer name?"));
	}
	table_column_drop(&t, 0);
	table_text_measure(x);
	assert_int_equal(table_text_width(x, 0), strlen("a longer name?"));
	table_text_free(x);
	table_free(&t);
}

/* Which rows were asked for, and shown. */
struct fetched {
	u32 asked[1000], shown[1000];
};

static void fetch(const struct table *t, size_t row)
{
	struct fetched *f = (struct fetched *)t->form;

	assert_true(row < t->nr_rows);
	f->asked[row]++;
}

/* The first rows come before anything could be asked for. */
static void get_fetched(const struct table *t, const struct table_column *c, const struct table_row *r,
			struct cell *out)
{
	struct fetched *f = (struct fetched *)t->form;

	(void)c;
	f->shown[r->at]++;
	assert_int_equal(f->asked[r->at], r->at < 8 ? 0 : f->shown[r->at]);
	out->kind = CELL_COUNT;
	out->count = r->at;
}

/* Both when they are measured and when they are written, each row is asked for once, before it is shown. */
static void rows_are_asked_for(void **state)
{
	struct fetched f = { 0 };
	struct table t = { .form = &f, .nr_rows = ARRAY_LEN(f.asked), .fetch = fetch };
	struct table_text *x;
	struct bytes out = { 0 };

	(void)state;
	table_column_add(&t, CELL_COUNT, "row", "Row", get_fetched);
	x = table_text_new(&t, &(struct table_print){ .workers = 1 });
	table_text_measure(x);
	table_text_rows(x, &out);
	for (u32 i = 0; i < ARRAY_LEN(f.shown); i++)
		assert_int_equal(f.shown[i], 2);
	table_text_free(x);
	bytes_free(&out);
	table_free(&t);
}

static void joined_and_separated(void **state)
{
	for (int separated = 0; separated < 2; separated++) {
		struct table t = made_table();
		struct table_column *c;

		(void)state;
		for (u32 i = 0; i < 2; i++) {
			c = table_column_add(&t, CELL_COUNT, "count", "Count", get_count);
			c->joined = i > 0;
			c->nth = i;
			c->least = 6;
		}
		table_column_add(&t, CELL_TEXT, "name", "  Name", get_name);
		check_text(&t, &(struct table_print){ .workers = 1, .separator = separated ? ',' : 0 },
			   separated ? "# Count,Name\n"
				       "900 901,one.\"two\"\n"
				       "60 61,a longer name?\n"
				       "40 41,light\n" :
				       "#        Count    Name        \n"
				       "# ............  ..............\n"
				       "#\n"
				       "     900   901  one,\"two\"\n"
				       "      60    61  a longer name?\n"
				       "      40    41  light\n");
	}
}

static u32 two_parts(const struct table *t, size_t row, struct table_part *out)
{
	(void)t;
	for (u32 i = 0; i < 2; i++)
		out[i] = (struct table_part){ i, NULL };
	return row ? 0 : 2;
}

static void part_text(const struct table *t, size_t row, const struct table_part *part, struct bytes *out)
{
	(void)t;
	bytes_printf(out, "   part %u of %zu", part->id, row);
}

static void part_json(const struct table *t, size_t row, const struct table_part *part, struct json *j)
{
	(void)t;
	(void)row;
	json_set_u64(j, "part", part->id);
}

static void draw(const struct table *t, size_t row, u32 worker, struct bytes *out)
{
	(void)t;
	bytes_printf(out, "(%zu, %u)\n", row, worker);
}

static void draw_json(const struct table *t, size_t row, struct json *j)
{
	(void)t;
	json_set_u64(j, "drawing", row);
}

static struct table with_parts(void)
{
	struct table t = made_table();

	t.parts = two_parts;
	t.part_text = part_text;
	t.part_json = part_json;
	t.parts_key = "halves";
	t.draw = draw;
	t.draw_json = draw_json;
	table_column_add(&t, CELL_CHANGE, "change", "+/-", get_change);
	table_column_add(&t, CELL_COUNT, "count", "Count", get_count)->of_parts = true;
	table_column_add(&t, CELL_TEXT, "name", "Name", get_name)->key_of_row = true;
	return t;
}

static void parts_and_drawings(void **state)
{
	struct table t = with_parts();
	struct bytes out = { 0 };
	struct json j = { .out = &out };

	(void)state;
	check_text(&t, &(struct table_print){ .workers = 1, .no_ruler = true },
		   "# +/-  Count  Name\n"
		   "   -5    900  one,\"two\"\n"
		   "(0, 0)\n"
		   "         900   part 0 of 0\n"
		   "         900   part 1 of 0\n"
		   "   +7     60  a longer name?\n"
		   "(1, 0)\n"
		   "   +0     40  light\n"
		   "(2, 0)\n");
	t = with_parts();
	t.nr_rows = 1;
	json_list(&j);
	table_json_rows(&t, &j);
	json_list_end(&j);
	check(&t, &out,
	      "[\n{\"change\":-5,\"count\":900,\"name\":\"one,\\\"two\\\"\",\"halves\":[{\"part\":0,\"count\":900},"
	      "{\"part\":1,\"count\":900}],\"drawing\":0}]");
}

static void get_larger_in_parts(const struct table *t, const struct table_column *c, const struct table_row *r,
				struct cell *out)
{
	(void)t;
	(void)c;
	out->kind = CELL_COUNT;
	out->count = r->part ? 1234567 : 8;
}

/* Parts make columns wider, too. */
static void wide_parts(void **state)
{
	struct table t = with_parts();

	(void)state;
	t.draw = NULL;
	t.columns.v[1].get = get_larger_in_parts;
	check_text(&t, &(struct table_print){ .workers = 1, .no_ruler = true },
		   "# +/-    Count  Name\n"
		   "   -5        8  one,\"two\"\n"
		   "       1234567   part 0 of 0\n"
		   "       1234567   part 1 of 0\n"
		   "   +7        8  a longer name?\n"
		   "   +0        8  light\n");
}

static void csv(void **state)
{
	struct table t = made_table();
	struct bytes out = { 0 };

	(void)state;
	t.wants = heavy;
	t.has_total = true;
	table_column_add(&t, CELL_TEXT, "name", NULL, get_name);
	table_column_add(&t, CELL_SHARE, "share", NULL, get_share);
	table_column_add(&t, CELL_COUNT, "count", NULL, get_count)->what = 100;
	table_column_add(&t, CELL_RATIO, "ratio", NULL, get_ratio)->key_prefix = "my,";
	table_column_add(&t, CELL_REAL, "real", NULL, get_real)->decimals = TABLE_ALL_DECIMALS;
	table_column_add(&t, CELL_MARK, "mark", NULL, get_mark);
	table_csv_header(&t, &out);
	table_csv_rows(&t, &out);
	check(&t, &out,
	      "name,share,share_percent,count,\"my,ratio\",\"my,ratio_low\",\"my,ratio_high\",\"my,ratio_variance\","
	      "\"my,ratio_numerator\",\"my,ratio_denominator\",real,mark\n"
	      "\"one,\"\"two\"\"\",900,90.0000,900,1.25,0.75,1.75,0.25,5,4,1.25,0\n"
	      "a longer name?,60,6.0000,,2,1.5,2.5,0.25,5,4,2,1\n"
	      "all,1000,100.0000,1000,1.5,1,2,0.25,5,4,1.5,1\n");
}

/* Columns of one object follow each other, and of one list. */
static void json(void **state)
{
	struct table t = made_table();
	struct bytes out = { 0 };
	struct json j = { .out = &out };
	struct table_column *c;

	(void)state;
	t.nr_rows = 1;
	table_column_add(&t, CELL_COUNT, "none", NULL, get_count)->what = 5000;
	for (u32 i = 0; i < 2; i++) {
		c = table_column_add(&t, CELL_COUNT, "list", NULL, get_count);
		c->listed = true;
		c->nth = i;
	}
	for (u32 i = 0; i < 3; i++) {
		c = table_column_add(&t, CELL_MARK, i == 2 ? "\"" : "mark", NULL, get_mark);
		c->foreign = true;
		c->in[0] = i == 2 ? "other" : "outer";
		c->in[1] = i == 1 ? "inner" : NULL;
	}
	table_column_add(&t, CELL_RATIO, "ratio", NULL, get_ratio)->in[0] = "other";
	json_list(&j);
	table_json_rows(&t, &j);
	json_list_end(&j);
	check(&t, &out,
	      "[\n{\"none\":null,\"list\":[900,901],\"outer\":{\"mark\":false,\"inner\":{\"mark\":false}},"
	      "\"other\":{\"\\\"\":false,\"ratio\":{\"value\":1.25,\"low\":0.75,\"high\":1.75,\"variance\":0.25,"
	      "\"doubtful\":false,\"numerator\":5,\"denominator\":4}}}]");
}

static u32 level(const struct table *t, size_t row)
{
	const struct made *of = t->form;

	return of[row].level;
}

static void tree(void **state)
{
	struct table t = made_table();
	struct bytes out = { 0 };

	(void)state;
	t.levels = 2;
	t.level = level;
	t.wants = heavy;
	t.draw = draw;
	table_column_add(&t, CELL_SHARE, "share", "Share", get_share)->least = 7;
	table_column_add(&t, CELL_COUNT, "count", "Count", get_count)->least = 5;
	table_column_add(&t, CELL_TEXT, "name", "Names", get_name);
	assert_int_equal(table_tree_indent(&t, 1), 21);
	table_tree_text(&t, &(struct table_print){ .workers = 1 }, true, &out);
	check(&t, &out,
	      "#      Share  Count  Names\n"
	      "# .................  .................\n"
	      "#\n"
	      "   90.00%    900     one,\"two\"\n"
	      "(0, 0)\n"
	      "       6.00%     60     a longer name?\n"
	      "(1, 0)\n");
}

static void columns_can_go(void **state)
{
	struct table t = made_table();

	(void)state;
	table_column_add(&t, CELL_SHARE, "share", "Share", get_share);
	table_column_add(&t, CELL_MARK, "mark", "Grew", get_mark);
	table_column_add(&t, CELL_TEXT, "name", "Name", get_name);
	table_column_drop(&t, 0);
	table_column_drop(&t, 0);
	check_text(&t, &(struct table_print){ .workers = 1, .no_ruler = true },
		   "# Name\n  one,\"two\"\n  a longer name?\n  light\n");
}

/* Bytes are looked at eight at a time: each byte at each place of them, and of the rest. */
static void width_of_each_byte(void **state)
{
	(void)state;
	for (u32 byte = 0; byte < 256; byte++)
		for (u32 at = 0; at < 21; at++) {
			u8 text[21] = "abcdefgh\xc3\xa4klmnopqrst";

			text[at] = (u8)byte;
			assert_int_equal(name_width(text, sizeof(text)), 21 - (at != 9) - ((byte & 0xc0) == 0x80));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_each_kind),
		cmocka_unit_test(widths_colours_and_totals),
		cmocka_unit_test(no_head_and_unknown_numbers),
		cmocka_unit_test(narrow_rooms),
		cmocka_unit_test(alike_cells_are_measured_again),
		cmocka_unit_test(rows_are_asked_for),
		cmocka_unit_test(joined_and_separated),
		cmocka_unit_test(parts_and_drawings),
		cmocka_unit_test(wide_parts),
		cmocka_unit_test(csv),
		cmocka_unit_test(json),
		cmocka_unit_test(tree),
		cmocka_unit_test(columns_can_go),
		cmocka_unit_test(width_of_each_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
