/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of CSV from tuples: texts of all lengths, while the writer drops its tuples and the output empties itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "view/export/row_writer.h"

#define LONGEST 80u
#define ROWS 40000u

static const struct parquet_column columns[] = {
	{ .name = "text", .kind = PARQUET_TEXT, .part = 0 },
	{ .name = "number", .kind = PARQUET_U64, .part = 1 },
	{ .name = "other", .kind = PARQUET_TEXT, .part = 1 },
};

/* The text of a row in one of the columns, of a length that is as often short as long. */
static size_t text_of(u32 row, u32 column, char text[LONGEST])
{
	size_t n = (size_t)row * (column ? 7 : 13) % LONGEST;

	for (size_t i = 0; i < n; i++)
		text[i] = (char)('a' + (row + i) % 26);
	return n;
}

/* Tuples are numbered anew when they were dropped: of all rows since then one is used again. */
static void put_row(struct row_writer *w, u32 row, u32 kept[2], bool *have)
{
	char text[LONGEST];
	u64 first = row_writer_text(w, text, text_of(row, 0, text));
	const u64 second[] = { row, row_writer_text(w, text, text_of(row, 1, text)) };
	const bool missing[] = { row % 5 == 1, row % 3 == 1 };

	if (!*have || row % 2 == 0) {
		kept[0] = row_writer_tuple(w, 0, &first, missing);
		kept[1] = row_writer_tuple(w, 1, second, missing);
	}
	*have = !row_writer_row_of(w, kept);
}

static void expect_row(FILE *f, u32 row)
{
	char line[4 * LONGEST], expected[4 * LONGEST], text[LONGEST], other[LONGEST];
	int n = row % 5 == 1 ? 0 : (int)text_of(row, 0, text), m = row % 3 == 1 ? 0 : (int)text_of(row, 1, other);
	char number[16] = "";

	if (row % 5 != 1)
		snprintf(number, sizeof(number), "%u", row);
	snprintf(expected, sizeof(expected), "%.*s,%s,%.*s\n", n, n ? text : "", number, m, m ? other : "");
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, expected);
}

static void test_rows(void **state)
{
	FILE *f = tmpfile();
	struct bytes out;
	struct row_writer *w;
	u32 kept[2], shown[ROWS];
	bool have = false;
	char head[64];

	(void)state;
	assert_non_null(f);
	bytes_to_fd(&out, fileno(f));
	w = row_writer_new(ROWS_CSV, columns, 3, &out);
	for (u32 row = 0; row < ROWS; row++) {
		shown[row] = have && row % 2 ? row - 1 : row;
		put_row(w, row, kept, &have);
	}
	assert_true(row_writer_end(w));
	assert_int_equal(bytes_flush(&out), 0);
	rewind(f);
	assert_non_null(fgets(head, sizeof(head), f));
	assert_string_equal(head, "text,number,other\n");
	for (u32 row = 0; row < ROWS; row++)
		expect_row(f, shown[row]);
	assert_null(fgets(head, sizeof(head), f));
	row_writer_free(w);
	bytes_free(&out);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
