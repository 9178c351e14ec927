/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that alternate the lengths of periods themselves, as the patches of kernel/ make them. */
#ifndef WINDOWS_NATIVE_H
#define WINDOWS_NATIVE_H

#include "codec/attr.h"
#include "codec/schedule.h"

/*
 * Does this kernel support it? This is found out by sampling a clock for about 20 ms: that the attr is accepted says
 * nothing, because other kernel versions have other fields there. *why (static text): what was found.
 */
bool windows_native_works(const char **why);

/*
 * Kernels that do it refuse it for some PMUs, and for periods that a PMU cannot keep to. Does this one, for a leader
 * with these short periods? Why (static text), or NULL. cpus: as in an event_spec.
 */
const char *windows_native_refused(const struct attr *leader, const struct schedule *s, const char *cpus);

#endif
