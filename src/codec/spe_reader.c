/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/spe_reader.h"

#include "codec/spe_shapes.h"

static void take_address(struct spe_record *r, const struct spe_packet *p)
{
	u8 level;

	switch (p->index) {
	case SPE_PC:
		r->pc = spe_code_address(p->payload, &r->level);
		break;
	case SPE_TARGET:
		r->target = spe_code_address(p->payload, &level);
		break;
	case SPE_PREVIOUS_TARGET:
		r->previous_target = spe_code_address(p->payload, &level);
		break;
	case SPE_VIRTUAL:
		r->virtual = spe_data_address(p->payload);
		break;
	case SPE_PHYSICAL:
		r->physical = spe_physical_address(p->payload);
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

static bool is_wanted(const struct spe_wanted *w, const struct spe_shape *s, const u8 *p)
{
	bool accesses = s->has & SPE_HAS(SPE_OPERATION) && s->operation_class == SPE_LOAD_STORE;

	return w->all || (accesses && w->accesses) || spe_shape_payload(s, SPE_FIELD_EVENTS, p) & w->events;
}

static void pass_over(struct spe_reader *r, const struct spe_shape *s, const u8 *p)
{
	if (s->has & SPE_HAS(SPE_TIMESTAMP)) {
		r->ticks = spe_shape_payload(s, SPE_FIELD_TIME, p);
		r->has_ticks = true;
	}
	r->passed++;
}

/* The next record if it is of a known shape, as are those before it that are passed over. It fills the whole record,
 * which is not zeroed before. */
static bool next_of_shape(struct spe_reader *r, struct spe_record *out)
{
	const struct spe_shape *s;

	while (r->at < r->len) {
		const u8 *p = r->data + r->at;

		s = spe_shape_of(r->shapes, p, r->len - r->at, r->spare);
		if (!s)
			return false;
		if (!r->wanted || is_wanted(r->wanted, s, p)) {
			out->at = r->at;
			out->end = r->at += s->size;
			spe_shape_read(s, p, out);
			return true;
		}
		pass_over(r, s, p);
		r->at += s->size;
	}
	return false;
}

bool spe_next(struct spe_reader *r, struct spe_record *out)
{
	const u8 *data = r->data;
	u64 at = r->at, len = r->len, aux_offset = r->aux_offset;
	struct spe_packet p;
	bool broken = false;

	r->has_ticks = false;
	out->has = 0;
	while (at < len) {
		if (!out->has && !broken) {
			r->at = at;
			if (r->shapes && next_of_shape(r, out))
				return true;
			at = r->at;
			if (at == len)
				break;
			*out = (struct spe_record){ 0 };
		}
		spe_packet_decode(data, len, at, aux_offset, &p);
		if (!out->has)
			out->at = at;
		at += p.size;
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
		out->end = r->at = at;
		if (!broken && out->has & ~(SPE_HAS(SPE_END) | SPE_HAS(SPE_TIMESTAMP))) {
			if (r->shapes)
				spe_shape_note(r->shapes, data + out->at, at - out->at, out);
			return true;
		}
		r->broken += broken;
		broken = false;
		*out = (struct spe_record){ 0 };
	}
	r->at = at;
	return false;
}
