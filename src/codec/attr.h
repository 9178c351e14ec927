/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_event_attr, decoded. The struct has the kernel's layout (its flag bit-field as one u64, see ATTR_*), so one
 * that was built here can be passed to perf_event_open directly, with .size set.
 */
#ifndef CODEC_ATTR_H
#define CODEC_ATTR_H

#include "base/cursor.h"
#include "base/err.h"
#include "base/json.h"
#include "codec/perf_abi.h"

struct attr {
	u32 type; /* PERF_TYPE_* or a PMU's number */
	u32 size; /* how many bytes of it are valid: 64 or more */
	u64 config;
	u64 sample_period; /* or sample_freq, with ATTR_FREQ */
	u64 sample_type;   /* PERF_SAMPLE_* */
	u64 read_format;   /* PERF_FORMAT_* */
	u64 flags;	   /* ATTR_* */
	u32 wakeup_events; /* or bytes, with ATTR_WATERMARK */
	u32 bp_type;
	u64 config1; /* or bp_addr, kprobe_func, uprobe_path */
	u64 config2; /* or bp_len, kprobe_addr, probe_offset */
	u64 branch_sample_type;
	u64 sample_regs_user;
	u32 sample_stack_user;
	s32 clockid;
	u64 sample_regs_intr;
	u32 aux_watermark;
	u16 sample_max_stack;
	u16 reserved_2;
	u32 aux_sample_size;
	u32 aux_action;
	u64 sig_data;
	u64 config3;
	u64 config4;
	/* From the patches of kernel/: */
	u64 sample_period_short;
	u32 sample_period_jitter;
	u32 sample_batch;
	s32 sample_tls_offset;
	u16 sample_tls_user;
	u16 sample_tls_flags; /* PERF_SAMPLE_TLS_* */
};
_Static_assert(sizeof(struct attr) == ATTR_SIZE_MAX_KNOWN, "the kernel's layout");

/*
 * Reads one attr at c; its own size field says how many bytes it has, and c moves to the first byte after them. size 0
 * means 64 (the oldest files). If `section` is not 0, that many bytes are consumed no matter what the attr says (a
 * file's attr section). ERR_TRUNCATED if the bytes are missing, ERR_FORMAT if size is under 64, not a multiple of 8,
 * or over section or 4096. Unknown bytes after the known ones are dropped; *unknown (may be NULL) says whether any of
 * them was not zero. In a swapped file the flag bits are mirrored within each byte; this function corrects that.
 */
int attr_decode(struct cursor *c, u32 section, struct attr *out, bool *unknown);

/* Writes exactly size bytes (64 or more), in this machine's byte order, with the size field set to size. */
void attr_encode(const struct attr *a, u32 size, struct bytes *out);

/*
 * The smallest published size that holds all non-zero fields: 128 unless config3 or config4 is used. It leaves out the
 * fields of kernel/, so that perf can read the result, unless it takes them to read samples (PERF_SAMPLE_TLS_DEFER);
 * attr_open_size() is for the kernel.
 */
u32 attr_least_size(const struct attr *a);
u32 attr_open_size(const struct attr *a);

/* All fields that are not zero, as perf shows them: "type: 1, size: 128, ..."; `is` is the text between a name and its
 * value. Bits without a name are shown as a number. The JSON form has only the members, without braces. */
void attr_print(const struct attr *a, const char *is, struct bytes *out);
void attr_print_json(const struct attr *a, struct json *j);

/* In branch_sample_type: PERF_SAMPLE_BRANCH_COUNTERS (Linux 6.8). */
#define BRANCH_COUNTERS (1ull << 19)

static inline u32 attr_precise_ip(const struct attr *a)
{
	return a->flags >> ATTR_PRECISE_IP_SHIFT & 3;
}

/* Do both count the same thing? How often they sample, and in which modes of the CPU they count, may differ. */
static inline bool attr_same_event(const struct attr *a, const struct attr *b)
{
	return a->type == b->type && a->config == b->config && a->config1 == b->config1 && a->config2 == b->config2 &&
	       a->config3 == b->config3 && a->config4 == b->config4;
}

#endif
