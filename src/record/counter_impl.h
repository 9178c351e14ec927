/* SPDX-License-Identifier: Apache-2.0 */
/* What counter.c, which runs and waits, has of counter_open.c, which opens descriptors and reads them. */
#ifndef RECORD_COUNTER_IMPL_H
#define RECORD_COUNTER_IMPL_H

#include "record/counter.h"

/*
 * Opens each event on each CPU and task of the target. What cannot be opened becomes COUNT_UNSUPPORTED. on_exec: the
 * first task's exec switches them on; else they are off.
 */
void counter_open(const struct counter_opts *o, const struct event_specs *specs, const struct target *t, bool on_exec,
		  struct counter_result *r);
void counter_enable(const struct counter_result *r);
/* A new interval begins where the last reading was. */
void counter_rebase(struct counter_result *r);
void counter_read(struct counter_result *r);
/* Takes what all runs are told of from the last reading, and closes the descriptors. */
void counter_finish(struct counter_result *r);
void counter_close(struct counter_result *r);

#endif
