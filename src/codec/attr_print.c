/* SPDX-License-Identifier: Apache-2.0 */
/* An attr as text: one row per field, in the order in which perf names them. */
#include <inttypes.h>

#include "codec/attr.h"

struct bit_name {
	u64 bit;
	const char *name;
};

static const struct bit_name sample_bits[] = {
	{ PERF_SAMPLE_IP, "IP" },
	{ PERF_SAMPLE_TID, "TID" },
	{ PERF_SAMPLE_TIME, "TIME" },
	{ PERF_SAMPLE_ADDR, "ADDR" },
	{ PERF_SAMPLE_READ, "READ" },
	{ PERF_SAMPLE_CALLCHAIN, "CALLCHAIN" },
	{ PERF_SAMPLE_ID, "ID" },
	{ PERF_SAMPLE_CPU, "CPU" },
	{ PERF_SAMPLE_PERIOD, "PERIOD" },
	{ PERF_SAMPLE_STREAM_ID, "STREAM_ID" },
	{ PERF_SAMPLE_RAW, "RAW" },
	{ PERF_SAMPLE_BRANCH_STACK, "BRANCH_STACK" },
	{ PERF_SAMPLE_REGS_USER, "REGS_USER" },
	{ PERF_SAMPLE_STACK_USER, "STACK_USER" },
	{ PERF_SAMPLE_IDENTIFIER, "IDENTIFIER" },
	{ PERF_SAMPLE_REGS_INTR, "REGS_INTR" },
	{ PERF_SAMPLE_DATA_SRC, "DATA_SRC" },
	{ PERF_SAMPLE_WEIGHT, "WEIGHT" },
	{ PERF_SAMPLE_TRANSACTION, "TRANSACTION" },
	{ PERF_SAMPLE_PHYS_ADDR, "PHYS_ADDR" },
	{ PERF_SAMPLE_AUX, "AUX" },
	{ PERF_SAMPLE_CGROUP, "CGROUP" },
	{ PERF_SAMPLE_DATA_PAGE_SIZE, "DATA_PAGE_SIZE" },
	{ PERF_SAMPLE_CODE_PAGE_SIZE, "CODE_PAGE_SIZE" },
	{ PERF_SAMPLE_WEIGHT_STRUCT, "WEIGHT_STRUCT" },
	{ PERF_SAMPLE_TLS_USER, "TLS_USER" },
	{ 0 },
};

static const struct bit_name read_bits[] = {
	{ 1 << 0, "TOTAL_TIME_ENABLED" },
	{ 1 << 1, "TOTAL_TIME_RUNNING" },
	{ 1 << 2, "ID" },
	{ 1 << 3, "GROUP" },
	{ 1 << 4, "LOST" },
	{ 0 },
};

static const struct bit_name branch_bits[] = {
	{ 1 << 0, "USER" },	  { 1 << 1, "KERNEL" },	    { 1 << 2, "HV" },
	{ 1 << 3, "ANY" },	  { 1 << 4, "ANY_CALL" },   { 1 << 5, "ANY_RETURN" },
	{ 1 << 6, "IND_CALL" },	  { 1 << 7, "ABORT_TX" },   { 1 << 8, "IN_TX" },
	{ 1 << 9, "NO_TX" },	  { 1 << 10, "COND" },	    { 1 << 11, "CALL_STACK" },
	{ 1 << 12, "IND_JUMP" },  { 1 << 13, "CALL" },	    { 1 << 14, "NO_FLAGS" },
	{ 1 << 15, "NO_CYCLES" }, { 1 << 16, "TYPE_SAVE" }, { 1 << 17, "HW_INDEX" },
	{ 1 << 18, "PRIV_SAVE" }, { 1 << 19, "COUNTERS" },  { 0 },
};

enum style { DEC, HEX, SIGNED, BITS, FLAG };

static const struct row {
	const char *name;
	enum style style;
	u8 offset, size; /* in struct attr; FLAG: the bit's number and how many bits */
	const struct bit_name *bits;
} rows[] = {
#define FIELD(name, member, style)                                                                                    \
	{                                                                                                             \
		name, style, offsetof(struct attr, member), sizeof(((struct attr *)0)->member)                        \
	}
#define BITSET(name, member, bits)                                                                                    \
	{                                                                                                             \
		name, BITS, offsetof(struct attr, member), 8, bits                                                    \
	}
	FIELD("type", type, DEC),
	FIELD("size", size, DEC),
	FIELD("config", config, HEX),
	FIELD("{ sample_period, sample_freq }", sample_period, DEC),
	BITSET("sample_type", sample_type, sample_bits),
	BITSET("read_format", read_format, read_bits),
	{ "disabled", FLAG, 0, 1 },
	{ "inherit", FLAG, 1, 1 },
	{ "pinned", FLAG, 2, 1 },
	{ "exclusive", FLAG, 3, 1 },
	{ "exclude_user", FLAG, 4, 1 },
	{ "exclude_kernel", FLAG, 5, 1 },
	{ "exclude_hv", FLAG, 6, 1 },
	{ "exclude_idle", FLAG, 7, 1 },
	{ "mmap", FLAG, 8, 1 },
	{ "comm", FLAG, 9, 1 },
	{ "freq", FLAG, 10, 1 },
	{ "inherit_stat", FLAG, 11, 1 },
	{ "enable_on_exec", FLAG, 12, 1 },
	{ "task", FLAG, 13, 1 },
	{ "watermark", FLAG, 14, 1 },
	{ "precise_ip", FLAG, 15, 2 },
	{ "mmap_data", FLAG, 17, 1 },
	{ "sample_id_all", FLAG, 18, 1 },
	{ "exclude_host", FLAG, 19, 1 },
	{ "exclude_guest", FLAG, 20, 1 },
	{ "exclude_callchain_kernel", FLAG, 21, 1 },
	{ "exclude_callchain_user", FLAG, 22, 1 },
	{ "mmap2", FLAG, 23, 1 },
	{ "comm_exec", FLAG, 24, 1 },
	{ "use_clockid", FLAG, 25, 1 },
	{ "context_switch", FLAG, 26, 1 },
	{ "write_backward", FLAG, 27, 1 },
	{ "namespaces", FLAG, 28, 1 },
	{ "ksymbol", FLAG, 29, 1 },
	{ "bpf_event", FLAG, 30, 1 },
	{ "aux_output", FLAG, 31, 1 },
	{ "cgroup", FLAG, 32, 1 },
	{ "text_poke", FLAG, 33, 1 },
	{ "build_id", FLAG, 34, 1 },
	{ "inherit_thread", FLAG, 35, 1 },
	{ "remove_on_exec", FLAG, 36, 1 },
	{ "sigtrap", FLAG, 37, 1 },
	{ "defer_callchain", FLAG, 38, 1 },
	{ "defer_output", FLAG, 39, 1 },
	{ "unknown_flags", FLAG, 40, 24 },
	FIELD("{ wakeup_events, wakeup_watermark }", wakeup_events, DEC),
	FIELD("bp_type", bp_type, DEC),
	FIELD("{ bp_addr, config1 }", config1, HEX),
	FIELD("{ bp_len, config2 }", config2, HEX),
	BITSET("branch_sample_type", branch_sample_type, branch_bits),
	FIELD("sample_regs_user", sample_regs_user, HEX),
	FIELD("sample_stack_user", sample_stack_user, DEC),
	FIELD("clockid", clockid, SIGNED),
	FIELD("sample_regs_intr", sample_regs_intr, HEX),
	FIELD("aux_watermark", aux_watermark, DEC),
	FIELD("sample_max_stack", sample_max_stack, DEC),
	FIELD("aux_sample_size", aux_sample_size, DEC),
	FIELD("aux_action", aux_action, HEX),
	FIELD("sig_data", sig_data, HEX),
	FIELD("config3", config3, HEX),
	FIELD("config4", config4, HEX),
	FIELD("sample_period_short", sample_period_short, DEC),
	FIELD("sample_period_jitter", sample_period_jitter, DEC),
	FIELD("sample_batch", sample_batch, DEC),
	FIELD("sample_tls_offset", sample_tls_offset, SIGNED),
	FIELD("sample_tls_user", sample_tls_user, DEC),
	FIELD("sample_tls_flags", sample_tls_flags, HEX),
#undef FIELD
#undef BITSET
};

static u64 row_value(const struct attr *a, const struct row *r)
{
	const u8 *p = (const u8 *)a + r->offset;
	u64 v;
	u32 v32;
	u16 v16;

	if (r->style == FLAG)
		return a->flags >> r->offset & ((1ull << r->size) - 1);
	switch (r->size) {
	case sizeof(v16):
		memcpy(&v16, p, sizeof(v16));
		return v16;
	case sizeof(v32):
		memcpy(&v32, p, sizeof(v32));
		return v32;
	default:
		memcpy(&v, p, sizeof(v));
		return v;
	}
}

/* "IP|TID|0x8000000000000000": what has no name is shown as its bits. */
static void put_bits(u64 v, const struct bit_name *bits, struct bytes *out)
{
	bool first = true;

	for (; bits->bit; bits++) {
		if (!(v & bits->bit))
			continue;
		bytes_printf(out, "%s%s", first ? "" : "|", bits->name);
		v &= ~bits->bit;
		first = false;
	}
	if (v)
		bytes_printf(out, "%s%#" PRIx64, first ? "" : "|", v);
}

void attr_print(const struct attr *a, const char *is, struct bytes *out)
{
	const char *between = "";

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		u64 v = row_value(a, r);

		if (!v)
			continue;
		bytes_printf(out, "%s%s%s", between, r->name, is);
		if (r->style == BITS)
			put_bits(v, r->bits, out);
		else if (r->style == HEX)
			bytes_printf(out, "%#" PRIx64, v);
		else if (r->style == SIGNED)
			bytes_printf(out, "%d", (s32)v);
		else
			bytes_dec(out, v);
		between = ", ";
	}
}

void attr_print_json(const struct attr *a, struct json *j)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		u64 v = row_value(a, r);
		const char *name = r->name;

		if (!v)
			continue;
		/* Of "{ a, b }" the first name; what the value means the flags tell. */
		name += name[0] == '{' ? 2 : 0;
		json_key_part(j, name, strcspn(name, ", "));
		if (r->style == SIGNED)
			json_s64(j, (s32)v);
		else
			json_u64(j, v);
	}
}
