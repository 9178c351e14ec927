/* SPDX-License-Identifier: Apache-2.0 */
/* The values of sort keys (agg/keys.h) that come from frames. */
#ifndef AGG_FRAME_KEYS_H
#define AGG_FRAME_KEYS_H

#include "agg/profile.h"

/* What keys of the frame need in addition to the frame. Zeroed except for the profile; freed by frame_keys_free. */
struct frame_keys {
	struct profile *p;
	struct map by_dso;   /* short name's string id -> first DSO id */
	struct strtab names; /* of DSOs */
	struct map types;    /* hash of a hit's value and a key of types -> string id */
	struct map lines;    /* frame -> string id of its source line, for keys that have of_value */
};
void frame_keys_free(struct frame_keys *k);

u32 frame_key_dso(struct frame_keys *k, const struct frame *f);
u32 frame_key_dso_size(struct frame_keys *k, const struct frame *f);
u32 frame_key_symbol(struct frame_keys *k, const struct frame *f);
u32 frame_key_symbol_size(struct frame_keys *k, const struct frame *f);
u32 frame_key_srcline(struct frame_keys *k, const struct frame *f);
u32 frame_key_srcfile(struct frame_keys *k, const struct frame *f);

/* What replaces a hit's value in rows (sort_key_row.of_value): for a DSO, the one that stands for all DSOs of its
 * short name; for a frame, its source line. */
u64 frame_key_dso_by_name(struct frame_keys *k, u64 dso);
u64 frame_key_end_line(struct frame_keys *k, u64 frame);

/*
 * Types of what instructions load and store. Their value of a hit: the frame of the instruction, and above it that of
 * the datum, plus 1, or 0 where the datum's address is that of no variable.
 */
#define TYPE_DATUM_SHIFT 32
u64 frame_key_type(struct frame_keys *k, u64 value);
u64 frame_key_type_offset(struct frame_keys *k, u64 value);
u64 frame_key_type_line(struct frame_keys *k, u64 value);

#endif
