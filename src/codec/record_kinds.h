/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the record codec: the rows of the halves of the table, and the functions with which both write. */
#ifndef CODEC_RECORD_KINDS_H
#define CODEC_RECORD_KINDS_H

#include "codec/record.h"

extern const struct record_kind kernel_kinds[]; /* PERF_RECORD_* of the kernel, rising types */
extern const u32 nr_kernel_kinds;
extern const struct record_kind user_kinds[]; /* those of the perf tool, rising types */
extern const u32 nr_user_kinds;
extern const struct record_kind simpleperf_kinds[]; /* those of simpleperf, rising types */
extern const u32 nr_simpleperf_kinds;

/* Writes text with its NUL, as in the fields at the end of records. */
static inline void put_text(struct bytes *out, struct str s)
{
	bytes_put(out, s.p, s.len);
	bytes_u8(out, 0);
}

/* Writes the elements in this machine's byte order, whatever order they were read in. */
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
