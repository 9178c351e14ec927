/* SPDX-License-Identifier: Apache-2.0 */
/* What value.c, which makes metrics of windows alone, has for estimate.c, which makes them of samples and windows. */
#ifndef METRIC_METRIC_IMPL_H
#define METRIC_METRIC_IMPL_H

#include "metric/metrics.h"

/* What the kept windows of a block say alone (ATTRIBUTION_DISCARD and those like it). */
void metric_by_windows(const struct metric_table *t, const struct metric_expr *x, const double *block,
		       struct metric_value *out);
/* g' C g, where C is the covariance of the sums of n clusters, and g a number per member. */
double metric_spread(const struct metric_table *t, const double *block, const double *g, double n);
/* METRIC_PER_CALL of a block. */
void metric_per_call(const double *block, struct metric_value *out);

#endif
