/* SPDX-License-Identifier: Apache-2.0 */
/* Records as JSON. The fields with a fixed place in struct record are rows of one table; arrays and fields that differ
 * by type are written by the code below it. */
#include "cmd/dump.h"

#include "base/json.h"
#include "codec/branch_flags.h"
#include "codec/regs.h"

enum kind { F_U16, F_U32, F_S32, F_U64, F_BOOL, F_STR };

static const struct field {
	u32 type;
	const char *name;
	enum kind kind;
	size_t offset;
} fields[] = {
#define F(type, field, member, kind)                                                                                  \
	{                                                                                                             \
		PERF_RECORD_##type, field, kind, offsetof(struct record, member)                                      \
	}
#define MMAP_FIELDS(type)                                                                                             \
	F(type, "pid", mmap.pid, F_S32), F(type, "tid", mmap.tid, F_S32), F(type, "start", mmap.start, F_U64),        \
		F(type, "len", mmap.len, F_U64), F(type, "pgoff", mmap.pgoff, F_U64),                                 \
		F(type, "prot", mmap.prot, F_U32), F(type, "filename", mmap.filename, F_STR)
#define TASK_FIELDS(type)                                                                                             \
	F(type, "pid", task.pid, F_S32), F(type, "ppid", task.ppid, F_S32), F(type, "tid", task.tid, F_S32),          \
		F(type, "ptid", task.ptid, F_S32), F(type, "time", task.time, F_U64)
#define THROTTLE_FIELDS(type)                                                                                         \
	F(type, "time", throttle.time, F_U64), F(type, "id", throttle.id, F_U64),                                     \
		F(type, "stream_id", throttle.stream_id, F_U64)
	MMAP_FIELDS(MMAP),
	MMAP_FIELDS(MMAP2),
	F(MMAP2, "flags", mmap.flags, F_U32),
	F(MMAP2, "maj", mmap.maj, F_U32),
	F(MMAP2, "min", mmap.min, F_U32),
	F(MMAP2, "ino", mmap.ino, F_U64),
	F(MMAP2, "ino_generation", mmap.ino_generation, F_U64),
	F(COMM, "pid", comm.pid, F_S32),
	F(COMM, "tid", comm.tid, F_S32),
	F(COMM, "comm", comm.comm, F_STR),
	F(COMM, "exec", comm.exec, F_BOOL),
	TASK_FIELDS(FORK),
	TASK_FIELDS(EXIT),
	F(LOST, "id", lost.id, F_U64),
	F(LOST, "lost", lost.lost, F_U64),
	F(LOST_SAMPLES, "lost", lost.lost, F_U64),
	THROTTLE_FIELDS(THROTTLE),
	THROTTLE_FIELDS(UNTHROTTLE),
	F(READ, "pid", read.pid, F_S32),
	F(READ, "tid", read.tid, F_S32),
	F(AUX, "aux_offset", aux.offset, F_U64),
	F(AUX, "aux_size", aux.size, F_U64),
	F(AUX, "aux_flags", aux.flags, F_U64),
	F(ITRACE_START, "pid", itrace_start.pid, F_S32),
	F(ITRACE_START, "tid", itrace_start.tid, F_S32),
	F(SWITCH_CPU_WIDE, "next_prev_pid", sw.next_prev_pid, F_S32),
	F(SWITCH_CPU_WIDE, "next_prev_tid", sw.next_prev_tid, F_S32),
	F(NAMESPACES, "pid", namespaces.pid, F_S32),
	F(NAMESPACES, "tid", namespaces.tid, F_S32),
	F(KSYMBOL, "addr", ksymbol.addr, F_U64),
	F(KSYMBOL, "len", ksymbol.len, F_U32),
	F(KSYMBOL, "ksym_type", ksymbol.ksym_type, F_U16),
	F(KSYMBOL, "flags", ksymbol.flags, F_U16),
	F(KSYMBOL, "name", ksymbol.name, F_STR),
	F(BPF_EVENT, "bpf_type", bpf_event.type, F_U16),
	F(BPF_EVENT, "flags", bpf_event.flags, F_U16),
	F(BPF_EVENT, "id", bpf_event.id, F_U32),
	F(CGROUP, "id", cgroup.id, F_U64),
	F(CGROUP, "path", cgroup.path, F_STR),
	F(TEXT_POKE, "addr", text_poke.addr, F_U64),
	F(TEXT_POKE, "old_len", text_poke.old_len, F_U16),
	F(TEXT_POKE, "new_len", text_poke.new_len, F_U16),
	F(AUX_OUTPUT_HW_ID, "hw_id", aux_output_hw_id.hw_id, F_U64),
	F(CALLCHAIN_DEFERRED, "cookie", callchain_deferred.cookie, F_U64),
	F(TLS_USER, "cookie", tls_user.cookie, F_U64),
	F(HEADER_EVENT_TYPE, "id", event_type.id, F_U64),
	F(HEADER_EVENT_TYPE, "name", event_type.name, F_STR),
	F(EVENT_UPDATE, "update", event_update.type, F_U64),
	F(EVENT_UPDATE, "id", event_update.id, F_U64),
	F(HEADER_TRACING_DATA, "bytes", tracing_data.size, F_U32),
	F(HEADER_BUILD_ID, "pid", build_id.pid, F_S32),
	F(HEADER_BUILD_ID, "filename", build_id.filename, F_STR),
	F(ID_INDEX, "nr", id_index.nr, F_U64),
	F(AUXTRACE_INFO, "auxtrace_type", auxtrace_info.type, F_U32),
	F(AUXTRACE, "bytes", auxtrace.size, F_U64),
	F(AUXTRACE, "aux_offset", auxtrace.offset, F_U64),
	F(AUXTRACE, "reference", auxtrace.reference, F_U64),
	F(AUXTRACE, "idx", auxtrace.idx, F_U32),
	F(AUXTRACE, "tid", auxtrace.tid, F_S32),
	F(AUXTRACE, "cpu", auxtrace.cpu, F_S32),
	F(AUXTRACE_ERROR, "error_type", auxtrace_error.type, F_U32),
	F(AUXTRACE_ERROR, "code", auxtrace_error.code, F_U32),
	F(AUXTRACE_ERROR, "cpu", auxtrace_error.cpu, F_S32),
	F(AUXTRACE_ERROR, "pid", auxtrace_error.pid, F_S32),
	F(AUXTRACE_ERROR, "tid", auxtrace_error.tid, F_S32),
	F(AUXTRACE_ERROR, "ip", auxtrace_error.ip, F_U64),
	F(AUXTRACE_ERROR, "time", auxtrace_error.time, F_U64),
	F(AUXTRACE_ERROR, "msg", auxtrace_error.msg, F_STR),
	F(TIME_CONV, "time_shift", time_conv.shift, F_U64),
	F(TIME_CONV, "time_mult", time_conv.mult, F_U64),
	F(TIME_CONV, "time_zero", time_conv.zero, F_U64),
	F(TIME_CONV, "time_cycles", time_conv.cycles, F_U64),
	F(TIME_CONV, "time_mask", time_conv.mask, F_U64),
	F(TIME_CONV, "cap_user_time_zero", time_conv.cap_zero, F_BOOL),
	F(TIME_CONV, "cap_user_time_short", time_conv.cap_short, F_BOOL),
	F(HEADER_FEATURE, "feature", feature.id, F_U64),
	F(COMPRESSED, "bytes", compressed.size, F_U64),
	F(COMPRESSED2, "bytes", compressed.size, F_U64),
	F(STAT, "id", stat.id, F_U64),
	F(STAT, "cpu", stat.cpu, F_S32),
	F(STAT, "thread", stat.thread, F_S32),
	F(STAT, "value", stat.value, F_U64),
	F(STAT, "time_enabled", stat.time_enabled, F_U64),
	F(STAT, "time_running", stat.time_running, F_U64),
	F(STAT_ROUND, "round_type", stat_round.type, F_U64),
	F(STAT_ROUND, "time", stat_round.time, F_U64),
	F(BPF_METADATA, "prog_name", bpf_metadata.prog_name, F_STR),
	F(BPF_METADATA, "nr", bpf_metadata.nr, F_U64),
#undef F
#undef MMAP_FIELDS
#undef TASK_FIELDS
#undef THROTTLE_FIELDS
};

static void put_u64s(struct json *j, const char *name, const struct u64s *a)
{
	json_set_list(j, name);
	for (u32 i = 0; i < a->n; i++)
		json_u64(j, u64s_at(a, i));
	json_list_end(j);
}

static void put_field(const struct field *f, const struct record *r, struct json *j)
{
	const void *p = (const char *)r + f->offset;
	const struct str *s = p;

	switch (f->kind) {
	case F_U16:
		json_set_u64(j, f->name, *(const u16 *)p);
		break;
	case F_U32:
		json_set_u64(j, f->name, *(const u32 *)p);
		break;
	case F_S32:
		json_set_s64(j, f->name, *(const s32 *)p);
		break;
	case F_U64:
		json_set_u64(j, f->name, *(const u64 *)p);
		break;
	case F_BOOL:
		json_set_bool(j, f->name, *(const bool *)p);
		break;
	case F_STR:
		json_set_str(j, f->name, s->p, s->len);
		break;
	}
}

static void put_namespaces(const struct record *r, struct json *j)
{
	const struct u64s *pairs = &r->namespaces.dev_inode;

	json_set_list(j, "namespaces");
	for (u32 i = 0; i + 1 < pairs->n; i += 2) {
		json_object(j);
		json_set_u64(j, "dev", u64s_at(pairs, i));
		json_set_u64(j, "inode", u64s_at(pairs, i + 1));
		json_object_end(j);
	}
	json_list_end(j);
}

static void put_update(const struct record *r, struct json *j)
{
	struct cursor c = r->event_update.data;
	struct str s = cursor_text(&c, cursor_left(&c));

	if (r->event_update.type == 0 || r->event_update.type == 2)
		json_set_str(j, "text", s.p, s.len);
}

static void put_attr(const struct record *r, struct json *j)
{
	json_set_object(j, "attr");
	attr_print_json(&r->header_attr.attr, j);
	json_object_end(j);
	put_u64s(j, "ids", &r->header_attr.ids);
}

static void put_thread_map(const struct record *r, struct json *j)
{
	struct cursor c = r->thread_map.entries;

	json_set_list(j, "threads");
	for (u64 i = 0; i < r->thread_map.nr && cursor_left(&c); i++) {
		u64 pid = cursor_u64(&c);
		struct str comm = cursor_text(&c, 16);

		json_object(j);
		json_set_s64(j, "pid", (s64)pid);
		json_set_str(j, "comm", comm.p, comm.len);
		json_object_end(j);
	}
	json_list_end(j);
}

/* What the table has no kind for. */
static void put_special(const struct record *r, struct json *j)
{
	switch (r->h.type) {
	case PERF_RECORD_MMAP2:
		if (r->mmap.build_id_size)
			json_set_hex(j, "build_id", r->mmap.build_id, r->mmap.build_id_size);
		break;
	case PERF_RECORD_HEADER_BUILD_ID:
		json_set_hex(j, "build_id", r->build_id.build_id, r->build_id.size);
		break;
	case PERF_RECORD_READ:
		json_set_hex(j, "values", r->read.values.p, cursor_left(&r->read.values));
		break;
	case PERF_RECORD_THREAD_MAP:
		put_thread_map(r, j);
		break;
	case PERF_RECORD_CPU_MAP:
		json_set_u64(j, "map_type", r->cpu_map.type);
		json_set_hex(j, "map", r->cpu_map.data.p, cursor_left(&r->cpu_map.data));
		break;
	case PERF_RECORD_STAT_CONFIG:
		put_u64s(j, "terms", &r->stat_config.terms);
		break;
	case PERF_RECORD_NAMESPACES:
		put_namespaces(r, j);
		break;
	case PERF_RECORD_BPF_EVENT:
		json_set_hex(j, "tag", r->bpf_event.tag, sizeof(r->bpf_event.tag));
		break;
	case PERF_RECORD_TEXT_POKE:
		json_set_hex(j, "text", r->text_poke.bytes, (size_t)r->text_poke.old_len + r->text_poke.new_len);
		break;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		put_u64s(j, "callchain", &r->callchain_deferred.ips);
		break;
	case PERF_RECORD_TLS_USER:
		json_set_hex(j, "tls_user", r->tls_user.bytes.p, (size_t)r->tls_user.dyn_size);
		break;
	case PERF_RECORD_HEADER_ATTR:
		put_attr(r, j);
		break;
	case PERF_RECORD_EVENT_UPDATE:
		put_update(r, j);
		break;
	case PERF_RECORD_AUXTRACE_INFO:
		put_u64s(j, "priv", &r->auxtrace_info.priv);
		break;
	case PERF_RECORD_ID_INDEX:
		put_u64s(j, "entries", &r->id_index.entries);
		break;
	case PERF_RECORD_HEADER_FEATURE:
		if (r->feature.id < FEAT_MAX && feature_name((u32)r->feature.id))
			json_set_text(j, "name", feature_name((u32)r->feature.id));
		json_set_u64(j, "bytes", cursor_left(&r->feature.data));
		break;
	default:
		break;
	}
}

static void put_sample_id(const struct sample_id *id, struct json *j)
{
	const struct {
		u64 bit;
		const char *name;
		s64 value;
	} rows[] = {
		{ PERF_SAMPLE_TID, "pid", (s32)id->pid },
		{ PERF_SAMPLE_TID, "tid", (s32)id->tid },
		{ PERF_SAMPLE_CPU, "cpu", (s32)id->cpu },
		{ PERF_SAMPLE_TIME, "time", (s64)id->time },
		{ PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER, "id", (s64)id->id },
		{ PERF_SAMPLE_STREAM_ID, "stream_id", (s64)id->stream_id },
	};
	u64 known = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		known |= id->has & rows[i].bit;
	if (!known)
		return;
	json_set_object(j, "sample_id");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!(id->has & rows[i].bit))
			continue;
		json_key(j, rows[i].name);
		if (i < 3)
			json_s64(j, rows[i].value);
		else
			json_u64(j, (u64)rows[i].value);
	}
	json_object_end(j);
}

static void put_read(const struct read_values *v, u64 format, struct json *j)
{
	json_set_object(j, "read");
	json_set_list(j, "values");
	for (u32 i = 0; i < v->nr; i++) {
		json_object(j);
		json_set_u64(j, "value", read_value(v, i));
		if (v->has_id)
			json_set_u64(j, "id", read_id(v, i));
		if (v->has_lost)
			json_set_u64(j, "lost", read_lost(v, i));
		json_object_end(j);
	}
	json_list_end(j);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		json_set_u64(j, "time_enabled", v->time_enabled);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		json_set_u64(j, "time_running", v->time_running);
	json_object_end(j);
}

static void set_known(struct json *j, const char *key, const char *name)
{
	if (*name)
		json_set_text(j, key, name);
}

static void put_branches(const struct sample *s, bool arm64, struct json *j)
{
	if (s->has_hw_idx)
		json_set_s64(j, "hw_idx", (s64)s->hw_idx);
	json_set_list(j, "branches");
	for (u32 i = 0; i < s->nr_branches; i++) {
		struct branch_entry b = sample_branch(s, i);

		json_object(j);
		json_set_u64(j, "from", b.from);
		json_set_u64(j, "to", b.to);
		json_set_u64(j, "flags", b.flags);
		set_known(j, "type", branch_type_name(branch_type(b.flags), arm64));
		set_known(j, "spec", branch_spec_name(branch_spec(b.flags)));
		set_known(j, "priv", branch_priv_name(branch_priv(b.flags)));
		if (i < s->branch_counters.n)
			json_set_u64(j, "counters", u64s_at(&s->branch_counters, i));
		json_object_end(j);
	}
	json_list_end(j);
}

static void put_sample(const struct source *src, const struct dump_record *d, struct json *j)
{
	const struct sample *s = &d->s;
	const struct {
		u64 bit;
		const char *name;
		u64 value;
	} numbers[] = {
		{ PERF_SAMPLE_IP, "ip", s->ip },
		{ PERF_SAMPLE_TIME, "time", s->time },
		{ PERF_SAMPLE_ADDR, "addr", s->addr },
		{ PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER, "id", s->id },
		{ PERF_SAMPLE_STREAM_ID, "stream_id", s->stream_id },
		{ PERF_SAMPLE_PERIOD, "period", s->period },
		{ PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, "weight", s->weight },
		{ PERF_SAMPLE_WEIGHT_STRUCT, "weight2", s->var2_w },
		{ PERF_SAMPLE_WEIGHT_STRUCT, "weight3", s->var3_w },
		{ PERF_SAMPLE_DATA_SRC, "data_src", s->data_src },
		{ PERF_SAMPLE_TRANSACTION, "transaction", s->transaction },
		{ PERF_SAMPLE_PHYS_ADDR, "phys_addr", s->phys_addr },
		{ PERF_SAMPLE_CGROUP, "cgroup", s->cgroup },
		{ PERF_SAMPLE_DATA_PAGE_SIZE, "data_page_size", s->data_page_size },
		{ PERF_SAMPLE_CODE_PAGE_SIZE, "code_page_size", s->code_page_size },
	};

	const u8 *tls;
	u32 n;

	tls = sample_tls(s, &n);
	if (s->has & PERF_SAMPLE_TID) {
		json_set_s64(j, "pid", (s32)s->pid);
		json_set_s64(j, "tid", (s32)s->tid);
	}
	if (s->has & PERF_SAMPLE_CPU)
		json_set_s64(j, "cpu", (s32)s->cpu);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (s->has & numbers[i].bit)
			json_set_u64(j, numbers[i].name, numbers[i].value);
	if (s->has & PERF_SAMPLE_READ)
		put_read(&s->read, d->event->layout.read_format, j);
	if (s->has & PERF_SAMPLE_CALLCHAIN)
		put_u64s(j, "callchain", &s->chain);
	if (s->has & PERF_SAMPLE_RAW)
		json_set_hex(j, "raw", s->raw, s->raw_size);
	if (s->has & PERF_SAMPLE_BRANCH_STACK)
		put_branches(s, regs_arch_of(src->features.arch) == REGS_ARM64, j);
	if (s->has & PERF_SAMPLE_REGS_USER)
		put_u64s(j, "regs_user", &s->regs_user);
	if (s->has & PERF_SAMPLE_STACK_USER)
		json_set_u64(j, "stack_user_size", s->stack_user_dyn_size);
	if (s->has & PERF_SAMPLE_REGS_INTR)
		put_u64s(j, "regs_intr", &s->regs_intr);
	if (s->has & PERF_SAMPLE_TLS_USER)
		json_set_hex(j, "tls_user", tls, n);
	if (d->event->layout.tls_defers)
		json_set_u64(j, "tls_cookie", s->tls_cookie);
	if (s->has & PERF_SAMPLE_AUX)
		json_set_u64(j, "aux_size", s->aux_size);
}

void dump_json(const struct source *src, const struct dump_record *d, struct bytes *out)
{
	const struct record_header *h = &d->at.h;
	const struct record_kind *kind = record_kind(h->type);
	struct json json = { .out = out }, *j = &json;

	json_object(j);
	json_set_u64(j, "offset", d->offset);
	json_set_u64(j, "size", h->size);
	json_set_u64(j, "misc", h->misc);
	json_set_u64(j, "type", h->type);
	if (kind)
		json_set_text(j, "kind", kind->name);
	if (d->event) {
		json_set_u64(j, "event", (u64)(d->event - src->events.events.v));
		json_set_text(j, "event_name", d->event->name);
	}
	if (d->at.payload)
		json_set_u64(j, "payload", d->at.payload_size);
	if (d->err) {
		json_set_text(j, "error", err_name(d->err));
	} else if (d->is_sample) {
		put_sample(src, d, j);
	} else {
		put_sample_id(&d->r.sid, j);
		for (size_t i = 0; i < ARRAY_LEN(fields); i++)
			if (fields[i].type == h->type)
				put_field(&fields[i], &d->r, j);
		put_special(&d->r, j);
	}
	json_object_end(j);
	json_end(j);
}
