/* SPDX-License-Identifier: Apache-2.0 */
/* The table of measures: a row each. */
#include "agg/cpu_modes.h"
#include "agg/operations.h"
#include "agg/weights.h"
#include "agg/window_rows.h"

const struct measure measures[NR_MEASURES] = {
	[MEASURE_WINDOWS] = { .held = sizeof(struct window),
			      .sums = sizeof(struct window_sums),
			      .hold = window_hits_hold,
			      .add = window_hits_add,
			      .flush = window_hits_flush,
			      .merge = window_sums_merge,
			      .free = window_sums_free,
			      .of_event = profile_windows_new,
			      .rows = profile_windows_rows,
			      .free_event = profile_windows_free },
	[MEASURE_WEIGHTS] = { .full = true,
			      .held = sizeof(struct weight_held),
			      .sums = sizeof(struct weight_sums),
			      .hold = weights_hold,
			      .add = weights_add,
			      .merge = weight_sums_merge,
			      .free = weight_sums_free,
			      .of_event = profile_weights_new,
			      .rows = profile_weights_rows,
			      .free_event = profile_weights_free },
	[MEASURE_OPERATIONS] = { .held = sizeof(struct operation_held),
				 .sums = sizeof(struct operation_sums),
				 .hold = operations_hold,
				 .add = operations_add,
				 .merge = operation_sums_merge,
				 .free = operation_sums_free,
				 .of_event = profile_operations_new,
				 .rows = profile_operations_rows,
				 .free_event = profile_operations_free },
	[MEASURE_CPU_MODES] = { .held = sizeof(struct mode_held),
				.sums = sizeof(struct mode_sums),
				.hold = cpu_modes_hold,
				.add = cpu_modes_add,
				.merge = mode_sums_merge,
				.free = mode_sums_free,
				.of_event = profile_modes_new,
				.rows = profile_modes_rows,
				.free_event = profile_modes_free },
};
