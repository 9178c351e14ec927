/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rendered addresses, cached.
 *
 * An address of a sample, or one entry of its call chain, is shown as text that depends only on where it lies and on
 * which fields are wanted (the "style"). Two levels of cache, both bounded:
 *
 *   front	direct-mapped, key (address space version, address, style): a hit costs one probe and no look-up at all
 *   texts	exact, key (DSO, address in it, style): the same code in many processes is looked up and rendered once
 *
 * When the texts outgrow their bound everything is dropped and built anew. Kernel space has no version: an entry that
 * does not lie in the kernel image proper is checked against the kernel's maps of that moment before it is used.
 */
#ifndef VIEW_SCRIPT_PLACE_H
#define VIEW_SCRIPT_PLACE_H

#include "attrib/place.h"
#include "base/arena.h"
#include "view/script/script.h"

/* How an address is shown: the fields of its kind of event, in a chain or on the sample's own line. */
struct place_style {
	u32 shown; /* SCRIPT_SYM, _SYMOFF, _DSO, _DSOFF, _SRCLINE, _IP */
	bool chain;
	bool json;
};

struct place_cache;

struct place_cache *place_cache_new(const struct script *s);
void place_cache_free(struct place_cache *c);

/*
 * The text of one address, valid until the next call. In a chain: whole lines, inlined callers included, with the
 * newline. Else: what follows the address on the sample's line. *stop: the frame is one of the symbols at which chains
 * end.
 */
struct str place_text(struct place_cache *c, const struct thread_view *thread, u32 cpumode, u64 ip,
		      const struct place_style *style, u32 style_id, bool *stop);

/* Brings in what place_text will look at first. */
void place_prefetch(const struct place_cache *c, const struct thread_view *thread, u32 cpumode, u64 ip, u32 style_id);

/* Finds the symbol of an address that place_text will be asked for, so that names can be asked for together. */
void place_ahead(const struct place_cache *c, const struct thread_view *thread, u32 cpumode, u64 ip, u32 style_id);

/* Pieces, for the rarer fields: " sym+0x1" without the blank, "path" of a DSO. */
void place_put_symbol(const struct script *s, const struct place *p, bool offset, struct bytes *out);
void place_put_dso(const struct script *s, const struct place *p, bool offset, struct bytes *out);

#endif
