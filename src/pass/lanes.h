/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: samples that need an order, by several workers.
 *
 * Counters are read as differences to what they said before, so the samples of one set of counters belong to one
 * worker, in the order of the file. A set is known by the id of its first member, and where events are inherited, so
 * that each thread has counters of its own under one id, by its thread as well. The sets are dealt to a fixed number
 * of lanes, and each lane to a worker. Call stacks of branch records are stitched from one sample of a thread to the
 * next, so those samples are dealt by thread. Samples that read nothing go to whoever took the block before. Records
 * that are no samples are shown to every worker, each at its place among those samples that are the worker's.
 */
#ifndef PASS_LANES_H
#define PASS_LANES_H

#include "pass/session.h"

/* Never called on two threads at once for one worker. */
typedef void (*lane_fn)(void *ctx, u32 worker, const struct source_record *at);

/* Do samples of any event read counters, or hold call stacks of branch records? */
bool lanes_needed(const struct evlist *l);

/* Shows fn all records of the session's blocks. Ends early when s->opts.stop says so. */
void lanes_run(struct session *s, u32 workers, lane_fn fn, void *ctx);

#endif
