/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes of records: the headers of a record's packets, in order. A core writes records of few shapes, and a record of
 * a known shape is recognised by comparing all its headers at once. Its fields then lie at known places, so that none
 * of its packets has to be decoded to know where the next one begins.
 *
 * A shape holds what spe_next made of a record packet by packet, so both ways give the same. Zeros
 * between packets belong to the shape. Records with other filling, which depends on their place, or with packets of
 * unknown types have none.
 */
#ifndef CODEC_SPE_SHAPES_H
#define CODEC_SPE_SHAPES_H

#include <endian.h>
#include <string.h>

#include "base/block.h"
#include "codec/spe.h"

#define SPE_SHAPES 32
#define SPE_SHAPE_WORDS 12
#define SPE_SHAPE_SPARE 8 /* bytes behind a record from which fields may be read */

/* Fields that are copied out of packets. */
enum spe_field {
	SPE_FIELD_PC,
	SPE_FIELD_TARGET,
	SPE_FIELD_PREVIOUS_TARGET,
	SPE_FIELD_VIRTUAL,
	SPE_FIELD_PHYSICAL,
	SPE_FIELD_SOURCE,
	SPE_FIELD_EVENTS,
	SPE_FIELD_TIME,
	SPE_FIELD_CONTEXT,
	SPE_FIELD_OPERATION,
	SPE_FIELD_LATENCY,
	SPE_NR_FIELDS = SPE_FIELD_LATENCY + SPE_NR_COUNTERS
};

struct spe_shape {
	u32 size, words;
	u64 has;
	u8 operation_class;
	u8 at[SPE_NR_FIELDS];	    /* of their payloads, from the first packet */
	u64 payload[SPE_NR_FIELDS]; /* bits of the 8 bytes there that belong to them; 0: the shape has no such field */
	u64 mask[SPE_SHAPE_WORDS];  /* where headers are */
	u64 header[SPE_SHAPE_WORDS]; /* and what they are */
};

/* Which shape a record has cannot be foreseen by a processor that has to choose between them, and a wrong guess costs
 * it as much as all else that is done with a record. But an instruction's records are mostly of one shape. */
#define SPE_SHAPE_GUESSES 12 /* bits */

/* A zeroed struct is empty. One thread's. */
struct spe_shapes {
	u32 n;
	/* By hash of what follows the first header, which is the PC: the last shape, and the one before it, in v. */
	u8 guesses[1u << SPE_SHAPE_GUESSES][2];
	struct spe_shape v[SPE_SHAPES];
};

/* Has the record at p the headers of the shape? 8 * SPE_SHAPE_WORDS bytes can be read there. Most shapes have no more
 * words than a block, for which there is no loop. */
static inline bool spe_shape_fits(const struct spe_shape *s, const u8 *p)
{
	u64 other = 0, word;

	if (!block_fits(p, s->mask, s->header))
		return false;
	for (u32 i = BLOCK_WORDS; i < s->words; i++) {
		memcpy(&word, p + 8 * i, sizeof(word));
		other |= (word & s->mask[i]) ^ s->header[i];
	}
	return !other;
}

/* So many bytes ahead, packets are fetched. The processor does that by itself, but stops at the end of each page. */
#define SPE_SHAPE_AHEAD 1024

/* The shape if it is not the first guess, which becomes that. NULL: none that is known. */
const struct spe_shape *spe_shape_look_for(struct spe_shapes *s, const u8 *p, u8 *guess);

/* The shape of the record that begins at p; NULL: none that is known. There are `left` bytes, and `spare` more behind
 * them which are not the record's, but may be read. */
static inline const struct spe_shape *spe_shape_of(struct spe_shapes *s, const u8 *p, u64 left, u64 spare)
{
	const struct spe_shape *found;
	u8 *guess;
	u64 word;

	if (!s->n ||
	    (left < 8 * SPE_SHAPE_WORDS + SPE_SHAPE_SPARE && left + spare < 8 * SPE_SHAPE_WORDS + SPE_SHAPE_SPARE))
		return NULL;
	__builtin_prefetch(p + SPE_SHAPE_AHEAD);
	memcpy(&word, p + 1, sizeof(word));
	guess = s->guesses[word * 0x9e3779b97f4a7c15u >> (64 - SPE_SHAPE_GUESSES)];
	found = &s->v[guess[0]];
	if (UNLIKELY(!spe_shape_fits(found, p))) {
		found = spe_shape_look_for(s, p, guess);
		if (!found)
			return NULL;
	}
	return found->size <= left ? found : NULL;
}
/* Notes the shape of a record that consists of these bytes, if it has one and there is room. */
void spe_shape_note(struct spe_shapes *s, const u8 *p, u64 size, const struct spe_record *r);
/* The payload of a field; p: as above, with SPE_SHAPE_SPARE bytes behind the record. */
static inline u64 spe_shape_payload(const struct spe_shape *s, enum spe_field field, const u8 *p)
{
	u64 v;

	memcpy(&v, p + s->at[field], sizeof(v));
	return le64toh(v) & s->payload[field];
}
/* What its packets say, into all of the record but at and end; p: as above. */
void spe_shape_read(const struct spe_shape *s, const u8 *p, struct spe_record *out);

#endif
