/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats of tracepoints, as the TRACING_DATA feature carries them (trace-cmd's file format, version 0.6): readers
 * need them to print a tracepoint's raw data.
 */
#ifndef RECORD_TRACING_DATA_H
#define RECORD_TRACING_DATA_H

#include "open/set.h"

/* Appends the formats of the set's tracepoints; nothing if there are none, or if tracefs cannot be read. */
void tracing_data(const struct event_set *set, struct bytes *out);

#endif
