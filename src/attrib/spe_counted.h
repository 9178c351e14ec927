/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arm SPE's operations as samples of what the counters of windows count.
 *
 * The addresses of an Arm PMU's samples are late, and those of operations are exact. If no filter was in effect, one
 * of so many operations was sampled, whatever it was; those that retired are samples of `instructions`, those of
 * mispredicted branches are samples of `branch-misses`, and so on. So for each counter of a group that an operation's
 * events can tell, an event is made whose samples are the operations that the counter counts. It has the counter's
 * attr, by which the table of metrics finds it (agg/window_samples.c).
 *
 * What an operation's bits mean and what a counter counts may still differ: many cores sample micro-operations, of
 * which an instruction has one or more; a counter may include prefetches; data may be lost. The reader of these events
 * compares how many they stand for with what the counter counted.
 */
#ifndef ATTRIB_SPE_COUNTED_H
#define ATTRIB_SPE_COUNTED_H

#include "attrib/spe.h"
#include "codec/event_role.h"
#include "codec/evlist.h"

/* Adds such events for the counters that a recording's groups read, after spe_add_events. Returns NULL, or words that
 * say why none was added though there are groups: "they ...". */
const char *spe_add_counted(struct spe *s, enum event_machine machine, struct evlist *l);

#endif
