/* SPDX-License-Identifier: Apache-2.0 */
/* When a recording's threads worked for each trace. */
#ifndef PASS_TRACE_VISITS_H
#define PASS_TRACE_VISITS_H

#include "agg/trace_visits.h"
#include "pass/session.h"

/* Of a session with activities whose clock is time. *out ends with trace_visits_free. */
void session_trace_visits(const struct session *s, struct trace_visits *out);

#endif
