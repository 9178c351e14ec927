/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/spe.h"

#include <endian.h>
#include <string.h>

#define EXTENDED 0x20
#define PADS_IN_A_ROW 16u

/*
 * A row per kind of header: what it is known by, where its index stands, and how its payload's size is said (bits 5:4,
 * where it is not fixed).
 */
static const struct kind {
	u8 value, type;
	u8 index_mask;
	u8 sizes; /* of payloads that there are, as bits: 1 << log2(bytes) */
} kinds[] = {
	{ 0 },
	{ 0x01, SPE_END, 0, 0 },
	{ 0x71, SPE_TIMESTAMP, 0, 1 << 3 },
	{ 0x42, SPE_EVENTS, 0, 0xf },
	{ 0x43, SPE_SOURCE, 0, 0xf },
	{ 0x64, SPE_CONTEXT, 3, 1 << 2 },
	{ 0x48, SPE_OPERATION, 3, 1 << 0 },
	{ 0xb0, SPE_ADDRESS, 7, 1 << 3 },
	{ 0x98, SPE_COUNTER, 7, 1 << 1 },
};

/* Each header's row. Of each size that bits 5:4 can say; or with each index. */
#define BY_SIZE(header, row)                                                                                          \
	[header] = (row), [(header) + 0x10] = (row), [(header) + 0x20] = (row), [(header) + 0x30] = (row)
#define BY_INDEX(header, row) [header] = (row), [(header) + 1] = (row), [(header) + 2] = (row), [(header) + 3] = (row)
static const u8 rows[256] = {
	[0x01] = 1,	   [0x71] = 2,	      BY_SIZE(0x42, 3),	 BY_SIZE(0x43, 4),  BY_INDEX(0x64, 5),
	BY_INDEX(0x48, 6), BY_INDEX(0xb0, 7), BY_INDEX(0xb4, 7), BY_INDEX(0x98, 8), BY_INDEX(0x9c, 8),
};

static const struct kind *kind_of(u8 header)
{
	return rows[header] ? &kinds[rows[header]] : NULL;
}

/* Of 1, 2, 4 or 8 bytes at p, behind which `left` bytes begin, themselves included. */
static inline u64 little_endian(const u8 *p, u32 bytes, u64 left)
{
	u64 v = 0;

	if (LIKELY(left >= sizeof(v))) {
		memcpy(&v, p, sizeof(v));
		return le64toh(v) & (UINT64_MAX >> (64 - 8 * bytes));
	}
	for (u32 i = 0; i < bytes; i++)
		v |= (u64)p[i] << 8 * i;
	return v;
}

/* Up to the next multiple of 2 << n, counted where the buffer stood when it was written. */
static u64 alignment(u8 header, u64 offset)
{
	u64 to = 2ull << (header & 0xf);

	return to - (offset & (to - 1));
}

/* The packet with so many header bytes, of which the last one is `header`. */
static inline void decode_headed(const u8 *p, u64 left, u32 headers, u8 header, struct spe_packet *out)
{
	const struct kind *k = kind_of(header);
	u32 bytes = 1u << (header >> 4 & 3);

	/* Headers from 0x40 on say the size of their payload, even reserved ones; of those from 0xc0 on nobody knows.
	 */
	if (!k && (header < 0x40 || header >= 0xc0))
		return;
	if (k && !k->sizes)
		bytes = 0;
	else if (k && !(k->sizes & bytes))
		return;
	if (headers + bytes > left)
		return;
	out->type = k ? k->type : SPE_UNKNOWN;
	out->index = k ? (u8)((header & k->index_mask) | (headers == 2 ? (p[0] & 3) << 3 : 0)) : 0;
	out->header[1] = headers == 2 ? header : 0;
	out->size = (u16)(headers + bytes);
	if (bytes)
		out->payload = little_endian(p + headers, bytes, left - headers);
}

void spe_packet_decode(const u8 *data, u64 len, u64 at, u64 aux_offset, struct spe_packet *out)
{
	const u8 *p = data + at;
	u64 left = len - at, size = 0;

	*out = (struct spe_packet){ .type = SPE_BAD, .header = { p[0], 0 }, .size = 1 };
	if (!p[0])
		while (size < MIN(left, PADS_IN_A_ROW) && !p[size])
			size++;
	else if ((p[0] & 0xfc) == EXTENDED && left > 1 && !p[1])
		size = alignment(p[0], aux_offset + at);
	else if ((p[0] & 0xfc) == EXTENDED)
		decode_headed(p, left, 2, p[MIN(left, 2u) - 1], out);
	else
		decode_headed(p, left, 1, p[0], out);
	if (size && size <= left) {
		out->type = SPE_PAD;
		out->size = (u16)size;
	}
}

static u8 header_of(enum spe_packet_type type)
{
	for (u32 i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i].type == type)
			return kinds[i].value;
	return 0;
}

/* log2 of the payload's bytes: the least that the type has and that hold it. */
static u32 size_of(enum spe_packet_type type, u64 payload)
{
	u32 log = 0, sizes = kind_of(header_of(type))->sizes;

	while (log < 3 && (!(sizes >> log & 1) || payload >> (8u << log)))
		log++;
	return log;
}

void spe_packet_encode(enum spe_packet_type type, u32 index, u64 payload, struct bytes *out)
{
	u32 log;

	if (type == SPE_PAD) {
		bytes_zero(out, payload);
		return;
	}
	if (index > 7)
		bytes_u8(out, (u8)(EXTENDED | (index >> 3 & 3)));
	if (type == SPE_END) {
		bytes_u8(out, header_of(type));
		return;
	}
	log = size_of(type, payload);
	bytes_u8(out, (u8)(header_of(type) | log << 4 | (index & 7)));
	for (u32 i = 0; i < 1u << log; i++)
		bytes_u8(out, (u8)(payload >> 8 * i));
}
