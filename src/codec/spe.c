/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/spe.h"

#define EXTENDED 0x20
#define KERNEL_HALF (0xffull << 56)
#define ADDRESS_BITS (~KERNEL_HALF)
#define PADS_IN_A_ROW 16u

/*
 * A row per kind of header: what bits it is known by, how its payload's size is said (bits 5:4, where it is not
 * fixed), and where its index stands. The first that fits is taken.
 */
static const struct kind {
	u8 mask, value, type;
	u8 index_mask;
	u8 sizes; /* of payloads that there are, as bits: 1 << log2(bytes) */
} kinds[] = {
	{ 0xff, 0x01, SPE_END, 0, 0 },		{ 0xff, 0x71, SPE_TIMESTAMP, 0, 1 << 3 },
	{ 0xcf, 0x42, SPE_EVENTS, 0, 0xf },	{ 0xcf, 0x43, SPE_SOURCE, 0, 0xf },
	{ 0xfc, 0x64, SPE_CONTEXT, 3, 1 << 2 }, { 0xfc, 0x48, SPE_OPERATION, 3, 1 << 0 },
	{ 0xf8, 0xb0, SPE_ADDRESS, 7, 1 << 3 }, { 0xf8, 0x98, SPE_COUNTER, 7, 1 << 1 },
};

static const struct kind *kind_of(u8 header)
{
	for (u32 i = 0; i < ARRAY_LEN(kinds); i++)
		if ((header & kinds[i].mask) == kinds[i].value)
			return &kinds[i];
	return NULL;
}

static u64 little_endian(const u8 *p, u32 bytes)
{
	u64 v = 0;

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

/* The packet behind its first header byte, which says whether there is a second one. */
static void decode_long(const u8 *p, u64 left, struct spe_packet *out)
{
	u32 headers = (p[0] & 0xfc) == EXTENDED ? 2 : 1;
	u8 header = p[MIN(headers, left) - 1];
	const struct kind *k = kind_of(header);
	u32 bytes = 1u << (header >> 4 & 3);

	/* Headers from 0x40 on say the size of their payload, even reserved ones; of those from 0xc0 on nobody knows.
	 */
	if (!k && (header < 0x40 || header >= 0xc0))
		return;
	if (k && k->type == SPE_END)
		bytes = 0;
	else if (k && !(k->sizes & bytes))
		return;
	if (headers + bytes > left)
		return;
	out->type = k ? k->type : SPE_UNKNOWN;
	out->index = k ? (u8)((header & k->index_mask) | (headers == 2 ? (p[0] & 3) << 3 : 0)) : 0;
	out->header[1] = headers == 2 ? header : 0;
	out->size = (u16)(headers + bytes);
	out->payload = little_endian(p + headers, bytes);
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
	else
		decode_long(p, left, out);
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

/* Programs of EL1 and EL2 run in the upper half; their top byte holds the level instead. */
static u64 code_address(u64 payload, u8 *level)
{
	bool not_secure = payload >> 63;

	*level = payload >> 61 & 3;
	return not_secure && (*level == 1 || *level == 2) ? payload | KERNEL_HALF : payload & ADDRESS_BITS;
}

/* The top byte holds the pointer's tag. */
static u64 data_address(u64 payload)
{
	return (payload >> 52 & 0xf) == 0xf ? payload | KERNEL_HALF : payload & ADDRESS_BITS;
}

static void take_address(struct spe_record *r, const struct spe_packet *p)
{
	u8 level;

	switch (p->index) {
	case SPE_PC:
		r->pc = code_address(p->payload, &r->level);
		break;
	case SPE_TARGET:
		r->target = code_address(p->payload, &level);
		break;
	case SPE_PREVIOUS_TARGET:
		r->previous_target = code_address(p->payload, &level);
		break;
	case SPE_VIRTUAL:
		r->virtual = data_address(p->payload);
		break;
	case SPE_PHYSICAL:
		r->physical = p->payload & ADDRESS_BITS;
		break;
	default:
		return;
	}
	r->has |= SPE_HAS_ADDRESS(p->index);
}

static void take_packet(struct spe_record *r, const struct spe_packet *p)
{
	r->has |= SPE_HAS(p->type);
	switch (p->type) {
	case SPE_ADDRESS:
		take_address(r, p);
		break;
	case SPE_COUNTER:
		if (p->index < SPE_NR_COUNTERS) {
			r->latency[p->index] = (u16)p->payload;
			r->has |= SPE_HAS_LATENCY(p->index);
		}
		break;
	case SPE_CONTEXT:
		r->context = (u32)p->payload;
		break;
	case SPE_OPERATION:
		r->operation_class = p->index;
		r->operation = (u8)p->payload;
		break;
	case SPE_EVENTS:
		r->events = p->payload;
		break;
	case SPE_SOURCE:
		r->source = p->payload;
		break;
	case SPE_TIMESTAMP:
		r->time = p->payload;
		break;
	default:
		break;
	}
}

bool spe_next(struct spe_reader *r, struct spe_record *out)
{
	struct spe_packet p;
	bool broken = false;

	*out = (struct spe_record){ .at = r->at };
	while (r->at < r->len) {
		spe_packet_decode(r->data, r->len, r->at, r->aux_offset, &p);
		if (!out->has)
			out->at = r->at;
		r->at += p.size;
		switch (p.type) {
		case SPE_BAD:
			r->bad_bytes++;
			broken = true;
			break;
		case SPE_UNKNOWN:
			r->unknown++;
			break;
		case SPE_PAD:
			break;
		default:
			take_packet(out, &p);
		}
		if (p.type != SPE_TIMESTAMP && p.type != SPE_END)
			continue;
		out->end = r->at;
		if (!broken && out->has & ~(SPE_HAS(SPE_END) | SPE_HAS(SPE_TIMESTAMP)))
			return true;
		r->broken += broken;
		broken = false;
		*out = (struct spe_record){ 0 };
	}
	return false;
}
