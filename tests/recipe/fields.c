/* SPDX-License-Identifier: Apache-2.0 */
#include "recipe/fields.h"

#define MEMBER(type, member) offsetof(type, member), sizeof(((type *)0)->member)
#define NUM(key, member)                                                                                              \
	{                                                                                                             \
		key, FIELD_NUMBER, MEMBER(struct record, member), NULL                                                \
	}
#define LIST(key, member)                                                                                             \
	{                                                                                                             \
		key, FIELD_LIST, MEMBER(struct record, member), NULL                                                  \
	}
#define CURSOR(key, member)                                                                                           \
	{                                                                                                             \
		key, FIELD_CURSOR, MEMBER(struct record, member), NULL                                                \
	}
#define FLAG(key, member)                                                                                             \
	{                                                                                                             \
		key, FIELD_FLAG, MEMBER(struct record, member), NULL                                                  \
	}
#define TEXT(member) .text = offsetof(struct record, member)

const struct value_name misc_names[] = {
	{ "kernel", PERF_RECORD_MISC_KERNEL },
	{ "user", PERF_RECORD_MISC_USER },
	{ "hypervisor", PERF_RECORD_MISC_HYPERVISOR },
	{ "guest_kernel", PERF_RECORD_MISC_GUEST_KERNEL },
	{ "guest_user", PERF_RECORD_MISC_GUEST_USER },
	{ "mmap_data", PERF_RECORD_MISC_MMAP_DATA },
	{ "comm_exec", PERF_RECORD_MISC_COMM_EXEC },
	{ "switch_out", PERF_RECORD_MISC_SWITCH_OUT },
	{ "preempt", PERF_RECORD_MISC_SWITCH_OUT_PREEMPT },
	{ "exact", PERF_RECORD_MISC_EXACT_IP },
	{ "build_id", PERF_RECORD_MISC_MMAP_BUILD_ID },
	{ NULL, 0 },
};

const struct value_name context_names[] = {
	{ "hypervisor", PERF_CONTEXT_HV },
	{ "kernel", PERF_CONTEXT_KERNEL },
	{ "user", PERF_CONTEXT_USER },
	{ "guest", PERF_CONTEXT_GUEST },
	{ "guest_kernel", PERF_CONTEXT_GUEST_KERNEL },
	{ "guest_user", PERF_CONTEXT_GUEST_USER },
	{ "deferred", PERF_CONTEXT_USER_DEFERRED },
	{ NULL, 0 },
};

static const struct value_name prot_names[] = { { "r", 1 }, { "w", 2 }, { "x", 4 }, { NULL, 0 } };

static const struct value_name type_names[] = {
	{ "hardware", PERF_TYPE_HARDWARE },
	{ "software", PERF_TYPE_SOFTWARE },
	{ "tracepoint", PERF_TYPE_TRACEPOINT },
	{ "cache", PERF_TYPE_HW_CACHE },
	{ "raw", PERF_TYPE_RAW },
	{ "breakpoint", PERF_TYPE_BREAKPOINT },
	{ NULL, 0 },
};

#define SAMPLE_NAME(n)                                                                                                \
	{                                                                                                             \
#n, PERF_SAMPLE_##n                                                                                   \
	}
static const struct value_name sample_names[] = {
	SAMPLE_NAME(IP),
	SAMPLE_NAME(TID),
	SAMPLE_NAME(TIME),
	SAMPLE_NAME(ADDR),
	SAMPLE_NAME(READ),
	SAMPLE_NAME(CALLCHAIN),
	SAMPLE_NAME(ID),
	SAMPLE_NAME(CPU),
	SAMPLE_NAME(PERIOD),
	SAMPLE_NAME(STREAM_ID),
	SAMPLE_NAME(RAW),
	SAMPLE_NAME(BRANCH_STACK),
	SAMPLE_NAME(REGS_USER),
	SAMPLE_NAME(STACK_USER),
	SAMPLE_NAME(WEIGHT),
	SAMPLE_NAME(DATA_SRC),
	SAMPLE_NAME(IDENTIFIER),
	SAMPLE_NAME(TRANSACTION),
	SAMPLE_NAME(REGS_INTR),
	SAMPLE_NAME(PHYS_ADDR),
	SAMPLE_NAME(AUX),
	SAMPLE_NAME(CGROUP),
	SAMPLE_NAME(DATA_PAGE_SIZE),
	SAMPLE_NAME(CODE_PAGE_SIZE),
	SAMPLE_NAME(WEIGHT_STRUCT),
	SAMPLE_NAME(TLS_USER),
	{ NULL, 0 },
};

static const struct value_name read_names[] = {
	{ "ENABLED", 1 }, { "RUNNING", 2 }, { "ID", 4 }, { "GROUP", 8 }, { "LOST", 16 }, { NULL, 0 },
};

#define FLAG_NAME(n, bit)                                                                                             \
	{                                                                                                             \
		n, ATTR_##bit                                                                                         \
	}
static const struct value_name flag_names[] = {
	FLAG_NAME("disabled", DISABLED),
	FLAG_NAME("inherit", INHERIT),
	FLAG_NAME("pinned", PINNED),
	FLAG_NAME("exclude_user", EXCLUDE_USER),
	FLAG_NAME("exclude_kernel", EXCLUDE_KERNEL),
	FLAG_NAME("exclude_hv", EXCLUDE_HV),
	FLAG_NAME("exclude_host", EXCLUDE_HOST),
	FLAG_NAME("exclude_guest", EXCLUDE_GUEST),
	FLAG_NAME("mmap", MMAP),
	FLAG_NAME("comm", COMM),
	FLAG_NAME("freq", FREQ),
	FLAG_NAME("enable_on_exec", ENABLE_ON_EXEC),
	FLAG_NAME("task", TASK),
	FLAG_NAME("mmap_data", MMAP_DATA),
	FLAG_NAME("sample_id_all", SAMPLE_ID_ALL),
	FLAG_NAME("mmap2", MMAP2),
	FLAG_NAME("comm_exec", COMM_EXEC),
	FLAG_NAME("context_switch", CONTEXT_SWITCH),
	FLAG_NAME("namespaces", NAMESPACES),
	FLAG_NAME("ksymbol", KSYMBOL),
	FLAG_NAME("bpf_event", BPF_EVENT),
	FLAG_NAME("cgroup", CGROUP),
	FLAG_NAME("text_poke", TEXT_POKE),
	FLAG_NAME("build_id", BUILD_ID),
	FLAG_NAME("defer_callchain", DEFER_CALLCHAIN),
	FLAG_NAME("defer_output", DEFER_OUTPUT),
	{ "precise1", 1ull << ATTR_PRECISE_IP_SHIFT },
	{ "precise2", 2ull << ATTR_PRECISE_IP_SHIFT },
	{ "precise3", 3ull << ATTR_PRECISE_IP_SHIFT },
	{ NULL, 0 },
};

static const struct value_name branch_names[] = {
	{ "USER", 1 },
	{ "KERNEL", 2 },
	{ "ANY", 8 },
	{ "CALL_STACK", 1 << 11 },
	{ "TYPE_SAVE", 1 << 16 },
	{ "HW_INDEX", 1 << 17 },
	{ "COUNTERS", 1 << 19 },
	{ NULL, 0 },
};

const struct record_row record_rows[] = {
	{ "mmap",
	  PERF_RECORD_MMAP,
	  { NUM("pid", mmap.pid), NUM("tid", mmap.tid), NUM("start", mmap.start), NUM("len", mmap.len),
	    NUM("pgoff", mmap.pgoff) },
	  TEXT(mmap.filename) },
	{ "mmap2",
	  PERF_RECORD_MMAP2,
	  { NUM("pid", mmap.pid),
	    NUM("tid", mmap.tid),
	    NUM("start", mmap.start),
	    NUM("len", mmap.len),
	    NUM("pgoff", mmap.pgoff),
	    NUM("maj", mmap.maj),
	    NUM("min", mmap.min),
	    NUM("ino", mmap.ino),
	    NUM("gen", mmap.ino_generation),
	    { "prot", FIELD_NUMBER, MEMBER(struct record, mmap.prot), prot_names },
	    NUM("flags", mmap.flags) },
	  TEXT(mmap.filename) },
	{ "comm",
	  PERF_RECORD_COMM,
	  { NUM("pid", comm.pid), NUM("tid", comm.tid), FLAG("exec", comm.exec) },
	  TEXT(comm.comm) },
	{ "fork",
	  PERF_RECORD_FORK,
	  { NUM("pid", task.pid), NUM("tid", task.tid), NUM("ppid", task.ppid), NUM("ptid", task.ptid),
	    NUM("time", task.time) } },
	{ "exit",
	  PERF_RECORD_EXIT,
	  { NUM("pid", task.pid), NUM("tid", task.tid), NUM("ppid", task.ppid), NUM("ptid", task.ptid),
	    NUM("time", task.time) } },
	{ "lost", PERF_RECORD_LOST, { NUM("id", lost.id), NUM("lost", lost.lost) } },
	{ "lost_samples", PERF_RECORD_LOST_SAMPLES, { NUM("lost", lost.lost) } },
	{ "throttle",
	  PERF_RECORD_THROTTLE,
	  { NUM("time", throttle.time), NUM("id", throttle.id), NUM("stream", throttle.stream_id) } },
	{ "unthrottle",
	  PERF_RECORD_UNTHROTTLE,
	  { NUM("time", throttle.time), NUM("id", throttle.id), NUM("stream", throttle.stream_id) } },
	{ "read", PERF_RECORD_READ, { NUM("pid", read.pid), NUM("tid", read.tid), CURSOR("values", read.values) } },
	{ "aux", PERF_RECORD_AUX, { NUM("offset", aux.offset), NUM("size", aux.size), NUM("flags", aux.flags) } },
	{ "itrace_start", PERF_RECORD_ITRACE_START, { NUM("pid", itrace_start.pid), NUM("tid", itrace_start.tid) } },
	{ "switch", PERF_RECORD_SWITCH, { { NULL } } },
	{ "switch_cpu_wide",
	  PERF_RECORD_SWITCH_CPU_WIDE,
	  { NUM("other_pid", sw.next_prev_pid), NUM("other_tid", sw.next_prev_tid) } },
	{ "namespaces",
	  PERF_RECORD_NAMESPACES,
	  { NUM("pid", namespaces.pid), NUM("tid", namespaces.tid), LIST("dev_inode", namespaces.dev_inode) } },
	{ "ksymbol",
	  PERF_RECORD_KSYMBOL,
	  { NUM("addr", ksymbol.addr), NUM("len", ksymbol.len), NUM("type", ksymbol.ksym_type),
	    NUM("flags", ksymbol.flags) },
	  TEXT(ksymbol.name) },
	{ "bpf_event",
	  PERF_RECORD_BPF_EVENT,
	  { NUM("type", bpf_event.type), NUM("flags", bpf_event.flags), NUM("id", bpf_event.id),
	    NUM("tag", bpf_event.tag) } },
	{ "cgroup", PERF_RECORD_CGROUP, { NUM("id", cgroup.id) }, TEXT(cgroup.path) },
	{ "text_poke", PERF_RECORD_TEXT_POKE, { NUM("addr", text_poke.addr) } },
	{ "aux_output_hw_id", PERF_RECORD_AUX_OUTPUT_HW_ID, { NUM("hw_id", aux_output_hw_id.hw_id) } },
	{ "callchain_deferred",
	  PERF_RECORD_CALLCHAIN_DEFERRED,
	  { NUM("cookie", callchain_deferred.cookie),
	    { "chain", FIELD_LIST, MEMBER(struct record, callchain_deferred.ips), context_names } } },
	{ "tls_user",
	  PERF_RECORD_TLS_USER,
	  { NUM("cookie", tls_user.cookie), CURSOR("bytes", tls_user.bytes), NUM("dyn_size", tls_user.dyn_size) } },
	{ "event_type", PERF_RECORD_HEADER_EVENT_TYPE, { NUM("id", event_type.id) }, TEXT(event_type.name) },
	{ "finished_round", PERF_RECORD_FINISHED_ROUND, { { NULL } } },
	{ "finished_init", PERF_RECORD_FINISHED_INIT, { { NULL } } },
	{ "id_index", PERF_RECORD_ID_INDEX, { NUM("nr", id_index.nr), LIST("entries", id_index.entries) } },
	{ "auxtrace_info",
	  PERF_RECORD_AUXTRACE_INFO,
	  { NUM("type", auxtrace_info.type), LIST("priv", auxtrace_info.priv) } },
	{ "auxtrace",
	  PERF_RECORD_AUXTRACE,
	  { NUM("offset", auxtrace.offset), NUM("reference", auxtrace.reference), NUM("idx", auxtrace.idx),
	    NUM("tid", auxtrace.tid), NUM("cpu", auxtrace.cpu) } },
	{ "auxtrace_error",
	  PERF_RECORD_AUXTRACE_ERROR,
	  { NUM("type", auxtrace_error.type), NUM("code", auxtrace_error.code), NUM("cpu", auxtrace_error.cpu),
	    NUM("pid", auxtrace_error.pid), NUM("tid", auxtrace_error.tid), NUM("fmt", auxtrace_error.fmt),
	    NUM("ip", auxtrace_error.ip), NUM("time", auxtrace_error.time) },
	  TEXT(auxtrace_error.msg) },
	{ "time_conv",
	  PERF_RECORD_TIME_CONV,
	  { NUM("shift", time_conv.shift), NUM("mult", time_conv.mult), NUM("zero", time_conv.zero),
	    NUM("cycles", time_conv.cycles), NUM("mask", time_conv.mask), FLAG("cap_zero", time_conv.cap_zero),
	    FLAG("cap_short", time_conv.cap_short) } },
};
const u32 nr_record_rows = ARRAY_LEN(record_rows);

const struct field sid_fields[] = {
	NUM("pid", sid.pid),
	NUM("tid", sid.tid),
	NUM("time", sid.time),
	NUM("cpu", sid.cpu),
	NUM("sid", sid.id),
	NUM("stream", sid.stream_id),
	{ "misc", FIELD_NUMBER, MEMBER(struct record, h.misc), misc_names },
	{ NULL },
};

#define S_NUM(key, member)                                                                                            \
	{                                                                                                             \
		key, FIELD_NUMBER, MEMBER(struct sample, member), NULL                                                \
	}
#define S_LIST(key, member)                                                                                           \
	{                                                                                                             \
		key, FIELD_LIST, MEMBER(struct sample, member), NULL                                                  \
	}

const struct field sample_fields[] = {
	{ "misc", FIELD_NUMBER, MEMBER(struct sample, misc), misc_names },
	S_NUM("pid", pid),
	S_NUM("tid", tid),
	S_NUM("cpu", cpu),
	S_NUM("ip", ip),
	S_NUM("time", time),
	S_NUM("addr", addr),
	S_NUM("id", id),
	S_NUM("stream", stream_id),
	S_NUM("period", period),
	S_NUM("enabled", read.time_enabled),
	S_NUM("running", read.time_running),
	S_LIST("values", read.raw),
	{ "chain", FIELD_LIST, MEMBER(struct sample, chain), context_names },
	S_NUM("hw_idx", hw_idx),
	S_LIST("branches", branches),
	S_LIST("counters", branch_counters),
	S_NUM("user_abi", regs_user_abi),
	S_LIST("user_regs", regs_user),
	S_NUM("dyn_size", stack_user_dyn_size),
	S_NUM("tls_dyn_size", tls_user_dyn_size),
	S_NUM("tls_cookie", tls_cookie),
	S_NUM("weight", weight),
	S_NUM("var2", var2_w),
	S_NUM("var3", var3_w),
	S_NUM("data_src", data_src),
	S_NUM("transaction", transaction),
	S_NUM("intr_abi", regs_intr_abi),
	S_LIST("intr_regs", regs_intr),
	S_NUM("phys_addr", phys_addr),
	S_NUM("cgroup", cgroup),
	S_NUM("data_page_size", data_page_size),
	S_NUM("code_page_size", code_page_size),
	{ NULL },
};

#define A_NUM(key, member, names)                                                                                     \
	{                                                                                                             \
		key, FIELD_NUMBER, MEMBER(struct attr, member), names                                                 \
	}

const struct field attr_fields[] = {
	A_NUM("type", type, type_names),
	A_NUM("config", config, NULL),
	A_NUM("config1", config1, NULL),
	A_NUM("config2", config2, NULL),
	A_NUM("config3", config3, NULL),
	A_NUM("config4", config4, NULL),
	A_NUM("period", sample_period, NULL),
	A_NUM("sample", sample_type, sample_names),
	A_NUM("read", read_format, read_names),
	A_NUM("flags", flags, flag_names),
	A_NUM("branch", branch_sample_type, branch_names),
	A_NUM("user_regs", sample_regs_user, NULL),
	A_NUM("intr_regs", sample_regs_intr, NULL),
	A_NUM("stack", sample_stack_user, NULL),
	A_NUM("period_short", sample_period_short, NULL),
	A_NUM("period_jitter", sample_period_jitter, NULL),
	A_NUM("batch", sample_batch, NULL),
	A_NUM("tls_offset", sample_tls_offset, NULL),
	A_NUM("tls", sample_tls_user, NULL),
	A_NUM("tls_flags", sample_tls_flags, NULL),
	A_NUM("bp_type", bp_type, NULL),
	{ NULL },
};

static bool set_value(const struct field *f, void *at, const char *value, struct arena *arena)
{
	struct u64s words;
	u64 v;

	switch (f->kind) {
	case FIELD_NUMBER:
		if (!value_number(value, f->names, &v))
			return false;
		memcpy(at, &v, f->size);
		return true;
	case FIELD_LIST:
		return value_list(value, f->names, arena, at);
	case FIELD_CURSOR:
		if (!value_list(value, f->names, arena, &words))
			return false;
		*(struct cursor *)at = cursor_over(words.p, (size_t)words.n * 8, false);
		return true;
	case FIELD_FLAG:
		*(bool *)at = true;
		return !value;
	}
	return false;
}

bool field_set(const struct field *rows, void *base, const char *key, const char *value, struct arena *arena,
	       bool *bad)
{
	for (; rows->key; rows++)
		if (!strcmp(rows->key, key)) {
			if (!set_value(rows, (u8 *)base + rows->offset, value, arena))
				*bad = true;
			return true;
		}
	return false;
}
