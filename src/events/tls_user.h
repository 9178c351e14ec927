/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples with bytes of the thread's own memory in them (PERF_SAMPLE_TLS_USER), on kernels with the patches of
 * kernel/.
 */
#ifndef EVENTS_TLS_USER_H
#define EVENTS_TLS_USER_H

#include "events/spec.h"

#define TLS_USER_MAX 4096 /* bytes in a sample */

/* Does any of the events ask for it (terms tls-size=, ...)? */
bool tls_user_wanted(const struct event_specs *specs);
/*
 * Does this kernel support it? As with alternating periods, this is found out by trying: samples of a clock over some
 * milliseconds have to contain this thread's own bytes. *why (static text): what was found.
 */
bool tls_user_works(const char **why);

#endif
