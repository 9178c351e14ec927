/* SPDX-License-Identifier: Apache-2.0 */
/* The records that the perf tool writes: tools/lib/perf/include/perf/event.h. None of them carries an id trailer. */
#include "codec/record_kinds.h"

typedef unsigned long long ull;

#define THREAD_NAME_SIZE 16
#define ERROR_MSG_SIZE 64
#define BPF_KEY_SIZE 64
#define BPF_VALUE_SIZE 256
#define BPF_NAME_SIZE 512

/* A field of text, zero-filled; text that fills it has no NUL. */
static void put_fixed_text(struct bytes *out, struct str s, u32 size)
{
	u32 len = MIN(s.len, size);

	bytes_put(out, s.p, len);
	bytes_zero(out, size - len);
}

static void put_cursor(struct bytes *out, const struct cursor *c)
{
	bytes_put(out, c->p, cursor_left(c));
}

/* HEADER_ATTR */

static void header_attr_decode(struct cursor *c, struct record *r)
{
	if (attr_decode(c, 0, &r->header_attr.attr, NULL))
		c->bad = true;
	r->header_attr.ids = cursor_u64s(c, cursor_left(c) / 8);
}

static void header_attr_encode(const struct record *r, struct bytes *out)
{
	const struct attr *a = &r->header_attr.attr;

	attr_encode(a, MAX(a->size, (u32)ATTR_SIZE_MIN), out);
	put_u64s(out, &r->header_attr.ids);
}

static void header_attr_print(const struct record *r, struct bytes *out)
{
	const struct attr *a = &r->header_attr.attr;

	bytes_printf(out, "type %u config %#llx period %llu sample %#llx read %#llx flags %#llx ids", a->type,
		     (ull)a->config, (ull)a->sample_period, (ull)a->sample_type, (ull)a->read_format, (ull)a->flags);
	for (u32 i = 0; i < r->header_attr.ids.n; i++)
		bytes_printf(out, " %llu", (ull)u64s_at(&r->header_attr.ids, i));
}

/* HEADER_EVENT_TYPE */

static void event_type_decode(struct cursor *c, struct record *r)
{
	r->event_type.id = cursor_u64(c);
	r->event_type.name = cursor_text(c, cursor_left(c));
}

static void event_type_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->event_type.id);
	put_fixed_text(out, r->event_type.name, MAX(r->event_type.name.len, 64u));
}

static void event_type_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "config %#llx", (ull)r->event_type.id);
	print_text(out, " ", r->event_type.name);
}

/* HEADER_TRACING_DATA */

static void tracing_data_decode(struct cursor *c, struct record *r)
{
	r->tracing_data.size = cursor_u32(c);
}

static void tracing_data_encode(const struct record *r, struct bytes *out)
{
	bytes_u32(out, r->tracing_data.size);
}

static void tracing_data_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "size %u", r->tracing_data.size);
}

/* HEADER_BUILD_ID */

static void build_id_decode(struct cursor *c, struct record *r)
{
	struct rec_build_id *b = &r->build_id;
	const u8 *id;

	b->pid = cursor_u32(c);
	id = cursor_bytes(c, 24);
	if (id) {
		memcpy(b->build_id, id, sizeof(b->build_id));
		/* Before there was a size, ids were SHA-1. */
		b->size = r->h.misc & PERF_RECORD_MISC_BUILD_ID_SIZE ? MIN(id[20], (u8)20) : 20;
	}
	b->filename = cursor_text(c, cursor_left(c));
}

static void build_id_encode(const struct record *r, struct bytes *out)
{
	bytes_u32(out, r->build_id.pid);
	bytes_put(out, r->build_id.build_id, sizeof(r->build_id.build_id));
	bytes_u32(out, r->build_id.size);
	put_text(out, r->build_id.filename);
}

static void build_id_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "pid %d build-id ", r->build_id.pid);
	print_hex_bytes(out, r->build_id.build_id, r->build_id.size);
	print_text(out, " ", r->build_id.filename);
}

/* ID_INDEX */

static void id_index_decode(struct cursor *c, struct record *r)
{
	u64 nr = cursor_u64(c);

	r->id_index.nr = nr;
	r->id_index.has_vcpu = nr && nr <= cursor_left(c) / 48;
	r->id_index.entries = cursor_u64s(c, nr <= UINT32_MAX ? nr * (r->id_index.has_vcpu ? 6 : 4) : UINT64_MAX);
}

static void id_index_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->id_index.nr);
	put_u64s(out, &r->id_index.entries);
}

static void id_index_print(const struct record *r, struct bytes *out)
{
	const struct u64s *a = &r->id_index.entries;

	bytes_printf(out, "nr %llu", (ull)r->id_index.nr);
	for (u32 i = 0; i < r->id_index.nr && i * 4 + 3 < a->n; i++)
		bytes_printf(out, " {id %llu idx %llu cpu %d tid %d}", (ull)u64s_at(a, i * 4),
			     (ull)u64s_at(a, i * 4 + 1), (s32)u64s_at(a, i * 4 + 2), (s32)u64s_at(a, i * 4 + 3));
}

/* AUXTRACE_INFO */

static void auxtrace_info_decode(struct cursor *c, struct record *r)
{
	r->auxtrace_info.type = cursor_u32(c);
	cursor_skip(c, 4);
	r->auxtrace_info.priv = cursor_u64s(c, cursor_left(c) / 8);
}

static void auxtrace_info_encode(const struct record *r, struct bytes *out)
{
	bytes_u32(out, r->auxtrace_info.type);
	bytes_u32(out, 0);
	put_u64s(out, &r->auxtrace_info.priv);
}

static void auxtrace_info_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "type %u priv", r->auxtrace_info.type);
	for (u32 i = 0; i < r->auxtrace_info.priv.n; i++)
		bytes_printf(out, " %#llx", (ull)u64s_at(&r->auxtrace_info.priv, i));
}

/* AUXTRACE */

static void auxtrace_decode(struct cursor *c, struct record *r)
{
	r->auxtrace.size = cursor_u64(c);
	r->auxtrace.offset = cursor_u64(c);
	r->auxtrace.reference = cursor_u64(c);
	r->auxtrace.idx = cursor_u32(c);
	r->auxtrace.tid = cursor_u32(c);
	r->auxtrace.cpu = cursor_u32(c);
	cursor_skip(c, 4);
}

static void auxtrace_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->auxtrace.size);
	bytes_u64(out, r->auxtrace.offset);
	bytes_u64(out, r->auxtrace.reference);
	bytes_u32(out, r->auxtrace.idx);
	bytes_u32(out, r->auxtrace.tid);
	bytes_u32(out, r->auxtrace.cpu);
	bytes_u32(out, 0);
}

static void auxtrace_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "size %#llx offset %#llx ref %#llx idx %u tid %d cpu %d", (ull)r->auxtrace.size,
		     (ull)r->auxtrace.offset, (ull)r->auxtrace.reference, r->auxtrace.idx, r->auxtrace.tid,
		     r->auxtrace.cpu);
}

/* AUXTRACE_ERROR. Format 0 has no time: its message stands where the time came to be. */

static void auxtrace_error_decode(struct cursor *c, struct record *r)
{
	struct rec_auxtrace_error *e = &r->auxtrace_error;

	e->type = cursor_u32(c);
	e->code = cursor_u32(c);
	e->cpu = cursor_u32(c);
	e->pid = cursor_u32(c);
	e->tid = cursor_u32(c);
	e->fmt = cursor_u32(c);
	e->ip = cursor_u64(c);
	if (e->fmt)
		e->time = cursor_u64(c);
	e->msg = cursor_text(c, MIN(cursor_left(c), (size_t)ERROR_MSG_SIZE));
}

static void auxtrace_error_encode(const struct record *r, struct bytes *out)
{
	const struct rec_auxtrace_error *e = &r->auxtrace_error;

	bytes_u32(out, e->type);
	bytes_u32(out, e->code);
	bytes_u32(out, e->cpu);
	bytes_u32(out, e->pid);
	bytes_u32(out, e->tid);
	bytes_u32(out, e->fmt);
	bytes_u64(out, e->ip);
	if (e->fmt)
		bytes_u64(out, e->time);
	put_fixed_text(out, e->msg, ERROR_MSG_SIZE);
}

static void auxtrace_error_print(const struct record *r, struct bytes *out)
{
	const struct rec_auxtrace_error *e = &r->auxtrace_error;

	bytes_printf(out, "type %u code %u cpu %d pid %d tid %d ip %#llx time %llu", e->type, e->code, e->cpu, e->pid,
		     e->tid, (ull)e->ip, (ull)e->time);
	print_text(out, " ", e->msg);
}

/* THREAD_MAP */

static void thread_map_decode(struct cursor *c, struct record *r)
{
	r->thread_map.nr = cursor_u64(c);
	if (r->thread_map.nr > cursor_left(c) / (8 + THREAD_NAME_SIZE))
		c->bad = true;
	r->thread_map.entries = cursor_sub(c, r->thread_map.nr * (8 + THREAD_NAME_SIZE));
}

static void thread_map_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->thread_map.nr);
	for (struct cursor c = r->thread_map.entries; cursor_left(&c) >= 8 + THREAD_NAME_SIZE;) {
		bytes_u64(out, cursor_u64(&c));
		bytes_put(out, cursor_bytes(&c, THREAD_NAME_SIZE), THREAD_NAME_SIZE);
	}
}

static void thread_map_print(const struct record *r, struct bytes *out)
{
	struct cursor c = r->thread_map.entries;

	bytes_printf(out, "nr %llu", (ull)r->thread_map.nr);
	while (cursor_left(&c) >= 8 + THREAD_NAME_SIZE) {
		bytes_printf(out, " {%d ", (s32)cursor_u64(&c));
		print_text(out, "", cursor_text(&c, THREAD_NAME_SIZE));
		bytes_char(out, '}');
	}
}

/* CPU_MAP: what stands behind the type depends on it. Dumped as it is; nothing needs the CPUs. */

static void cpu_map_decode(struct cursor *c, struct record *r)
{
	r->cpu_map.type = cursor_u16(c);
	r->cpu_map.data = cursor_sub(c, cursor_left(c));
}

static void cpu_map_encode(const struct record *r, struct bytes *out)
{
	bytes_u16(out, r->cpu_map.type);
	put_cursor(out, &r->cpu_map.data);
}

static void cpu_map_print(const struct record *r, struct bytes *out)
{
	static const char *const names[] = { "cpus", "mask", "range" };
	u32 type = r->cpu_map.type;

	bytes_printf(out, "%s ", type < ARRAY_LEN(names) ? names[type] : "unknown");
	print_hex_bytes(out, r->cpu_map.data.p, cursor_left(&r->cpu_map.data));
}

/* STAT_CONFIG */

static void stat_config_decode(struct cursor *c, struct record *r)
{
	u64 nr = cursor_u64(c);

	r->stat_config.nr = nr;
	r->stat_config.terms = cursor_u64s(c, nr <= UINT32_MAX ? nr * 2 : UINT64_MAX);
}

static void stat_config_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->stat_config.nr);
	put_u64s(out, &r->stat_config.terms);
}

static void stat_config_print(const struct record *r, struct bytes *out)
{
	static const char *const names[] = { "aggr-mode", "interval", "scale", "aggr-level" };
	const struct u64s *a = &r->stat_config.terms;

	bytes_printf(out, "nr %llu", (ull)r->stat_config.nr);
	for (u32 i = 0; i + 1 < a->n; i += 2) {
		u64 tag = u64s_at(a, i);

		bytes_printf(out, " %s %llu", tag < ARRAY_LEN(names) ? names[tag] : "?", (ull)u64s_at(a, i + 1));
	}
}

/* STAT */

static void stat_decode(struct cursor *c, struct record *r)
{
	r->stat.id = cursor_u64(c);
	r->stat.cpu = cursor_u32(c);
	r->stat.thread = cursor_u32(c);
	r->stat.value = cursor_u64(c);
	r->stat.time_enabled = cursor_u64(c);
	r->stat.time_running = cursor_u64(c);
}

static void stat_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->stat.id);
	bytes_u32(out, r->stat.cpu);
	bytes_u32(out, r->stat.thread);
	bytes_u64(out, r->stat.value);
	bytes_u64(out, r->stat.time_enabled);
	bytes_u64(out, r->stat.time_running);
}

static void stat_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "id %llu cpu %d thread %d value %llu enabled %llu running %llu", (ull)r->stat.id,
		     r->stat.cpu, r->stat.thread, (ull)r->stat.value, (ull)r->stat.time_enabled,
		     (ull)r->stat.time_running);
}

/* STAT_ROUND */

static void stat_round_decode(struct cursor *c, struct record *r)
{
	r->stat_round.type = cursor_u64(c);
	r->stat_round.time = cursor_u64(c);
}

static void stat_round_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->stat_round.type);
	bytes_u64(out, r->stat_round.time);
}

static void stat_round_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "%s time %llu", r->stat_round.type ? "final" : "interval", (ull)r->stat_round.time);
}

/* EVENT_UPDATE */

static void event_update_decode(struct cursor *c, struct record *r)
{
	r->event_update.type = cursor_u64(c);
	r->event_update.id = cursor_u64(c);
	r->event_update.data = cursor_sub(c, cursor_left(c));
}

static void event_update_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->event_update.type);
	bytes_u64(out, r->event_update.id);
	put_cursor(out, &r->event_update.data);
}

static void event_update_print(const struct record *r, struct bytes *out)
{
	enum { UNIT, SCALE, NAME, CPUS };
	struct cursor c = r->event_update.data;
	u64 type = r->event_update.type;

	bytes_printf(out, "id %llu ", (ull)r->event_update.id);
	if (type == UNIT || type == NAME) {
		print_text(out, type == NAME ? "name " : "unit ", cursor_text(&c, cursor_left(&c)));
	} else if (type == SCALE) {
		u64 bits = cursor_u64(&c);
		double scale;

		memcpy(&scale, &bits, sizeof(scale));
		bytes_printf(out, "scale %g", scale);
	} else {
		bytes_printf(out, "%s ", type == CPUS ? "cpus" : "unknown");
		print_hex_bytes(out, c.p, cursor_left(&c));
	}
}

/* TIME_CONV: perf before 5.9 wrote the first three fields only. */

static void time_conv_decode(struct cursor *c, struct record *r)
{
	struct rec_time_conv *t = &r->time_conv;

	t->shift = cursor_u64(c);
	t->mult = cursor_u64(c);
	t->zero = cursor_u64(c);
	if (!cursor_left(c))
		return;
	t->cycles = cursor_u64(c);
	t->mask = cursor_u64(c);
	t->cap_zero = cursor_u8(c);
	t->cap_short = cursor_u8(c);
	cursor_skip(c, 6);
}

static void time_conv_encode(const struct record *r, struct bytes *out)
{
	const struct rec_time_conv *t = &r->time_conv;

	bytes_u64(out, t->shift);
	bytes_u64(out, t->mult);
	bytes_u64(out, t->zero);
	bytes_u64(out, t->cycles);
	bytes_u64(out, t->mask);
	bytes_u8(out, t->cap_zero);
	bytes_u8(out, t->cap_short);
	bytes_zero(out, 6);
}

static void time_conv_print(const struct record *r, struct bytes *out)
{
	const struct rec_time_conv *t = &r->time_conv;

	bytes_printf(out, "shift %llu mult %llu zero %llu cycles %llu mask %#llx%s%s", (ull)t->shift, (ull)t->mult,
		     (ull)t->zero, (ull)t->cycles, (ull)t->mask, t->cap_zero ? " cap-zero" : "",
		     t->cap_short ? " cap-short" : "");
}

/* HEADER_FEATURE */

static void feature_rec_decode(struct cursor *c, struct record *r)
{
	r->feature.id = cursor_u64(c);
	r->feature.data = cursor_sub(c, cursor_left(c));
}

static void feature_rec_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->feature.id);
	put_cursor(out, &r->feature.data);
}

static void feature_rec_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "feature %llu size %zu", (ull)r->feature.id, cursor_left(&r->feature.data));
}

/* COMPRESSED and COMPRESSED2 */

static void compressed_decode(struct cursor *c, struct record *r)
{
	r->compressed.size = r->h.type == PERF_RECORD_COMPRESSED2 ? cursor_u64(c) : cursor_left(c);
	r->compressed.data = cursor_bytes(c, r->compressed.size);
}

static void compressed_encode(const struct record *r, struct bytes *out)
{
	if (r->h.type == PERF_RECORD_COMPRESSED2)
		bytes_u64(out, r->compressed.size);
	bytes_put(out, r->compressed.data, r->compressed.size);
}

static void compressed_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "size %llu", (ull)r->compressed.size);
}

/* BPF_METADATA */

static void bpf_metadata_decode(struct cursor *c, struct record *r)
{
	struct rec_bpf_metadata *m = &r->bpf_metadata;

	m->prog_name = cursor_text(c, BPF_NAME_SIZE);
	m->nr = cursor_u64(c);
	if (m->nr > cursor_left(c) / (BPF_KEY_SIZE + BPF_VALUE_SIZE))
		c->bad = true;
	m->entries = cursor_sub(c, m->nr * (BPF_KEY_SIZE + BPF_VALUE_SIZE));
}

static void bpf_metadata_encode(const struct record *r, struct bytes *out)
{
	put_fixed_text(out, r->bpf_metadata.prog_name, BPF_NAME_SIZE);
	bytes_u64(out, r->bpf_metadata.nr);
	put_cursor(out, &r->bpf_metadata.entries);
}

static void bpf_metadata_print(const struct record *r, struct bytes *out)
{
	struct cursor c = r->bpf_metadata.entries;

	print_text(out, "prog ", r->bpf_metadata.prog_name);
	while (cursor_left(&c) >= BPF_KEY_SIZE + BPF_VALUE_SIZE) {
		print_text(out, " ", cursor_text(&c, BPF_KEY_SIZE));
		print_text(out, "=", cursor_text(&c, BPF_VALUE_SIZE));
	}
}

#define ROW(TYPE, what)                                                                                               \
	{                                                                                                             \
		PERF_RECORD_##TYPE, #TYPE, false, false, what##_decode, what##_encode, what##_print                   \
	}
#define ROW_UNPADDED(TYPE, what)                                                                                      \
	{                                                                                                             \
		PERF_RECORD_##TYPE, #TYPE, false, true, what##_decode, what##_encode, what##_print                    \
	}
#define ROW_EMPTY(TYPE)                                                                                               \
	{                                                                                                             \
		.type = PERF_RECORD_##TYPE, .name = #TYPE                                                             \
	}

/* A row for every type from 64 on, in order: record_kind() indexes it. */
const struct record_kind user_kinds[] = {
	ROW(HEADER_ATTR, header_attr),
	ROW(HEADER_EVENT_TYPE, event_type),
	ROW_UNPADDED(HEADER_TRACING_DATA, tracing_data),
	ROW(HEADER_BUILD_ID, build_id),
	ROW_EMPTY(FINISHED_ROUND),
	ROW(ID_INDEX, id_index),
	ROW(AUXTRACE_INFO, auxtrace_info),
	ROW(AUXTRACE, auxtrace),
	ROW(AUXTRACE_ERROR, auxtrace_error),
	ROW(THREAD_MAP, thread_map),
	ROW(CPU_MAP, cpu_map),
	ROW(STAT_CONFIG, stat_config),
	ROW(STAT, stat),
	ROW(STAT_ROUND, stat_round),
	ROW(EVENT_UPDATE, event_update),
	ROW(TIME_CONV, time_conv),
	ROW(HEADER_FEATURE, feature_rec),
	ROW_UNPADDED(COMPRESSED, compressed),
	ROW_EMPTY(FINISHED_INIT),
	ROW(COMPRESSED2, compressed),
	ROW(BPF_METADATA, bpf_metadata),
};
const u32 nr_user_kinds = ARRAY_LEN(user_kinds);

/* simpleperf's records are named and kept as they are. */

static void opaque_decode(struct cursor *c, struct record *r)
{
	r->opaque = cursor_sub(c, cursor_left(c));
}

static void opaque_encode(const struct record *r, struct bytes *out)
{
	put_cursor(out, &r->opaque);
}

static void opaque_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "size %zu", cursor_left(&r->opaque));
}

const struct record_kind simpleperf_kinds[] = {
	ROW_UNPADDED(SIMPLEPERF_KERNEL_SYMBOL, opaque), ROW_UNPADDED(SIMPLEPERF_DSO, opaque),
	ROW_UNPADDED(SIMPLEPERF_SYMBOL, opaque),	ROW_UNPADDED(SIMPLEPERF_SPLIT, opaque),
	ROW_UNPADDED(SIMPLEPERF_SPLIT_END, opaque),	ROW_UNPADDED(SIMPLEPERF_EVENT_ID, opaque),
	ROW_UNPADDED(SIMPLEPERF_CALLCHAIN, opaque),	ROW_UNPADDED(SIMPLEPERF_UNWINDING_RESULT, opaque),
	ROW_UNPADDED(SIMPLEPERF_TRACING_DATA, opaque),	ROW_UNPADDED(SIMPLEPERF_DEBUG, opaque),
};
const u32 nr_simpleperf_kinds = ARRAY_LEN(simpleperf_kinds);
