/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/columns.h"

#include <string.h>

#include "agg/cpu_modes.h"
#include "agg/keys.h"
#include "agg/weights.h"

static u64 number_self(const struct row_view *v, u64 value)
{
	(void)value;
	return v->row->self;
}

static u64 number_total(const struct row_view *v, u64 value)
{
	(void)value;
	return v->row->total;
}

static u64 number_samples(const struct row_view *v, u64 value)
{
	(void)value;
	return v->row->samples;
}

/* A row that only other events of a group have is one without keys. */
static const struct weight_row *weights_of(const struct row_view *v)
{
	static const struct weight_row none;
	const struct profile_weights *w = v->event->measured[MEASURE_WEIGHTS];

	return w && v->row->keys ? &w->rows[v->row - v->event->rows.v] : &none;
}

static u64 number_weight_mean(const struct row_view *v, u64 value)
{
	const struct weight_row *r = weights_of(v);

	(void)value;
	return r->n ? (r->sum + r->n / 2) / r->n : COLUMN_UNKNOWN;
}

static u64 number_weight_p50(const struct row_view *v, u64 value)
{
	const struct weight_row *r = weights_of(v);

	(void)value;
	return r->n ? r->half : COLUMN_UNKNOWN;
}

static u64 number_weight_p99(const struct row_view *v, u64 value)
{
	const struct weight_row *r = weights_of(v);

	(void)value;
	return r->n ? r->most : COLUMN_UNKNOWN;
}

static u64 number_weight_max(const struct row_view *v, u64 value)
{
	const struct weight_row *r = weights_of(v);

	(void)value;
	return r->n ? r->largest : COLUMN_UNKNOWN;
}

static u64 weight_in(const struct row_view *v, u32 mode)
{
	const struct profile_modes *m = v->event->measured[MEASURE_CPU_MODES];

	return m && v->row->keys ? m->rows[v->row - v->event->rows.v].of[mode] : 0;
}

static u64 number_kernel(const struct row_view *v, u64 value)
{
	(void)value;
	return weight_in(v, MODE_KERNEL);
}

static u64 number_user(const struct row_view *v, u64 value)
{
	(void)value;
	return weight_in(v, MODE_USER);
}

static u64 number_guest_kernel(const struct row_view *v, u64 value)
{
	(void)value;
	return weight_in(v, MODE_GUEST_KERNEL);
}

static u64 number_guest_user(const struct row_view *v, u64 value)
{
	(void)value;
	return weight_in(v, MODE_GUEST_USER);
}

#define OF_MODES .measures = MEASURE_BIT(MEASURE_CPU_MODES)
#define OF_WEIGHTS .measures = MEASURE_BIT(MEASURE_WEIGHTS)

static const struct column values[NR_VALUE_COLUMNS] = {
	[COLUMN_OVERHEAD] = { "overhead", NULL, "self", "Overhead", COLUMN_PERCENT, 8, number_self },
	[COLUMN_CHILDREN] = { "children", "overhead_children", "total", "Children", COLUMN_PERCENT, 8, number_total },
	[COLUMN_KERNEL] = { "overhead_sys", NULL, "overhead_sys", "sys", COLUMN_PERCENT, 8, number_kernel, OF_MODES },
	[COLUMN_USER] = { "overhead_us", NULL, "overhead_us", "usr", COLUMN_PERCENT, 8, number_user, OF_MODES },
	[COLUMN_GUEST_KERNEL] = { "overhead_guest_sys", NULL, "overhead_guest_sys", "guest sys", COLUMN_PERCENT, 9,
				  number_guest_kernel, OF_MODES },
	[COLUMN_GUEST_USER] = { "overhead_guest_us", NULL, "overhead_guest_us", "guest usr", COLUMN_PERCENT, 9,
				number_guest_user, OF_MODES },
	[COLUMN_SAMPLES] = { "samples", "sample", "samples", "Samples", COLUMN_NUMBER, 12, number_samples },
	[COLUMN_PERIOD] = { "period", NULL, "period", "Period", COLUMN_NUMBER, 12, number_self },
	[COLUMN_WEIGHT_MEAN] = { "weight_mean", NULL, "weight_mean", "Mean weight", COLUMN_NUMBER, 11,
				 number_weight_mean, OF_WEIGHTS },
	[COLUMN_WEIGHT_P50] = { "weight_p50", NULL, "weight_p50", "Median weight", COLUMN_NUMBER, 13,
				number_weight_p50, OF_WEIGHTS },
	[COLUMN_WEIGHT_P99] = { "weight_p99", NULL, "weight_p99", "P99 weight", COLUMN_NUMBER, 10, number_weight_p99,
				OF_WEIGHTS },
	[COLUMN_WEIGHT_MAX] = { "weight_max", NULL, "weight_max", "Max weight", COLUMN_NUMBER, 10, number_weight_max,
				OF_WEIGHTS },
};

/* More words for the same. */
static const struct {
	const char *name;
	u32 column;
} spellings[] = {
	{ "self", COLUMN_OVERHEAD },
	{ "total", COLUMN_CHILDREN },
};

const struct column *column_get(u32 id)
{
	return column_is_key(id) ? &sort_key_row(column_key(id))->column : &values[id];
}

static const char *field_name(const struct profile *p, u32 id)
{
	return column_is_key(id) && column_key(id) >= SORT_FIELD ? p->fields[column_key(id) - SORT_FIELD] : NULL;
}

const char *column_header(const struct profile *p, u32 id)
{
	const char *name = field_name(p, id);

	return name ? name : column_get(id)->header;
}

const char *column_json(const struct profile *p, u32 id)
{
	const char *name = field_name(p, id);

	return name ? name : column_get(id)->key;
}

static u64 value_of(u32 id, const struct row_view *v)
{
	return column_is_key(id) ? profile_row_key(v->profile, v->row, column_key(id)) : 0;
}

u64 column_number(u32 id, const struct row_view *v)
{
	return column_get(id)->number(v, value_of(id, v));
}

void column_text(u32 id, const struct row_view *v, struct bytes *out)
{
	column_get(id)->text(v, value_of(id, v), out);
}

void column_label(u32 id, const struct row_view *v, struct bytes *out)
{
	const struct column *c = column_get(id);

	if (c->label)
		c->label(v, value_of(id, v), out);
	else if (c->text)
		column_text(id, v, out);
	else if (column_number(id, v) != COLUMN_UNKNOWN)
		bytes_dec(out, column_number(id, v));
}

static bool is_name(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && !memcmp(name, text, len);
}

u32 column_find(const char *name, size_t len)
{
	for (u32 i = 0; i < column_of_key(SORT_FIELD); i++)
		if (is_name(column_get(i)->name, name, len) || is_name(column_get(i)->other, name, len))
			return i;
	for (u32 i = 0; i < ARRAY_LEN(spellings); i++)
		if (is_name(spellings[i].name, name, len))
			return spellings[i].column;
	return ID_NONE;
}

double share_of(u64 part, u64 whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}
