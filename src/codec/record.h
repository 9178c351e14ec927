/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a perf ring buffer and of a perf.data file, apart from samples (codec/sample.h).
 *
 * A record is an 8-byte header and a body. What the kernel writes ends with an id trailer when the event asked for
 * sample_id_all. Decoding copies nothing: text and arrays point into the input and live as long as it does.
 */
#ifndef CODEC_RECORD_H
#define CODEC_RECORD_H

#include "base/bytes.h"
#include "base/cursor.h"
#include "codec/attr.h"

struct record_header {
	u32 type;
	u16 misc;
	u16 size; /* bytes, this header included */
};

/* Is the record followed by bytes that its size does not include? The record itself says how many. */
static inline bool record_has_payload(u32 type)
{
	return type == PERF_RECORD_AUXTRACE || type == PERF_RECORD_HEADER_TRACING_DATA;
}

/* The trailer of records that are not samples; fields that the event did not ask for are 0. has: the PERF_SAMPLE_*
 * bits of those that are there. */
struct sample_id {
	u64 has;
	u64 time; /* ns of the recording's clock */
	u64 id, stream_id;
	u32 pid, tid, cpu;
};

struct rec_mmap { /* MMAP and MMAP2 */
	u32 pid, tid;
	u64 start, len, pgoff;
	u32 prot, flags; /* MMAP2; for MMAP prot is R|X, or R for data maps (PERF_RECORD_MISC_MMAP_DATA) */
	u32 maj, min;	 /* MMAP2 without a build id */
	u64 ino, ino_generation;
	u8 build_id[20];  /* MMAP2 with PERF_RECORD_MISC_MMAP_BUILD_ID */
	u8 build_id_size; /* 0: none */
	struct str filename;
};

struct rec_comm {
	u32 pid, tid;
	struct str comm;
	bool exec;
};
struct rec_task {
	u32 pid, ppid, tid, ptid;
	u64 time;
}; /* FORK and EXIT */
struct rec_lost {
	u64 id, lost;
}; /* LOST; LOST_SAMPLES with id 0 */
struct rec_throttle {
	u64 time, id, stream_id;
}; /* THROTTLE and UNTHROTTLE */
struct rec_read {
	u32 pid, tid;
	struct cursor values;
}; /* READ: by the event's read_format */
struct rec_aux {
	u64 offset, size, flags;
};
struct rec_itrace_start {
	u32 pid, tid;
};
struct rec_switch {
	u32 next_prev_pid, next_prev_tid;
}; /* SWITCH_CPU_WIDE; zero for SWITCH. Out: misc */
struct rec_namespaces {
	u32 pid, tid;
	struct u64s dev_inode;
}; /* pairs, in the order of the kernel's enum */
struct rec_ksymbol {
	u64 addr;
	u32 len;
	u16 ksym_type, flags;
	struct str name;
};
struct rec_bpf_event {
	u16 type, flags;
	u32 id;
	u8 tag[8];
};
struct rec_cgroup {
	u64 id;
	struct str path;
};
struct rec_text_poke {
	u64 addr;
	u16 old_len, new_len;
	const u8 *bytes;
};
struct rec_aux_output_hw_id {
	u64 hw_id;
};
struct rec_callchain_deferred {
	u64 cookie;
	struct u64s ips;
};

struct rec_tls_user {
	u64 cookie;
	struct cursor bytes; /* of the thread's memory; the first dyn_size of them mean something */
	u64 dyn_size;
};

struct rec_event_type {
	u64 id;
	struct str name;
}; /* HEADER_EVENT_TYPE: written by perf before 3.10 */
struct rec_thread_map {
	u64 nr;
	struct cursor entries;
}; /* nr x {u64 pid, 16 bytes of name} */
struct rec_cpu_map {
	u16 type; /* 0: list of u16, 1: bit mask, 2: range */
	struct cursor data;
};
struct rec_stat_config {
	u64 nr;
	struct u64s terms;
}; /* nr x {tag, value} */
struct rec_stat {
	u64 id;
	u32 cpu, thread;
	u64 value, time_enabled, time_running;
};
struct rec_stat_round {
	u64 type, time;
};
struct rec_bpf_metadata {
	struct str prog_name;
	u64 nr;
	struct cursor entries;
}; /* nr x {64 bytes of key, 256 bytes of value} */
struct rec_header_attr {
	struct attr attr;
	struct u64s ids;
};
struct rec_event_update {
	u64 type, id;
	struct cursor data;
};
struct rec_tracing_data {
	u32 size;
}; /* the data follows the record, padded to 8 */
struct rec_build_id {
	u32 pid;
	u8 build_id[20];
	u8 size;
	struct str filename;
};
struct rec_id_index {
	struct u64s entries;
	bool has_vcpu;
	u64 nr;
}; /* nr x {id, idx, cpu, tid} */
/* What AUXTRACE records hold. */
enum auxtrace_kind {
	AUXTRACE_INTEL_PT = 1,
	AUXTRACE_INTEL_BTS,
	AUXTRACE_CS_ETM,
	AUXTRACE_ARM_SPE,
	AUXTRACE_S390_CPUMSF,
	AUXTRACE_HISI_PTT,
};
/*
 * The words of Arm SPE. The first version has two: the PMU's type, and whether there is a buffer per CPU. Later ones
 * begin with their version, how many words stand before those of CPUs, the PMU's type and the number of CPUs; then
 * come for each CPU a magic number, the CPU, how many words follow, and those: MIDR, the type of the CPU's PMU, its
 * least interval, ...
 */
enum { SPE_INFO_V1_TYPE, SPE_INFO_V1_PER_CPU, SPE_INFO_V1_WORDS };
enum { SPE_INFO_VERSION, SPE_INFO_SIZE, SPE_INFO_TYPE, SPE_INFO_CPUS, SPE_INFO_WORDS };
enum { SPE_CPU_BEGIN, SPE_CPU_NUMBER, SPE_CPU_FOLLOWING, SPE_CPU_MIDR, SPE_CPU_TYPE, SPE_CPU_LEAST, SPE_CPU_WORDS };
#define SPE_INFO_V2 2
#define SPE_CPU_MAGIC 0x1010101010101010
struct rec_auxtrace_info {
	u32 type; /* enum auxtrace_kind */
	struct u64s priv;
};
struct rec_auxtrace {
	u64 size, offset, reference;
	u32 idx, tid, cpu;
}; /* size bytes of payload follow the record */
struct rec_auxtrace_error {
	u32 type, code, cpu, pid, tid, fmt;
	u64 ip, time;
	struct str msg;
};
struct rec_time_conv {
	u64 shift, mult, zero, cycles, mask;
	bool cap_zero, cap_short;
};
struct rec_feature {
	u64 id;
	struct cursor data;
};
struct rec_compressed {
	const u8 *data;
	u64 size;
}; /* COMPRESSED and COMPRESSED2 (its size without padding) */

struct record {
	struct record_header h;
	u64 offset;	      /* where the header is, for messages */
	struct sample_id sid; /* all zero if the record has none */
	struct cursor body;   /* the bytes after the header, including the trailer */
	union {
		struct rec_mmap mmap;
		struct rec_comm comm;
		struct rec_task task;
		struct rec_lost lost;
		struct rec_throttle throttle;
		struct rec_read read;
		struct rec_aux aux;
		struct rec_itrace_start itrace_start;
		struct rec_switch sw;
		struct rec_namespaces namespaces;
		struct rec_ksymbol ksymbol;
		struct rec_bpf_event bpf_event;
		struct rec_cgroup cgroup;
		struct rec_text_poke text_poke;
		struct rec_aux_output_hw_id aux_output_hw_id;
		struct rec_callchain_deferred callchain_deferred;
		struct rec_tls_user tls_user;
		struct rec_event_type event_type;
		struct rec_thread_map thread_map;
		struct rec_cpu_map cpu_map;
		struct rec_stat_config stat_config;
		struct rec_stat stat;
		struct rec_stat_round stat_round;
		struct rec_bpf_metadata bpf_metadata;
		struct rec_header_attr header_attr;
		struct rec_event_update event_update;
		struct rec_tracing_data tracing_data;
		struct rec_build_id build_id;
		struct rec_id_index id_index;
		struct rec_auxtrace_info auxtrace_info;
		struct rec_auxtrace auxtrace;
		struct rec_auxtrace_error auxtrace_error;
		struct rec_time_conv time_conv;
		struct rec_feature feature;
		struct rec_compressed compressed;
		struct cursor opaque; /* simpleperf's */
	};
};

/* The contents of the id trailer in an event's records; derived from its attr. */
struct trailer_layout {
	u64 fields; /* those PERF_SAMPLE_* bits that a trailer can carry; 0: no trailer */
	u32 size;   /* bytes */
};

struct trailer_layout trailer_layout(const struct attr *a);

/* Reads the header at c, and moves c to the first byte after it. ERR_TRUNCATED, or ERR_FORMAT if size is under 8. */
int record_header_decode(struct cursor *c, struct record_header *out);

/*
 * Decodes one record; c covers exactly its h.size bytes. trailer is that of the record's event (all events of a file
 * agree on it; NULL or .fields == 0: none). For samples only h, offset and body are set. The same is done for types
 * that this table does not know, and 0 is returned. ERR_TRUNCATED or ERR_FORMAT if the body is malformed for its type.
 */
int record_decode(struct cursor c, u64 offset, const struct trailer_layout *trailer, struct record *out);

/* Decodes only the trailer: the last trailer->size bytes of the record. *out is zero if there is none. */
int record_trailer_decode(struct cursor c, const struct trailer_layout *trailer, struct sample_id *out);

/*
 * Appends the record, including header, padding and trailer, in this machine's byte order (but the data of CPU_MAP,
 * EVENT_UPDATE and HEADER_FEATURE are copied unchanged). h.type, h.misc and the member of the union give the contents;
 * h.size is calculated. The caller writes payloads that follow a record (AUXTRACE, TRACING_DATA). ERR_LIMIT if the
 * record does not fit into 65535 bytes (nothing is written then), ERR_UNSUPPORTED for a type without an encoder.
 */
int record_encode(const struct record *r, const struct trailer_layout *trailer, struct bytes *out);

/* One row per record type. */
struct record_kind {
	u32 type;
	const char *name; /* "MMAP2", without PERF_RECORD_ */
	bool has_trailer; /* written by the kernel, so followed by an id trailer */
	bool unpadded;	  /* the perf tool writes it without padding to 8 bytes */
	void (*decode)(struct cursor *body,
		       struct record *out); /* sets body->bad on failure; NULL: nothing to decode */
	void (*encode)(const struct record *r, struct bytes *out); /* the body without trailer, unpadded */
	void (*print)(const struct record *r, struct bytes *out); /* one line of text: "pid 1 tid 1 ..."; no newline */
};

const struct record_kind *record_kind(u32 type); /* NULL when unknown */
const struct record_kind *record_kind_at(u32 i); /* the i-th row of the table; NULL past its end */

#endif
