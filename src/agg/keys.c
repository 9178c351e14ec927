/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/keys.h"

#include <stdlib.h>
#include <string.h>

#include "agg/activity_keys.h"
#include "agg/trace_keys.h"
#include "codec/branch_flags.h"
#include "codec/data_src.h"

/* --- of the sample --- */

u32 key_comm(const struct hit *h, const struct thread_view *t)
{
	return t->comm != ID_NONE ? t->comm : COMM_UNNAMED | h->s.tid;
}

static u64 comm_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	(void)k;
	return key_comm(h, t);
}

static u64 pid_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	(void)k;
	(void)t;
	return h->s.pid;
}

static u64 tid_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	(void)k;
	(void)t;
	return h->s.tid;
}

/* Threads of which no NAMESPACES record tells have the id 0, as in perf. */
static u64 cgroup_id_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	(void)k;
	(void)h;
	return t->cgroup_ns;
}

static u64 cpu_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	(void)k;
	(void)t;
	return h->e->attr.sample_type & PERF_SAMPLE_CPU ? h->s.cpu : KEY_NONE;
}

static u64 socket_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	u64 cpu = cpu_of(k, h, t);

	return cpu < k->features->nr_cpus ? k->features->cpus[cpu].socket : KEY_NONE;
}

static u64 slice_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	(void)t;
	return k->time_slice_ns && h->s.time >= k->first_time ? (h->s.time - k->first_time) / k->time_slice_ns : 0;
}

static u64 event_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	(void)k;
	(void)t;
	return h->event;
}

static u64 addr_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	(void)k;
	(void)t;
	return h->s.ip;
}

/* Those that are one number of the whole sample. */
static u64 field_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	const struct sample *s = h->full;

	(void)t;
	switch (k->key) {
	case SORT_CGROUP:
		return s->cgroup;
	case SORT_TRANSACTION:
		return s->transaction;
	case SORT_LOCAL_WEIGHT:
	case SORT_WEIGHT:
		return s->weight;
	case SORT_LOCAL_INS_LAT:
	case SORT_INS_LAT:
		return s->var2_w;
	case SORT_P_STAGE_CYC:
		return s->var3_w;
	case SORT_CODE_PAGE_SIZE:
		return s->code_page_size;
	case SORT_DATA_PAGE_SIZE:
		return s->data_page_size;
	case SORT_DADDR:
		return s->addr;
	case SORT_PHYS_DADDR:
		return s->phys_addr;
	default:
		return KEY_NONE; /* a key whose row names this function has its case above */
	}
}

/* --- of what a load or store met; no samples of other events have any of it --- */

/* Which part it is stands above the part's own bits, so that a value says how it reads. */
#define PART_SHIFT 60
_Static_assert(SORT_BLOCKED - SORT_MEM_OP == DATA_SRC_BLOCKED - DATA_SRC_OP, "keys and parts are in one order");

static u64 access_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	enum data_src_part part = DATA_SRC_OP + (k->key - SORT_MEM_OP);

	(void)t;
	return (u64)part << PART_SHIFT | data_src_part(part, h->full->data_src);
}

static u64 activity_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	(void)k;
	(void)t;
	return h->activity;
}

static u64 trace_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	return trace_keys_text(k->trace, h, t, k->key == SORT_TRACE ? TRACE_WHOLE : k->key - SORT_FIELD);
}

/* --- of the data that it loads or stores, and of its very instruction: addresses are frames (state/frames.h) --- */

static u64 datum_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	return resolver_datum(k->resolver, t, h->cpumode, h->full->addr);
}

static u64 datum_line_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	return resolver_datum(k->resolver, t, h->cpumode, h->full->addr & ~(u64)63);
}

static u64 datum_dso_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	(void)k;
	return place_dso(t, h->cpumode, h->full->addr);
}

static u64 instruction_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	return resolver_datum(k->resolver, t, h->cpumode, h->s.ip);
}

/* Types are of variables where the datum is one, and else of what the instruction says. */
static u64 type_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	u64 addr = h->full->addr, datum = addr ? resolver_datum(k->resolver, t, h->cpumode, addr) + 1ull : 0;

	if (datum && !resolver_knows_symbol(k->resolver, (u32)(datum - 1)))
		datum = 0;
	return instruction_of(k, h, t) | datum << TYPE_DATUM_SHIFT;
}

/* --- of a branch: its ends are frames, too --- */

static u64 end_of(const struct hit_keys *k, const struct hit *h)
{
	return k->key == SORT_DSO_FROM || k->key == SORT_SYMBOL_FROM || k->key == SORT_ADDR_FROM ||
			       k->key == SORT_SRCLINE_FROM ?
		       h->branch->from :
		       h->branch->to;
}

static u64 end_dso_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	u64 addr = end_of(k, h);

	return place_dso(t, place_mode(t, addr), addr);
}

static u64 end_function_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	return resolver_branch_end(k->resolver, t, end_of(k, h), false);
}

static u64 end_address_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	return resolver_branch_end(k->resolver, t, end_of(k, h), true);
}

/* What the branch record itself says, as the kernel's bit-field has it. */
static u64 branch_flags_of(const struct hit_keys *k, const struct hit *h, const struct thread_view *t)
{
	u64 flags = h->branch->flags;

	(void)t;
	switch (k->key) {
	case SORT_MISPREDICT:
		return flags & 3; /* mispredicted, predicted; neither: not known */
	case SORT_IN_TX:
		return flags >> 2 & 1;
	case SORT_ABORT:
		return flags >> 3 & 1;
	case SORT_BRANCH_TYPE:
		return branch_type(flags);
	default:
		return branch_cycles(flags); /* SORT_CYCLES */
	}
}

/* --- order; weights are often equal, so that this runs often --- */

static int by_string(const struct profile *p, u64 x, u64 y)
{
	return strcmp(strtab_get(p->strings, (u32)x), strtab_get(p->strings, (u32)y));
}

/* -1, that of exiting threads, is the least. */
static int by_task(const struct profile *p, u64 x, u64 y)
{
	(void)p;
	return (s32)x < (s32)y ? -1 : 1;
}

/* As perf has it: the kernel's first. */
static int by_address(const struct profile *p, u64 x, u64 y)
{
	(void)p;
	return (s64)x < (s64)y ? -1 : 1;
}

/* As perf has it: what is set further up first. */
static int larger_first(const struct profile *p, u64 x, u64 y)
{
	(void)p;
	return x > y ? -1 : 1;
}

static int by_trace(const struct profile *p, u64 x, u64 y)
{
	return strcmp(trace_texts_get(p->texts, (u32)x), trace_texts_get(p->texts, (u32)y));
}

static int by_dso(const struct profile *p, u64 x, u64 y)
{
	return strcmp(dsos_at(p->dsos, (u32)x)->short_name, dsos_at(p->dsos, (u32)y)->short_name);
}

static int by_symbol(const struct profile *p, u64 x, u64 y)
{
	return profile_compare_frames(p, (u32)x, (u32)y);
}

static u64 symbol_word(const struct profile *p, u64 value)
{
	return profile_frame_word(p, (u32)value);
}

/* --- as they read --- */

static u64 number(const struct row_view *v, u64 value)
{
	(void)v;
	return value;
}

static void text_string(const struct row_view *v, u64 value, struct bytes *out)
{
	bytes_str(out, strtab_get(v->profile->strings, (u32)value));
}

static void text_trace(const struct row_view *v, u64 value, struct bytes *out)
{
	bytes_str(out, trace_texts_get(v->profile->texts, (u32)value));
}

static void text_activity(const struct row_view *v, u64 value, struct bytes *out)
{
	activity_text(v->profile->timelines, (u32)value, out);
}

static void label_task(const struct row_view *v, u64 value, struct bytes *out)
{
	bytes_printf(out, "%7d:", (int)value);
	bytes_str(out, strtab_get(v->profile->strings, v->row->comm));
}

static void label_cpu(const struct row_view *v, u64 value, struct bytes *out)
{
	(void)v;
	if (value == KEY_NONE)
		bytes_str(out, "-001"); /* as perf has it */
	else
		bytes_printf(out, "%03u", (u32)value);
}

static void label_socket(const struct row_view *v, u64 value, struct bytes *out)
{
	bytes_str(out, "   ");
	label_cpu(v, value, out);
}

/* Nanoseconds at the start of the slice. */
static u64 number_time(const struct row_view *v, u64 value)
{
	return v->profile->time_base + value * v->profile->time_slice_ns;
}

static void label_time(const struct row_view *v, u64 value, struct bytes *out)
{
	u64 ns = number_time(v, value);

	bytes_printf(out, "%llu.%06llu", (unsigned long long)(ns / 1000000000),
		     (unsigned long long)(ns % 1000000000 / 1000));
}

static void text_event(const struct row_view *v, u64 value, struct bytes *out)
{
	if (value < v->profile->evlist->events.n)
		bytes_str(out, v->profile->evlist->events.v[value].name);
}

static void text_cgroup(const struct row_view *v, u64 value, struct bytes *out)
{
	u32 path = value ? map_get(v->profile->cgroups, value) : ID_NONE;

	bytes_str(out, !value ? "N/A" : path == ID_NONE ? "unknown" : strtab_get(v->profile->strings, path));
}

static void text_cgroup_id(const struct row_view *v, u64 value, struct bytes *out)
{
	bytes_str(out, value == ID_NONE ? "0/0x0" : strtab_get(v->profile->strings, (u32)value));
}

static int by_cgroup_id(const struct profile *p, u64 x, u64 y)
{
	if (x == ID_NONE || y == ID_NONE)
		return x == ID_NONE ? -1 : 1;
	return by_string(p, x, y);
}

static void label_dso_size(const struct row_view *v, u64 value, struct bytes *out)
{
	(void)v;
	if (value)
		bytes_dec(out, value);
	else
		bytes_str(out, "unknown");
}

/* PERF_TXN_*, by perf's words for them; the bits from 32 on are the code that the program aborted with. */
static void text_transaction(const struct row_view *v, u64 value, struct bytes *out)
{
	static const struct {
		u64 bit;
		const char *word;
	} words[] = {
		{ 1, "EL " },	  { 2, "TX " },	  { 4, "SYNC " },	{ 8, "ASYNC " },
		{ 16, "RETRY " }, { 32, "CON " }, { 64, "CAP-WRITE " }, { 128, "CAP-READ " },
	};

	(void)v;
	for (u32 i = 0; i < ARRAY_LEN(words); i++)
		if (value & words[i].bit)
			bytes_str(out, words[i].word);
	if (value && !(value & 12))
		bytes_str(out, "NEITHER ");
	if (value >> 32)
		bytes_printf(out, ":%llx", (unsigned long long)(value >> 32));
}

static void label_addr(const struct row_view *v, u64 value, struct bytes *out)
{
	(void)v;
	bytes_printf(out, "%#llx", (unsigned long long)value);
}

static void label_number(const struct row_view *v, u64 value, struct bytes *out)
{
	(void)v;
	bytes_dec(out, value);
}

/* Of all samples of the row. */
static u64 number_of_all(const struct row_view *v, u64 value)
{
	return value * v->row->samples;
}

static void label_of_all(const struct row_view *v, u64 value, struct bytes *out)
{
	bytes_dec(out, number_of_all(v, value));
}

static void label_page_size(const struct row_view *v, u64 value, struct bytes *out)
{
	static const char units[] = { 0, 'K', 'M', 'G', 'T', 'P', 'E' };
	u32 unit = 0;

	(void)v;
	while (value >= 1024 && value % 1024 == 0) {
		value /= 1024;
		unit++;
	}
	if (!value)
		bytes_str(out, "N/A");
	else
		bytes_printf(out, "%llu%.1s", (unsigned long long)value, unit ? &units[unit] : "");
}

static void text_access(const struct row_view *v, u64 value, struct bytes *out)
{
	(void)v;
	data_src_put((enum data_src_part)(value >> PART_SHIFT), value, out);
}

/* "%#.16llx": reports have one in each of many rows. */
static void put_address(u64 addr, struct bytes *out)
{
	bytes_str(out, addr ? "0x" : "");
	bytes_hex_pad(out, addr, 16, '0');
}

/* Its place in its symbol; the address where no symbol holds it. As in perf a datum has an offset in any case, code
 * only behind the symbol's first byte. */
static void put_place(const struct row_view *v, u64 value, bool always_offset, struct bytes *out)
{
	const struct frame *f = frames_get(v->profile->frames, (u32)value);
	const struct symbol *s = f->sym == ID_NONE ? NULL : dsos_symbol(v->profile->dsos, f->dso, f->sym);

	if (!s) {
		put_address(f->addr, out);
		return;
	}
	bytes_str(out, dsos_symbol_name(v->profile->dsos, f->dso, f->sym));
	if (always_offset || f->addr != s->start) {
		bytes_str(out, "+0x");
		bytes_hex(out, f->addr - s->start);
	}
}

static void text_datum(const struct row_view *v, u64 value, struct bytes *out)
{
	put_place(v, value, true, out);
}

static void text_end(const struct row_view *v, u64 value, struct bytes *out)
{
	put_place(v, value, false, out);
}

static void label_end(const struct row_view *v, u64 value, struct bytes *out)
{
	frame_put_level(frames_get(v->profile->frames, (u32)value)->level, out);
	text_end(v, value, out);
}

static void label_datum(const struct row_view *v, u64 value, struct bytes *out)
{
	frame_put_level(frames_get(v->profile->frames, (u32)value)->level, out);
	text_datum(v, value, out);
}

static void text_mispredict(const struct row_view *v, u64 value, struct bytes *out)
{
	(void)v;
	bytes_str(out, value & 2 ? "N" : value & 1 ? "Y" : "N/A");
}

static void text_in_tx(const struct row_view *v, u64 value, struct bytes *out)
{
	(void)v;
	bytes_char(out, value ? 'T' : '.');
}

static void text_abort(const struct row_view *v, u64 value, struct bytes *out)
{
	(void)v;
	bytes_char(out, value ? 'A' : '.');
}

static void text_branch_type(const struct row_view *v, u64 value, struct bytes *out)
{
	const char *name = branch_type_name((u32)value, v->profile->arm64);

	if (value && !*name)
		bytes_printf(out, "%u", (u32)value);
	else
		bytes_str(out, *name ? name : "N/A");
}

/* Many CPUs do not count them. */
static void label_cycles(const struct row_view *v, u64 value, struct bytes *out)
{
	(void)v;
	if (value)
		bytes_dec(out, value);
	else
		bytes_char(out, '-');
}

static void text_address(const struct row_view *v, u64 value, struct bytes *out)
{
	(void)v;
	put_address(value, out);
}

static void text_parent(const struct row_view *v, u64 value, struct bytes *out)
{
	bytes_str(out, value ? strtab_get(v->profile->strings, (u32)value) : "[other]");
}

static void text_dso(const struct row_view *v, u64 value, struct bytes *out)
{
	const struct dso *dso = dsos_at(v->profile->dsos, (u32)value);

	bytes_str(out, v->long_names ? dso->path : dso->short_name);
}

static void text_symbol(const struct row_view *v, u64 value, struct bytes *out)
{
	char made_up[PROFILE_MADE_UP];

	bytes_str(out, profile_frame_name(v->profile, (u32)value, made_up, sizeof(made_up)));
}

static void label_symbol(const struct row_view *v, u64 value, struct bytes *out)
{
	const struct frame *frame = frames_get(v->profile->frames, (u32)value);

	frame_put_level(frame->level, out);
	text_symbol(v, value, out);
	if (frame->inlined)
		bytes_str(out, " (inlined)");
}

/* Columns: name, other name, key in JSON and CSV, header, type, least width, number, text, label. */
const struct sort_key_row sort_keys[NR_SORT_KEYS] = {
	[SORT_COMM] = { { "comm", "command", "comm", "Command", COLUMN_TEXT, 0, NULL, text_string },
			.of_hit = comm_of,
			.compare = by_string },
	[SORT_PID] = { { "pid", NULL, "pid", "    Pid:Command", COLUMN_NUMBER, 0, number, NULL, label_task,
			 .of_row = true },
		       .of_hit = pid_of,
		       .compare = by_task },
	[SORT_TID] = { { "tid", NULL, "tid", "    Tid:Command", COLUMN_NUMBER, 0, number, NULL, label_task,
			 .of_row = true },
		       .of_hit = tid_of,
		       .compare = by_task },
	[SORT_CPU] = { { "cpu", NULL, "cpu", "CPU", COLUMN_NUMBER, 3, number, NULL, label_cpu }, .of_hit = cpu_of },
	[SORT_SOCKET] = { { "socket", NULL, "socket", "Socket", COLUMN_NUMBER, 6, number, NULL, label_socket },
			  .of_hit = socket_of },
	[SORT_TIME] = { { "time", NULL, "time", "Time", COLUMN_NUMBER, 12, number_time, NULL, label_time },
			.of_hit = slice_of },
	[SORT_EVENT] = { { "event", NULL, "event", "Event", COLUMN_TEXT, 0, NULL, text_event }, .of_hit = event_of },
	[SORT_CGROUP] = { { "cgroup", NULL, "cgroup", "Cgroup", COLUMN_TEXT, 0, NULL, text_cgroup },
			  .full = true,
			  .of_hit = field_of },
	[SORT_CGROUP_ID] = { { "cgroup_id", NULL, "cgroup_id", "cgroup id (dev/inode)", COLUMN_TEXT, 0, NULL,
			       text_cgroup_id },
			     .of_hit = cgroup_id_of,
			     .compare = by_cgroup_id },
	[SORT_ADDR] = { { "addr", "ip", "addr", "Address", COLUMN_TEXT, 0, number, NULL, label_addr },
			.of_hit = addr_of,
			.compare = by_address },
	[SORT_LOCAL_WEIGHT] = { { "local_weight", NULL, "local_weight", "Local Weight", COLUMN_TEXT, 0, number, NULL,
				  label_number },
				.full = true,
				.of_hit = field_of },
	[SORT_WEIGHT] = { { "weight", NULL, "weight", "Weight", COLUMN_TEXT, 0, number_of_all, NULL, label_of_all,
			    .of_row = true },
			  .full = true,
			  .of_hit = field_of },
	[SORT_LOCAL_INS_LAT] = { { "local_ins_lat", NULL, "local_ins_lat", "Local INSTR Latency", COLUMN_TEXT, 0,
				   number, NULL, label_number },
				 .full = true,
				 .of_hit = field_of },
	[SORT_INS_LAT] = { { "ins_lat", NULL, "ins_lat", "INSTR Latency", COLUMN_TEXT, 0, number_of_all, NULL,
			     label_of_all, .of_row = true },
			   .full = true,
			   .of_hit = field_of },
	[SORT_P_STAGE_CYC] = { { "p_stage_cyc", "local_p_stage_cyc", "p_stage_cyc", "Pipeline Stage Cycle",
				 COLUMN_TEXT, 0, number, NULL, label_number },
			       .full = true,
			       .of_hit = field_of },
	[SORT_TRANSACTION] = { { "transaction", NULL, "transaction", "Transaction", COLUMN_TEXT, 0, NULL,
				 text_transaction },
			       .full = true,
			       .of_hit = field_of },
	[SORT_CODE_PAGE_SIZE] = { { "code_page_size", NULL, "code_page_size", "Code Page Size", COLUMN_TEXT, 0, number,
				    NULL, label_page_size },
				  .full = true,
				  .of_hit = field_of },
	[SORT_MEM_OP] = { { "mem_op", NULL, "mem_op", "Access", COLUMN_TEXT, 0, NULL, text_access },
			  .full = true,
			  .of_hit = access_of,
			  .compare = larger_first },
	[SORT_MEM] = { { "mem", NULL, "mem", "Memory access", COLUMN_TEXT, 0, NULL, text_access },
		       .full = true,
		       .of_hit = access_of,
		       .compare = larger_first },
	[SORT_SNOOP] = { { "snoop", NULL, "snoop", "Snoop", COLUMN_TEXT, 0, NULL, text_access },
			 .full = true,
			 .of_hit = access_of,
			 .compare = larger_first },
	[SORT_TLB] = { { "tlb", NULL, "tlb", "TLB access", COLUMN_TEXT, 0, NULL, text_access },
		       .full = true,
		       .of_hit = access_of,
		       .compare = larger_first },
	[SORT_LOCKED] = { { "locked", NULL, "locked", "Locked", COLUMN_TEXT, 0, NULL, text_access },
			  .full = true,
			  .of_hit = access_of,
			  .compare = larger_first },
	[SORT_BLOCKED] = { { "blocked", NULL, "blocked", "Blocked", COLUMN_TEXT, 0, NULL, text_access },
			   .full = true,
			   .of_hit = access_of,
			   .compare = larger_first },
	[SORT_SYMBOL_DADDR] = { { "symbol_daddr", NULL, "symbol_daddr", "Data Symbol", COLUMN_TEXT, 0, NULL,
				  text_datum, label_datum },
				.full = true,
				.of_hit = datum_of,
				.compare = by_symbol,
				.word = symbol_word },
	[SORT_DSO_DADDR] = { { "dso_daddr", NULL, "dso_daddr", "Data Object", COLUMN_TEXT, 0, NULL, text_dso },
			     .full = true,
			     .of_hit = datum_dso_of,
			     .of_value = frame_key_dso_by_name,
			     .compare = by_dso },
	[SORT_PHYS_DADDR] = { { "phys_daddr", NULL, "phys_daddr", "Data Physical Address", COLUMN_TEXT, 0, NULL,
				text_address },
			      .full = true,
			      .of_hit = field_of },
	[SORT_DCACHELINE] = { { "dcacheline", NULL, "dcacheline", "Data Cacheline", COLUMN_TEXT, 0, NULL, text_datum,
				label_datum },
			      .full = true,
			      .of_hit = datum_line_of,
			      .compare = by_symbol,
			      .word = symbol_word },
	[SORT_SYMBOL_IADDR] = { { "symbol_iaddr", NULL, "symbol_iaddr", "Code Symbol", COLUMN_TEXT, 0, NULL,
				  text_datum, label_datum },
				.full = true,
				.of_hit = instruction_of,
				.compare = by_symbol,
				.word = symbol_word },
	[SORT_SYMOFF] = { { "symoff", NULL, "symoff", "Symbol Offset", COLUMN_TEXT, 0, NULL, text_datum, label_datum },
			  .of_hit = instruction_of,
			  .compare = by_symbol,
			  .word = symbol_word },
	[SORT_DATA_PAGE_SIZE] = { { "data_page_size", NULL, "data_page_size", "Data Page Size", COLUMN_TEXT, 0, number,
				    NULL, label_page_size },
				  .full = true,
				  .of_hit = field_of },
	[SORT_DADDR] = { { "daddr", NULL, "daddr", "Data Address", COLUMN_TEXT, 0, NULL, text_address },
			 .full = true,
			 .of_hit = field_of },
	[SORT_TYPE] = { { "type", NULL, "type", "Data Type", COLUMN_TEXT, 0, NULL, text_string },
			.full = true,
			.of_hit = type_of,
			.of_value = frame_key_type,
			.compare = by_string },
	[SORT_TYPEOFF] = { { "typeoff", NULL, "typeoff", "Data Type Offset", COLUMN_TEXT, 0, NULL, text_string },
			   .full = true,
			   .of_hit = type_of,
			   .of_value = frame_key_type_offset,
			   .compare = by_string },
	[SORT_TYPECLN] = { { "typecln", NULL, "typecln", "Data Type Cacheline", COLUMN_TEXT, 0, NULL, text_string },
			   .full = true,
			   .of_hit = type_of,
			   .of_value = frame_key_type_line,
			   .compare = by_string },
	[SORT_DSO_FROM] = { { "dso_from", NULL, "dso_from", "Source Shared Object", COLUMN_TEXT, 0, NULL, text_dso },
			    .of_hit = end_dso_of,
			    .of_value = frame_key_dso_by_name,
			    .compare = by_dso },
	[SORT_DSO_TO] = { { "dso_to", NULL, "dso_to", "Target Shared Object", COLUMN_TEXT, 0, NULL, text_dso },
			  .of_hit = end_dso_of,
			  .of_value = frame_key_dso_by_name,
			  .compare = by_dso },
	[SORT_SYMBOL_FROM] = { { "symbol_from", NULL, "symbol_from", "Source Symbol", COLUMN_TEXT, 0, NULL,
				 text_symbol, label_symbol },
			       .of_hit = end_function_of,
			       .compare = by_symbol,
			       .word = symbol_word },
	[SORT_SYMBOL_TO] = { { "symbol_to", NULL, "symbol_to", "Target Symbol", COLUMN_TEXT, 0, NULL, text_symbol,
			       label_symbol },
			     .of_hit = end_function_of,
			     .compare = by_symbol,
			     .word = symbol_word },
	[SORT_ADDR_FROM] = { { "addr_from", NULL, "addr_from", "Source Address", COLUMN_TEXT, 0, NULL, text_end,
			       label_end },
			     .of_hit = end_address_of,
			     .compare = by_symbol,
			     .word = symbol_word },
	[SORT_ADDR_TO] = { { "addr_to", NULL, "addr_to", "Target Address", COLUMN_TEXT, 0, NULL, text_end, label_end },
			   .of_hit = end_address_of,
			   .compare = by_symbol,
			   .word = symbol_word },
	[SORT_SRCLINE_FROM] = { { "srcline_from", NULL, "srcline_from", "From Source:Line", COLUMN_TEXT, 0, NULL,
				  text_string },
				.of_hit = end_address_of,
				.of_value = frame_key_end_line,
				.compare = by_string },
	[SORT_SRCLINE_TO] = { { "srcline_to", NULL, "srcline_to", "To Source:Line", COLUMN_TEXT, 0, NULL,
				text_string },
			      .of_hit = end_address_of,
			      .of_value = frame_key_end_line,
			      .compare = by_string },
	[SORT_MISPREDICT] = { { "mispredict", NULL, "mispredict", "Branch Mispredicted", COLUMN_TEXT, 0, NULL,
				text_mispredict },
			      .of_hit = branch_flags_of },
	[SORT_IN_TX] = { { "in_tx", NULL, "in_tx", "Branch in transaction", COLUMN_TEXT, 0, NULL, text_in_tx },
			 .of_hit = branch_flags_of },
	[SORT_ABORT] = { { "abort", NULL, "abort", "Transaction abort", COLUMN_TEXT, 0, NULL, text_abort },
			 .of_hit = branch_flags_of },
	[SORT_BRANCH_TYPE] = { { "branch_type", NULL, "branch_type", "Branch Type", COLUMN_TEXT, 0, NULL,
				 text_branch_type },
			       .of_hit = branch_flags_of },
	[SORT_CYCLES] = { { "cycles", NULL, "cycles", "Basic Block Cycles", COLUMN_TEXT, 0, number, NULL,
			    label_cycles },
			  .of_hit = branch_flags_of },
	[SORT_PARENT] = { { "parent", NULL, "parent", "Parent symbol", COLUMN_TEXT, 0, NULL, text_parent },
			  .compare = by_string },
	[SORT_DSO] = { { "dso", NULL, "dso", "Shared Object", COLUMN_TEXT, 0, NULL, text_dso },
		       .of_frame = frame_key_dso,
		       .compare = by_dso },
	[SORT_DSO_SIZE] = { { "dso_size", NULL, "dso_size", "DSO size", COLUMN_NUMBER, 0, number, NULL,
			      label_dso_size },
			    .of_frame = frame_key_dso_size },
	[SORT_SYMBOL] = { { "symbol", "sym", "symbol", "Symbol", COLUMN_TEXT, 0, NULL, text_symbol, label_symbol },
			  .of_frame = frame_key_symbol,
			  .compare = by_symbol,
			  .word = symbol_word },
	[SORT_SYMBOL_SIZE] = { { "symbol_size", NULL, "symbol_size", "Symbol size", COLUMN_NUMBER, 0, number, NULL,
				 NULL },
			       .of_frame = frame_key_symbol_size },
	[SORT_SRCLINE] = { { "srcline", NULL, "srcline", "Source:Line", COLUMN_TEXT, 0, NULL, text_string },
			   .of_frame = frame_key_srcline,
			   .compare = by_string },
	[SORT_SRCFILE] = { { "srcfile", NULL, "srcfile", "Source File", COLUMN_TEXT, 0, NULL, text_string },
			   .of_frame = frame_key_srcfile,
			   .compare = by_string },
	[SORT_ACTIVITY] = { { "activity", NULL, "activity", "Activity", COLUMN_TEXT, 0, NULL, text_activity },
			    .of_hit = activity_of },
	[SORT_TRACE] = { { "trace", NULL, "trace", "Trace output", COLUMN_TEXT, 0, NULL, text_trace },
			 .full = true,
			 .of_hit = trace_of,
			 .compare = by_trace },
	/* Name and header are the field's: column_header, column_name_of. */
	[SORT_FIELD] = { { "FIELD", NULL, "", "", COLUMN_NUMBER, 0, NULL, text_trace },
			 .full = true,
			 .of_hit = trace_of,
			 .compare = by_trace },
};

void profile_sort_by(struct profile *p, const u8 *order, u32 n)
{
	p->nr_sort = n;
	p->sort_keys = 0;
	p->group_words = 1;
	memmove(p->sort_order, order, n);
	for (u32 i = 0; i < n; i++) {
		u32 key = order[i];

		p->sort_keys |= 1ull << MIN(key, (u32)SORT_FIELD);
		p->key_at[key] = (u8)i;
		if (!key_is_frames(key))
			p->word_of[key] = (u8)(key == SORT_COMM ? 0 : p->group_words++);
	}
}

bool profile_joins_values(const struct profile *p)
{
	for (u32 i = 0; i < p->nr_sort; i++)
		if (sort_key_row(p->sort_order[i])->of_value)
			return true;
	return false;
}

bool profile_wants_full(const struct profile *p)
{
	for (u32 i = 0; i < p->nr_sort; i++)
		if (sort_key_row(p->sort_order[i])->full)
			return true;
	return false;
}
