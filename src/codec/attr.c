/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/attr.h"

#define ATTR_SIZE_LIMIT 4096

/*
 * A bit-field starts at the least significant bit on little-endian machines and at the most significant one on
 * big-endian machines: bit i of one is bit i of the other once the bits of each byte are mirrored, bytes staying where
 * they are. Within a field of several bits the order of significance turns around too; precise_ip is the only one.
 */
static u64 flags_unmirror(u64 v)
{
	u64 lo = 1ull << ATTR_PRECISE_IP_SHIFT, hi = lo << 1;

	v = (v & 0x5555555555555555) << 1 | (v >> 1 & 0x5555555555555555);
	v = (v & 0x3333333333333333) << 2 | (v >> 2 & 0x3333333333333333);
	v = (v & 0x0f0f0f0f0f0f0f0f) << 4 | (v >> 4 & 0x0f0f0f0f0f0f0f0f);
	return (v & ~(lo | hi)) | (v & lo) << 1 | (v & hi) >> 1;
}

static u64 flags_decode(struct cursor *c)
{
	struct cursor plain = cursor_sub(c, 8);

	plain.swap = false;
	return c->swap ? flags_unmirror(cursor_u64(&plain)) : cursor_u64(&plain);
}

static void fields_decode(struct cursor *c, struct attr *out)
{
	out->type = cursor_u32(c);
	out->size = cursor_u32(c);
	out->config = cursor_u64(c);
	out->sample_period = cursor_u64(c);
	out->sample_type = cursor_u64(c);
	out->read_format = cursor_u64(c);
	out->flags = flags_decode(c);
	out->wakeup_events = cursor_u32(c);
	out->bp_type = cursor_u32(c);
	out->config1 = cursor_u64(c);
	out->config2 = cursor_u64(c);
	out->branch_sample_type = cursor_u64(c);
	out->sample_regs_user = cursor_u64(c);
	out->sample_stack_user = cursor_u32(c);
	out->clockid = (s32)cursor_u32(c);
	out->sample_regs_intr = cursor_u64(c);
	out->aux_watermark = cursor_u32(c);
	out->sample_max_stack = cursor_u16(c);
	out->reserved_2 = cursor_u16(c);
	out->aux_sample_size = cursor_u32(c);
	out->aux_action = cursor_u32(c);
	out->sig_data = cursor_u64(c);
	out->config3 = cursor_u64(c);
	out->config4 = cursor_u64(c);
	out->sample_period_short = cursor_u64(c);
	out->sample_period_jitter = cursor_u32(c);
	out->sample_batch = cursor_u32(c);
	out->sample_tls_offset = (s32)cursor_u32(c);
	out->sample_tls_user = cursor_u16(c);
	out->sample_tls_flags = cursor_u16(c);
}

static bool any_set(const u8 *p, size_t n)
{
	while (n--)
		if (*p++)
			return true;
	return false;
}

int attr_decode(struct cursor *c, u32 section, struct attr *out, bool *unknown)
{
	u8 image[ATTR_SIZE_MAX_KNOWN] = { 0 };
	struct cursor peek = *c, fields;
	const u8 *p;
	u32 size, known;

	*out = (struct attr){ 0 };
	if (unknown)
		*unknown = false;
	cursor_skip(&peek, 4);
	size = cursor_u32(&peek);
	if (peek.bad)
		return ERR_TRUNCATED;
	if (!size)
		size = ATTR_SIZE_MIN;
	if (size < ATTR_SIZE_MIN || size > ATTR_SIZE_LIMIT || size % 8 || (section && size > section))
		return ERR_FORMAT;
	p = cursor_bytes(c, section ? section : size);
	if (!p)
		return ERR_TRUNCATED;
	/* An attr that is shorter than ours reads as one whose newer fields are zero. */
	known = MIN(size, ATTR_SIZE_MAX_KNOWN);
	memcpy(image, p, known);
	fields = cursor_over(image, sizeof(image), c->swap);
	fields_decode(&fields, out);
	out->size = size;
	if (unknown)
		*unknown = any_set(p + known, size - known);
	return 0;
}

void attr_encode(const struct attr *a, u32 size, struct bytes *out)
{
	struct attr copy = *a;

	copy.size = size;
	bytes_put(out, &copy, MIN(size, sizeof(copy)));
	if (size > sizeof(copy))
		bytes_zero(out, size - sizeof(copy));
}

u32 attr_least_size(const struct attr *a)
{
	/* Samples cannot be read without it. */
	if (a->sample_tls_flags & PERF_SAMPLE_TLS_DEFER)
		return ATTR_SIZE_TLS;
	return a->config4 ? ATTR_SIZE_VER9 : a->config3 ? ATTR_SIZE_VER8 : ATTR_SIZE_VER7;
}

u32 attr_open_size(const struct attr *a)
{
	bool burst = a->sample_period_short || a->sample_period_jitter || a->sample_batch;

	return a->sample_type & PERF_SAMPLE_TLS_USER ? ATTR_SIZE_TLS : burst ? ATTR_SIZE_BURST : attr_least_size(a);
}
