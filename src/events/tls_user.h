/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples with bytes of the thread's own memory in them (PERF_SAMPLE_TLS_USER), on kernels with the patches of
 * kernel/.
 */
#ifndef EVENTS_TLS_USER_H
#define EVENTS_TLS_USER_H

#include "events/spec.h"

#define TLS_USER_MAX 4096 /* bytes in a sample */

/* Does any of the events want it (terms tls-size=, ...)? */
bool tls_user_wanted(const struct event_specs *specs);
/*
 * Does this kernel do it? As with alternating periods, it is seen by what comes: this thread's own bytes, in samples
 * of a clock over some milliseconds. *why (static text): what was seen.
 */
bool tls_user_works(const char **why);

#endif
