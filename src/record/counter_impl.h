/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of counter_open.c, which opens and reads descriptors, for counter.c, which runs and waits. */
#ifndef RECORD_COUNTER_IMPL_H
#define RECORD_COUNTER_IMPL_H

#include "record/counter.h"

/*
 * Opens each event on each CPU and task of the target. An event that cannot be opened becomes COUNT_UNSUPPORTED.
 * on_exec: the first task's exec switches events on; else they stay off.
 */
void counter_open(const struct counter_opts *o, const struct event_specs *specs, const struct target *t, bool on_exec,
		  struct counter_result *r);
void counter_enable(const struct counter_result *r);
/* A new interval begins at the last reading. */
void counter_rebase(struct counter_result *r);
void counter_read(struct counter_result *r);
/* Takes the values of this run from the last reading, and closes the descriptors. */
void counter_finish(struct counter_result *r);
void counter_close(struct counter_result *r);

#endif
