/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: let several workers read samples that need an order.
 *
 * Counters are read as differences to their previous values, so one worker has to read all samples of one set of
 * counters, in the order of the file. A set is identified by the id of its first member and, if events are inherited,
 * so that each thread has its own counters under one id, also by its thread. The sets are distributed to a fixed
 * number of lanes, and the lanes to the workers. Call stacks of branch records are stitched from one sample of a
 * thread to the next, so these samples are distributed by thread. A sample that reads nothing goes where the one
 * before it went. Records that are not samples are shown to every worker, each at its place among the worker's
 * samples.
 */
#ifndef PASS_LANES_H
#define PASS_LANES_H

#include "pass/session.h"

/* Never called on two threads at once for one worker. */
typedef void (*lane_fn)(void *ctx, u32 worker, const struct source_record *at);

/* Shows fn all records of the session's blocks. Ends early when s->opts.stop says so. */
void lanes_run(struct session *s, u32 workers, lane_fn fn, void *ctx);

#endif
