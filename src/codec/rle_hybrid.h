/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parquet's hybrid of runs and packed bits, for small numbers: indices of a dictionary, and definition levels. A run
 * of eight or more equal values is written once, with its length; others are packed in groups of eight, each value in
 * `width` bits, the first one in the lowest bits.
 */
#ifndef CODEC_RLE_HYBRID_H
#define CODEC_RLE_HYBRID_H

#include "base/bytes.h"

/* Appends n values, each below 1 << width; width is 1 to 32. The last group is filled up with zeros: who reads them
 * knows n. */
void rle_hybrid_put(const u32 *v, u32 n, u32 width, struct bytes *out);
/* The same of n equal values. */
void rle_hybrid_put_same(u32 value, u32 n, u32 width, struct bytes *out);
/* The number of bits that values up to this one need, at least 1. */
u32 rle_hybrid_width(u32 largest);

#endif
