/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of value.c, which calculates metrics from windows alone, for estimate.c, which calculates them from
 * samples and windows. */
#ifndef METRIC_METRIC_IMPL_H
#define METRIC_METRIC_IMPL_H

#include "metric/metrics.h"

/* The value from the kept windows of a block alone (ATTRIBUTION_DISCARD and similar modes). */
void metric_by_windows(const struct metric_table *t, const struct metric_expr *x, const double *block,
		       struct metric_value *out);
/* g' C g, where C is the covariance of the sums of n clusters, and g a number per member. */
double metric_spread(const struct metric_table *t, const double *block, const double *g, double n);
/* METRIC_PER_CALL of a block. */
void metric_per_call(const double *block, struct metric_value *out);

#endif
