/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equal operations of Arm SPE are counted, and only different ones become hits.
 *
 * A program does the same over and over, so most operations are equal to one before them in everything that is looked
 * at: the instruction, what happened to it, its datum and its latencies, the thread and what held for it. Which parts
 * are looked at depends on the keys and measures in use (agg/operation_wants.h). Equal records of one shape
 * (codec/spe_shapes.h) have equal bytes there, so they are compared, hashed and counted without being decoded.
 *
 * The table has a limit. Where a set of its slots is full, one of them is handed on as a hit that stands for several
 * operations (spe_operation.more), and its slot is used for the new one. So the memory does not depend on the
 * recording, and where nothing repeats, each operation is a hit, as it would be without the table.
 */
#ifndef PASS_EQUAL_OPERATIONS_H
#define PASS_EQUAL_OPERATIONS_H

#include "agg/operation_wants.h"
#include "codec/spe_reader.h"
#include "pass/feed.h"

struct equal_operations;

/* One per worker. bytes: of AUX data, which tell how large a table can be of use. */
struct equal_operations *equal_operations_new(const struct procs *procs, const struct operation_wants *wants,
					      u64 bytes);
void equal_operations_free(struct equal_operations *q);

/*
 * Counts records from r->at on, until one that cannot be counted: it is of no known shape, or too close to the end of
 * the buffer. Returns how many records there were. *time: as that of spe_hit. f: the feed whose operations these are,
 * the same in each call; its shapes are r's.
 */
u64 equal_operations_take(struct equal_operations *q, const struct feed *f, const struct aux_buffer *b,
			  struct spe_reader *r, u64 *time, hit_fn take, void *ctx);
/* Hands on all that was counted. */
void equal_operations_flush(struct equal_operations *q, const struct feed *f, hit_fn take, void *ctx);

#endif
