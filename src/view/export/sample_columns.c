/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of samples. */
#include "view/export/sample_rows_impl.h"

bool row_time(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = row_limited(a->h->s.time);
	return row_has(a, PERF_SAMPLE_TIME);
}

bool row_event(struct sample_rows *r, const struct asked *a, u64 *v)
{
	*v = r->events.v[a->h->event];
	return true;
}

bool row_comm(struct sample_rows *r, const struct asked *a, u64 *v)
{
	char made_up[THREAD_NAME_SIZE];
	u32 *id;

	if (a->t->comm == ID_NONE) {
		*v = row_text(r->out, thread_made_up_name(a->h->s.tid, made_up));
		return true;
	}
	id = map_at(&r->comms, a->t->comm, ID_NONE - 1);
	if (*id == ID_NONE - 1)
		*id = row_text(r->out, strtab_get(r->opts.strings, a->t->comm));
	*v = *id;
	return true;
}

bool row_pid(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = a->h->s.pid;
	return row_has(a, PERF_SAMPLE_TID);
}

bool row_tid(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = a->h->s.tid;
	return row_has(a, PERF_SAMPLE_TID);
}

bool row_cpu(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = a->h->s.cpu;
	return row_has(a, PERF_SAMPLE_CPU);
}

bool row_period(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = row_limited(a->h->s.period);
	return true;
}

bool row_mode(struct sample_rows *r, const struct asked *a, u64 *v)
{
	static const char levels[NR_MODES] = { 'k', '.', 'g', 'u', 'H' };
	static const char *const names[NR_MODES] = { "kernel", "user", "guest kernel", "guest user", "hypervisor" };
	const char *at = memchr(levels, cpumode_level(a->h->cpumode), NR_MODES);
	u32 mode = at ? (u32)(at - levels) : NR_MODES - 1;

	if (!r->modes[mode]) /* 0 is the empty text */
		r->modes[mode] = row_text(r->out, names[mode]);
	*v = r->modes[mode];
	return true;
}

bool row_ip(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = a->h->s.ip;
	return row_has(a, PERF_SAMPLE_IP) && row_packet(a, SPE_HAS_ADDRESS(SPE_PC));
}

static bool is_text(u32 id, u64 *v)
{
	*v = id;
	return id != ID_NONE;
}

bool row_symbol(struct sample_rows *r, const struct asked *a, u64 *v)
{
	return is_text(row_frame(r, a->frame)->symbol, v);
}

bool row_dso(struct sample_rows *r, const struct asked *a, u64 *v)
{
	return is_text(row_frame(r, a->frame)->dso, v);
}

bool row_path(struct sample_rows *r, const struct asked *a, u64 *v)
{
	return is_text(row_frame(r, a->frame)->path, v);
}

bool row_build_id(struct sample_rows *r, const struct asked *a, u64 *v)
{
	return is_text(row_frame(r, a->frame)->build_id, v);
}

bool row_addr(struct sample_rows *r, const struct asked *a, u64 *v)
{
	const struct spe_operation *o = a->h->operation;
	bool branch = o && o->record->operation_class == SPE_BRANCH;

	(void)r;
	*v = a->h->full->addr;
	return row_has(a, PERF_SAMPLE_ADDR) && row_packet(a, SPE_HAS_ADDRESS(branch ? SPE_TARGET : SPE_VIRTUAL));
}

bool row_weight(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = row_limited(a->h->full->weight);
	return row_has(a, PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT) && row_packet(a, SPE_HAS_LATENCY(SPE_TOTAL));
}

const struct row_column sample_columns[] = {
	{ "time", PARQUET_S64, true, PART_TIME, row_time },
	{ "event", PARQUET_TEXT, false, PART_THREAD, row_event },
	{ "comm", PARQUET_TEXT, false, PART_THREAD, row_comm },
	{ "pid", PARQUET_S32, true, PART_THREAD, row_pid },
	{ "tid", PARQUET_S32, true, PART_THREAD, row_tid },
	{ "cpu", PARQUET_S32, true, PART_THREAD, row_cpu },
	{ "period", PARQUET_S64, false, PART_PERIOD, row_period },
	{ "mode", PARQUET_TEXT, false, PART_CODE, row_mode },
	{ "ip", PARQUET_U64, true, PART_CODE, row_ip },
	{ "symbol", PARQUET_TEXT, true, PART_CODE, row_symbol },
	{ "dso", PARQUET_TEXT, true, PART_CODE, row_dso },
	{ "dso_path", PARQUET_TEXT, true, PART_CODE, row_path },
	{ "build_id", PARQUET_TEXT, true, PART_CODE, row_build_id },
	{ "addr", PARQUET_U64, true, PART_DATUM, row_addr },
	{ "weight", PARQUET_S64, true, PART_LATENCY, row_weight },
	{ "stack_id", PARQUET_S64, true, PART_STACK, row_stack },
};
const u32 nr_sample_columns = ARRAY_LEN(sample_columns);
