/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of accesses to memory. */
#include "attrib/place.h"
#include "attrib/spe.h"
#include "codec/data_src.h"
#include "codec/spe.h"
#include "view/export/sample_rows_impl.h"

#define NO_TEXT (ID_NONE - 1)

/* A part of the data source in words, without the "N/A" that stand for what is not known. */
static bool words(struct sample_rows *r, const struct asked *a, enum data_src_part part, u64 *v)
{
	u64 bits = data_src_known(part, a->h->full->data_src);
	const char *s;
	u32 *id;

	if (!bits)
		return false;
	id = map_at(&r->words, (u64)part << 56 | bits, NO_TEXT);
	if (*id == NO_TEXT) {
		r->text.len = 0;
		data_src_put(part, bits, &r->text);
		while (r->text.len && r->text.p[r->text.len - 1] == ' ') /* "Remote " */
			r->text.len--;
		bytes_char(&r->text, 0);
		s = (const char *)r->text.p;
		*id = row_text(r->out, s + (*s == ' '));
	}
	*v = *id;
	return true;
}

static bool row_op(struct sample_rows *r, const struct asked *a, u64 *v)
{
	return words(r, a, DATA_SRC_OP, v);
}

static bool row_source(struct sample_rows *r, const struct asked *a, u64 *v)
{
	return words(r, a, DATA_SRC_LEVEL, v);
}

static bool row_snoop(struct sample_rows *r, const struct asked *a, u64 *v)
{
	return words(r, a, DATA_SRC_SNOOP, v);
}

static bool row_tlb(struct sample_rows *r, const struct asked *a, u64 *v)
{
	return words(r, a, DATA_SRC_TLB, v);
}

static bool row_blocked(struct sample_rows *r, const struct asked *a, u64 *v)
{
	return words(r, a, DATA_SRC_BLOCKED, v);
}

static bool row_locked(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = data_src_known(DATA_SRC_LOCKED, a->h->full->data_src) != 0;
	return *v || !data_src_part(DATA_SRC_LOCKED, a->h->full->data_src);
}

static bool row_level(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = a->h->operation ? a->h->operation->record->level : 0;
	return a->h->operation && row_packet(a, SPE_HAS_ADDRESS(SPE_PC));
}

static bool row_paddr(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	*v = a->h->full->phys_addr;
	return row_has(a, PERF_SAMPLE_PHYS_ADDR) &&
	       (a->h->operation ? row_packet(a, SPE_HAS_ADDRESS(SPE_PHYSICAL)) : *v != 0);
}

static bool latency(const struct asked *a, enum spe_counter counter, u64 *v)
{
	*v = a->h->operation ? a->h->operation->record->latency[counter] : 0;
	return a->h->operation && row_packet(a, SPE_HAS_LATENCY(counter));
}

static bool row_issue(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	return latency(a, SPE_ISSUE, v);
}

static bool row_translation(struct sample_rows *r, const struct asked *a, u64 *v)
{
	(void)r;
	return latency(a, SPE_TRANSLATION, v);
}

/* The events of the operation, as perf names them. */
static bool row_flags(struct sample_rows *r, const struct asked *a, u64 *v)
{
	u32 *id;

	if (!a->h->operation)
		return false;
	id = map_at(&r->flags, a->h->operation->record->events, NO_TEXT);
	if (*id == NO_TEXT) {
		r->text.len = 0;
		spe_events_put(a->h->operation->record->events, &r->text);
		*id = row_writer_text(r->out, (const char *)r->text.p, r->text.len);
	}
	*v = *id;
	return a->h->operation->record->events;
}

/* What the data belong to. */
static void find_data(const struct sample_rows *r, const struct asked *a, struct place *out)
{
	place_find(r->opts.dsos, a->t, a->h->cpumode, a->h->full->addr, out);
}

static bool row_data_symbol(struct sample_rows *r, const struct asked *a, u64 *v)
{
	struct place p;
	u32 *id;

	find_data(r, a, &p);
	if (p.sym == ID_NONE)
		return false;
	id = map_at(&r->data, (u64)p.dso << 32 | p.sym, NO_TEXT);
	if (*id == NO_TEXT)
		*id = row_text(r->out, dsos_symbol_name(r->opts.dsos, p.dso, p.sym));
	*v = *id;
	return true;
}

static bool row_data_dso(struct sample_rows *r, const struct asked *a, u64 *v)
{
	u32 dso = place_dso(a->t, a->h->cpumode, a->h->full->addr), *id;

	if (!dso)
		return false;
	id = map_at(&r->data, (u64)dso << 32 | ID_NONE, NO_TEXT);
	if (*id == NO_TEXT)
		*id = row_text(r->out, dsos_at(r->opts.dsos, dso)->short_name);
	*v = *id;
	return true;
}

const struct row_column memory_columns[] = {
	{ "time", PARQUET_S64, true, PART_TIME, row_time },
	{ "event", PARQUET_TEXT, false, PART_ACCESSOR, row_event },
	{ "comm", PARQUET_TEXT, false, PART_ACCESSOR, row_comm },
	{ "pid", PARQUET_S32, true, PART_ACCESSOR, row_pid },
	{ "tid", PARQUET_S32, true, PART_ACCESSOR, row_tid },
	{ "cpu", PARQUET_S32, true, PART_ACCESSOR, row_cpu },
	{ "period", PARQUET_S64, false, PART_ACCESSOR, row_period },
	{ "op", PARQUET_TEXT, true, PART_ACCESSOR, row_op },
	{ "mode", PARQUET_TEXT, false, PART_CODE, row_mode },
	{ "el", PARQUET_S32, true, PART_CODE, row_level },
	{ "pc", PARQUET_U64, true, PART_CODE, row_ip },
	{ "symbol", PARQUET_TEXT, true, PART_CODE, row_symbol },
	{ "dso", PARQUET_TEXT, true, PART_CODE, row_dso },
	{ "dso_path", PARQUET_TEXT, true, PART_CODE, row_path },
	{ "build_id", PARQUET_TEXT, true, PART_CODE, row_build_id },
	{ "vaddr", PARQUET_U64, true, PART_DATUM, row_addr },
	{ "paddr", PARQUET_U64, true, PART_DATUM, row_paddr },
	{ "data_symbol", PARQUET_TEXT, true, PART_DATUM, row_data_symbol },
	{ "data_dso", PARQUET_TEXT, true, PART_DATUM, row_data_dso },
	{ "total_lat", PARQUET_S64, true, PART_LATENCY, row_weight },
	{ "issue_lat", PARQUET_S32, true, PART_LATENCY, row_issue },
	{ "xlat_lat", PARQUET_S32, true, PART_LATENCY, row_translation },
	{ "data_source", PARQUET_TEXT, true, PART_ACCESS, row_source },
	{ "snoop", PARQUET_TEXT, true, PART_ACCESS, row_snoop },
	{ "tlb", PARQUET_TEXT, true, PART_ACCESS, row_tlb },
	{ "blocked", PARQUET_TEXT, true, PART_ACCESS, row_blocked },
	{ "locked", PARQUET_BOOL, true, PART_ACCESS, row_locked },
	{ "operation_events", PARQUET_TEXT, true, PART_ACCESS, row_flags },
	{ "stack_id", PARQUET_S64, true, PART_ACCESS, row_stack },
};
const u32 nr_memory_columns = ARRAY_LEN(memory_columns);
