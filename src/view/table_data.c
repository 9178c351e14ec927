/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as CSV and as JSON: the same cells, with all information about each. */
#include <math.h>
#include <string.h>

#include "view/table.h"

/* The fields of a ratio: the first one is the value. */
static const char *const ratio_fields[] = { "", "_low", "_high", "_variance", "_numerator", "_denominator" };
static const char *const share_fields[] = { "", "_percent" };

struct fields {
	const char *const *v;
	u32 n;
};

/* What a column's key is followed by in the header, one by one. */
static struct fields fields_of(const struct table_column *c)
{
	static const char *const one[] = { "" };

	switch (c->kind) {
	case CELL_SHARE:
		return (struct fields){ share_fields, ARRAY_LEN(share_fields) };
	case CELL_RATIO:
		return (struct fields){ ratio_fields, ARRAY_LEN(ratio_fields) };
	default:
		return (struct fields){ one, ARRAY_LEN(one) };
	}
}

void table_csv_header(const struct table *t, struct bytes *out)
{
	struct bytes field = { 0 };

	for (size_t k = 0; k < t->columns.n; k++) {
		const struct table_column *c = &t->columns.v[k];
		struct fields fields = fields_of(c);

		for (u32 i = 0; i < fields.n; i++) {
			field.len = 0;
			if (c->key_of)
				bytes_str(&field, c->key_of);
			if (c->key_number)
				bytes_printf(&field, "#%u", c->key_number);
			bytes_str(&field, c->key_of ? ":" : "");
			bytes_printf(&field, "%s%s%s", c->key_prefix ? c->key_prefix : "", c->key, fields.v[i]);
			bytes_str(out, k || i ? "," : "");
			bytes_csv(out, (const char *)field.p, field.len);
		}
	}
	bytes_char(out, '\n');
	bytes_free(&field);
}

static void put_real(double v, u8 decimals, struct bytes *out)
{
	if (!isfinite(v))
		return;
	if (decimals == TABLE_ALL_DECIMALS)
		bytes_real(out, v, TABLE_DIGITS);
	else
		bytes_printf(out, "%.*f", decimals, v);
}

static void put_ratio(const struct metric_value *v, struct bytes *out)
{
	const double parts[ARRAY_LEN(ratio_fields)] = { v->value, v->low, v->high, v->variance, v->num, v->den };

	for (u32 i = 0; i < ARRAY_LEN(parts); i++) {
		bytes_str(out, i ? "," : "");
		put_real(parts[i], TABLE_ALL_DECIMALS, out);
	}
}

static void put_field(const struct table_column *c, const struct cell *cell, struct bytes *out)
{
	switch (cell->kind) {
	case CELL_NONE:
		bytes_repeat(out, ',', (int)fields_of(c).n - 1);
		break;
	case CELL_COUNT:
		bytes_dec(out, cell->count);
		break;
	case CELL_CHANGE:
		bytes_printf(out, "%lld", (long long)cell->change);
		break;
	case CELL_SHARE:
		bytes_dec(out, cell->share.part);
		bytes_printf(out, ",%.4f", cell->share.percent);
		break;
	case CELL_REAL:
		put_real(cell->real, c->decimals, out);
		break;
	case CELL_RATIO:
		put_ratio(&cell->ratio, out);
		break;
	case CELL_MARK:
		bytes_char(out, cell->mark ? '1' : '0');
		break;
	case CELL_TEXT:
		if (cell->text->len)
			bytes_csv(out, (const char *)cell->text->p, cell->text->len);
		break;
	}
}

static void get(const struct table *t, const struct table_column *c, const struct table_row *r, struct bytes *raw,
		struct cell *out)
{
	raw->len = 0;
	out->kind = CELL_NONE;
	out->text = raw;
	c->get(t, c, r, out);
}

static void csv_row(const struct table *t, size_t row, struct bytes *raw, struct bytes *out)
{
	struct table_row r = { .at = row };
	struct cell cell;

	for (size_t k = 0; k < t->columns.n; k++) {
		get(t, &t->columns.v[k], &r, raw, &cell);
		if (k)
			bytes_char(out, ',');
		put_field(&t->columns.v[k], &cell, out);
	}
	bytes_char(out, '\n');
}

void table_csv_rows(const struct table *t, struct bytes *out)
{
	struct bytes raw = { 0 };

	for (size_t i = 0; i < t->nr_rows; i++)
		if (!t->wants || t->wants(t, i))
			csv_row(t, i, &raw, out);
	if (t->has_total)
		csv_row(t, TABLE_TOTAL, &raw, out);
	bytes_free(&raw);
}

static void json_ratio(const struct metric_value *v, struct json *j)
{
	json_object(j);
	json_set_real(j, "value", v->value, TABLE_DIGITS);
	json_set_real(j, "low", v->low, TABLE_DIGITS);
	json_set_real(j, "high", v->high, TABLE_DIGITS);
	json_set_real(j, "variance", v->variance, TABLE_DIGITS);
	json_set_bool(j, "doubtful", v->doubtful);
	json_set_real(j, "numerator", v->num, TABLE_DIGITS);
	json_set_real(j, "denominator", v->den, TABLE_DIGITS);
	json_object_end(j);
}

static void json_cell(const struct table_column *c, const struct cell *cell, struct json *j)
{
	switch (cell->kind) {
	case CELL_NONE:
		json_null(j);
		break;
	case CELL_COUNT:
		json_u64(j, cell->count);
		break;
	case CELL_CHANGE:
		json_s64(j, cell->change);
		break;
	case CELL_SHARE:
		json_u64(j, cell->share.part);
		break;
	case CELL_REAL:
		if (c->decimals == TABLE_ALL_DECIMALS)
			json_real(j, cell->real, TABLE_DIGITS);
		else
			json_fixed(j, cell->real, c->decimals);
		break;
	case CELL_RATIO:
		json_ratio(&cell->ratio, j);
		break;
	case CELL_MARK:
		json_bool(j, cell->mark);
		break;
	case CELL_TEXT:
		json_str(j, (const char *)cell->text->p, cell->text->len);
		break;
	}
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* How many of the objects around column a are around column b, too. */
static u32 objects_in_common(const struct table_column *a, const struct table_column *b)
{
	u32 n = 0;

	while (n < ARRAY_LEN(a->in) && a->in[n] && b && same_text(a->in[n], b->in[n]))
		n++;
	return n;
}

static u32 nr_objects(const struct table_column *c)
{
	return (c->in[0] != NULL) + (c->in[0] && c->in[1]);
}

static bool same_list(const struct table_column *a, const struct table_column *b)
{
	return a && b && a->listed && b->listed && same_text(a->key, b->key);
}

static void put_members(const struct table *t, const struct table_row *r, u32 first, struct bytes *raw, struct json *j)
{
	const struct table_column *end = t->columns.v + t->columns.n, *before = NULL;

	for (const struct table_column *c = t->columns.v + first; c < end; before = c++) {
		const struct table_column *next = c + 1 < end ? c + 1 : NULL;
		struct cell cell;

		if (r->part && !c->of_parts)
			continue;
		for (u32 i = objects_in_common(c, before); i < nr_objects(c); i++)
			json_set_object(j, c->in[i]);
		if (!same_list(before, c)) {
			if (c->foreign)
				json_key_text(j, c->key);
			else
				json_key(j, c->key);
			if (c->listed)
				json_list(j);
		}
		get(t, c, r, raw, &cell);
		json_cell(c, &cell, j);
		if (c->listed && !same_list(c, next))
			json_list_end(j);
		for (u32 i = objects_in_common(c, next); i < nr_objects(c); i++)
			json_object_end(j);
	}
}

void table_json_members(const struct table *t, const struct table_row *r, u32 first, struct json *j)
{
	struct bytes raw = { 0 };

	put_members(t, r, first, &raw, j);
	bytes_free(&raw);
}

static void json_parts(const struct table *t, size_t row, struct bytes *raw, struct json *j)
{
	struct table_part parts[TABLE_PARTS];
	u32 n = t->parts(t, row, parts);

	json_set_list(j, t->parts_key);
	for (u32 i = 0; i < n; i++) {
		json_object(j);
		t->part_json(t, row, &parts[i], j);
		put_members(t, &(struct table_row){ row, &parts[i] }, 0, raw, j);
		json_object_end(j);
	}
	json_list_end(j);
}

void table_json_rows(const struct table *t, struct json *j)
{
	struct bytes raw = { 0 };

	for (size_t i = 0; i < t->nr_rows; i++) {
		if (t->wants && !t->wants(t, i))
			continue;
		json_line(j, "");
		json_object(j);
		put_members(t, &(struct table_row){ .at = i }, 0, &raw, j);
		if (t->parts)
			json_parts(t, i, &raw, j);
		if (t->draw_json)
			t->draw_json(t, i, j);
		json_object_end(j);
	}
	bytes_free(&raw);
}
