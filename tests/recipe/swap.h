/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns what our encoders wrote into what a machine of the other byte order would have written, in place. Works from
 * its own description of the formats, so that it checks the decoders rather than repeating them.
 */
#ifndef RECIPE_SWAP_H
#define RECIPE_SWAP_H

#include "codec/record.h"
#include "codec/sample.h"

void swap_attr(u8 *attr, u32 size);
/* record: one whole record. trailer: that of its event. layout: for samples. */
void swap_record(u8 *record, const struct trailer_layout *trailer, const struct sample_layout *layout);
/* The words of a table whose fields all take `width` bytes. */
void swap_words(u8 *p, size_t bytes, u32 width);

#endif
