/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/spe_shapes.h"

/* In no order; s->n: none. */
static u32 look_for(const struct spe_shapes *s, const u8 *p)
{
	u32 i = 0;

	while (i < s->n && !spe_shape_fits(&s->v[i], p))
		i++;
	return i;
}

const struct spe_shape *spe_shape_look_for(struct spe_shapes *s, const u8 *p, u8 *guess)
{
	u32 i = spe_shape_fits(&s->v[guess[1]], p) ? guess[1] : look_for(s, p);

	if (i == s->n)
		return NULL;
	guess[1] = guess[0];
	guess[0] = (u8)i;
	return &s->v[i];
}

/* SPE_NR_FIELDS: none. */
static u32 field_of(const struct spe_packet *p)
{
	static const u8 addresses[SPE_NR_ADDRESSES] = {
		[SPE_PC] = SPE_FIELD_PC,
		[SPE_TARGET] = SPE_FIELD_TARGET,
		[SPE_VIRTUAL] = SPE_FIELD_VIRTUAL,
		[SPE_PHYSICAL] = SPE_FIELD_PHYSICAL,
		[SPE_PREVIOUS_TARGET] = SPE_FIELD_PREVIOUS_TARGET,
	};

	switch (p->type) {
	case SPE_ADDRESS:
		return p->index < SPE_NR_ADDRESSES ? addresses[p->index] : SPE_NR_FIELDS;
	case SPE_COUNTER:
		return p->index < SPE_NR_COUNTERS ? SPE_FIELD_LATENCY + p->index : SPE_NR_FIELDS;
	case SPE_SOURCE:
		return SPE_FIELD_SOURCE;
	case SPE_EVENTS:
		return SPE_FIELD_EVENTS;
	case SPE_TIMESTAMP:
		return SPE_FIELD_TIME;
	case SPE_CONTEXT:
		return SPE_FIELD_CONTEXT;
	case SPE_OPERATION:
		return SPE_FIELD_OPERATION;
	default:
		return SPE_NR_FIELDS;
	}
}

void spe_shape_note(struct spe_shapes *s, const u8 *p, u64 size, const struct spe_record *r)
{
	struct spe_shape shape = { .size = (u32)size, .has = r->has, .operation_class = r->operation_class };
	u8 mask[8 * SPE_SHAPE_WORDS] = { 0 }, header[8 * SPE_SHAPE_WORDS] = { 0 };
	struct spe_packet packet;

	if (s->n == SPE_SHAPES || size > sizeof(mask))
		return;
	for (u64 at = 0; at < size; at += packet.size) {
		u32 headers, field;

		spe_packet_decode(p, size, at, 0, &packet);
		if (packet.type == SPE_BAD || packet.type == SPE_UNKNOWN || (packet.type == SPE_PAD && p[at]))
			return;
		headers = packet.type == SPE_PAD ? packet.size : packet.header[1] ? 2 : 1;
		memset(mask + at, 0xff, headers);
		memcpy(header + at, p + at, headers);
		field = field_of(&packet);
		if (field == SPE_NR_FIELDS)
			continue;
		shape.at[field] = (u8)(at + headers);
		shape.payload[field] = UINT64_MAX >> (64 - 8 * (packet.size - headers));
	}
	shape.words = (u32)(size + 7) / 8;
	memcpy(shape.mask, mask, sizeof(mask));
	memcpy(shape.header, header, sizeof(header));
	/* A record at the end of a buffer is of a known shape mostly, and only has too little behind it. */
	for (u32 i = 0; i < s->n; i++)
		if (s->v[i].size == size && !memcmp(s->v[i].mask, mask, sizeof(mask)) &&
		    !memcmp(s->v[i].header, header, sizeof(header)))
			return;
	s->v[s->n++] = shape;
}

void spe_shape_read(const struct spe_shape *s, const u8 *p, struct spe_record *out)
{
	u8 level;

	memset(out->unused, 0, sizeof(out->unused));
	out->has = s->has;
	out->time = spe_shape_payload(s, SPE_FIELD_TIME, p);
	out->pc = spe_code_address(spe_shape_payload(s, SPE_FIELD_PC, p), &out->level);
	out->target = spe_code_address(spe_shape_payload(s, SPE_FIELD_TARGET, p), &level);
	out->previous_target = spe_code_address(spe_shape_payload(s, SPE_FIELD_PREVIOUS_TARGET, p), &level);
	out->virtual = spe_data_address(spe_shape_payload(s, SPE_FIELD_VIRTUAL, p));
	out->physical = spe_physical_address(spe_shape_payload(s, SPE_FIELD_PHYSICAL, p));
	out->source = spe_shape_payload(s, SPE_FIELD_SOURCE, p);
	out->events = spe_shape_payload(s, SPE_FIELD_EVENTS, p);
	out->context = (u32)spe_shape_payload(s, SPE_FIELD_CONTEXT, p);
	out->operation = (u8)spe_shape_payload(s, SPE_FIELD_OPERATION, p);
	out->operation_class = s->operation_class;
	for (u32 i = 0; i < SPE_NR_COUNTERS; i++)
		out->latency[i] = (u16)spe_shape_payload(s, SPE_FIELD_LATENCY + i, p);
}
