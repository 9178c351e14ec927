/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the record codec: the rows of the two halves of the table, and what both halves write with. */
#ifndef CODEC_RECORD_KINDS_H
#define CODEC_RECORD_KINDS_H

#include "codec/record.h"

extern const struct record_kind kernel_kinds[]; /* PERF_RECORD_* of the kernel, rising types */
extern const u32 nr_kernel_kinds;
extern const struct record_kind user_kinds[]; /* those of the perf tool, rising types */
extern const u32 nr_user_kinds;
extern const struct record_kind simpleperf_kinds[]; /* those of simpleperf, rising types */
extern const u32 nr_simpleperf_kinds;

/* Text with its NUL, as the fields at the end of records have it. */
static inline void put_text(struct bytes *out, struct str s)
{
	bytes_put(out, s.p, s.len);
	bytes_u8(out, 0);
}

/* The elements in this machine's order, whatever order they were read in. */
static inline void put_u64s(struct bytes *out, const struct u64s *a)
{
	for (u32 i = 0; i < a->n; i++)
		bytes_u64(out, u64s_at(a, i));
}

static inline void print_hex_bytes(struct bytes *out, const u8 *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes_printf(out, "%02x", p[i]);
}

static inline void print_text(struct bytes *out, const char *label, struct str s)
{
	bytes_str(out, label);
	bytes_plain(out, s.p, s.len);
}

#endif
