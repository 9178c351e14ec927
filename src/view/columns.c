/* SPDX-License-Identifier: Apache-2.0 */
#include "view/columns.h"

#include <string.h>

static u64 number_self(const struct row_view *v)
{
	return v->row->self;
}

static u64 number_total(const struct row_view *v)
{
	return v->row->total;
}

static u64 number_samples(const struct row_view *v)
{
	return v->row->samples;
}

static u64 number_pid(const struct row_view *v)
{
	return v->row->keys[SORT_PID];
}

static u64 number_tid(const struct row_view *v)
{
	return v->row->keys[SORT_TID];
}

static u64 number_cpu(const struct row_view *v)
{
	u32 cpu = v->row->keys[SORT_CPU];

	return cpu == ID_NONE ? COLUMN_UNKNOWN : cpu;
}

/* Nanoseconds at the start of the slice. */
static u64 number_time(const struct row_view *v)
{
	return v->profile->time_base + v->row->keys[SORT_TIME] * v->profile->time_slice_ns;
}

static void text_comm(const struct row_view *v, struct bytes *out)
{
	bytes_str(out, strtab_get(v->profile->strings, v->row->keys[SORT_COMM]));
}

static void label_task(const struct row_view *v, u32 id, struct bytes *out)
{
	bytes_printf(out, "%7d:", (int)id);
	bytes_str(out, strtab_get(v->profile->strings, v->row->comm));
}

static void label_pid(const struct row_view *v, struct bytes *out)
{
	label_task(v, v->row->keys[SORT_PID], out);
}

static void label_tid(const struct row_view *v, struct bytes *out)
{
	label_task(v, v->row->keys[SORT_TID], out);
}

static void label_cpu(const struct row_view *v, struct bytes *out)
{
	u32 cpu = v->row->keys[SORT_CPU];

	if (cpu == ID_NONE)
		bytes_str(out, "-001"); /* as perf has it */
	else
		bytes_printf(out, "%03u", cpu);
}

static void label_time(const struct row_view *v, struct bytes *out)
{
	u64 ns = number_time(v);

	bytes_printf(out, "%llu.%06llu", (unsigned long long)(ns / 1000000000),
		     (unsigned long long)(ns % 1000000000 / 1000));
}

static void text_event(const struct row_view *v, struct bytes *out)
{
	u32 event = v->row->keys[SORT_EVENT];

	if (event < v->profile->evlist->events.n)
		bytes_str(out, v->profile->evlist->events.v[event].name);
}

static void text_parent(const struct row_view *v, struct bytes *out)
{
	u32 parent = v->row->keys[SORT_PARENT];

	bytes_str(out, parent ? strtab_get(v->profile->strings, parent) : "[other]");
}

static void text_dso(const struct row_view *v, struct bytes *out)
{
	const struct dso *dso = dsos_at(v->profile->dsos, v->row->keys[SORT_DSO]);

	bytes_str(out, v->long_names ? dso->path : dso->short_name);
}

static void text_symbol(const struct row_view *v, struct bytes *out)
{
	char made_up[PROFILE_MADE_UP];

	bytes_str(out, profile_frame_name(v->profile, v->row->keys[SORT_SYMBOL], made_up, sizeof(made_up)));
}

static void label_symbol(const struct row_view *v, struct bytes *out)
{
	const struct frame *frame = frames_get(v->profile->frames, v->row->keys[SORT_SYMBOL]);

	bytes_printf(out, "[%c] ", frame->level);
	text_symbol(v, out);
	if (frame->inlined)
		bytes_str(out, " (inlined)");
}

static void text_srcline(const struct row_view *v, struct bytes *out)
{
	bytes_str(out, strtab_get(v->profile->strings, v->row->keys[SORT_SRCLINE]));
}

const struct column columns[NR_COLUMNS] = {
	[COLUMN_OVERHEAD] = { "overhead", "self", "Overhead", COLUMN_PERCENT, 8, -1, number_self },
	[COLUMN_CHILDREN] = { "children", "total", "Children", COLUMN_PERCENT, 8, -1, number_total },
	[COLUMN_SAMPLES] = { "samples", "samples", "Samples", COLUMN_NUMBER, 12, -1, number_samples },
	[COLUMN_PERIOD] = { "period", "period", "Period", COLUMN_NUMBER, 12, -1, number_self },
	[COLUMN_COMM] = { "comm", "comm", "Command", COLUMN_TEXT, 0, SORT_COMM, NULL, text_comm },
	[COLUMN_PID] = { "pid", "pid", "    Pid:Command", COLUMN_NUMBER, 0, SORT_PID, number_pid, NULL, label_pid },
	[COLUMN_TID] = { "tid", "tid", "    Tid:Command", COLUMN_NUMBER, 0, SORT_TID, number_tid, NULL, label_tid },
	[COLUMN_CPU] = { "cpu", "cpu", "CPU", COLUMN_NUMBER, 3, SORT_CPU, number_cpu, NULL, label_cpu },
	[COLUMN_TIME] = { "time", "time", "Time", COLUMN_NUMBER, 12, SORT_TIME, number_time, NULL, label_time },
	[COLUMN_EVENT] = { "event", "event", "Event", COLUMN_TEXT, 0, SORT_EVENT, NULL, text_event },
	[COLUMN_PARENT] = { "parent", "parent", "Parent symbol", COLUMN_TEXT, 0, SORT_PARENT, NULL, text_parent },
	[COLUMN_DSO] = { "dso", "dso", "Shared Object", COLUMN_TEXT, 0, SORT_DSO, NULL, text_dso },
	[COLUMN_SYMBOL] = { "symbol", "symbol", "Symbol", COLUMN_TEXT, 0, SORT_SYMBOL, NULL, text_symbol,
			    label_symbol },
	[COLUMN_SRCLINE] = { "srcline", "srcline", "Source:Line", COLUMN_TEXT, 0, SORT_SRCLINE, NULL, text_srcline },
};

/* Other words that perf takes for the same. */
static const struct {
	const char *name;
	u32 column;
} spellings[] = {
	{ "sym", COLUMN_SYMBOL },     { "command", COLUMN_COMM },
	{ "sample", COLUMN_SAMPLES }, { "overhead_children", COLUMN_CHILDREN },
	{ "self", COLUMN_OVERHEAD },  { "total", COLUMN_CHILDREN },
};

static bool is_name(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && !memcmp(name, text, len);
}

u32 column_find(const char *name, size_t len)
{
	for (u32 i = 0; i < NR_COLUMNS; i++)
		if (is_name(columns[i].name, name, len))
			return i;
	for (u32 i = 0; i < ARRAY_LEN(spellings); i++)
		if (is_name(spellings[i].name, name, len))
			return spellings[i].column;
	return ID_NONE;
}

u32 column_of_key(u32 sort_key)
{
	for (u32 i = 0; i < NR_COLUMNS; i++)
		if (columns[i].sort_key == (s32)sort_key)
			return i;
	return ID_NONE;
}

double share_of(u64 part, u64 whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}
