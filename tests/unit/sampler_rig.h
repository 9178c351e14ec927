/* SPDX-License-Identifier: Apache-2.0 */
/* A thread of the virtual PMU whose sampler is real, and whom it tells of is here. Operations are made by hand. */
#ifndef UNIT_SAMPLER_RIG_H
#define UNIT_SAMPLER_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/vpmu_truth.h"
#include "vpmu/cache.h"
#include "vpmu/model.h"
#include "vpmu/sampler.h"

#define PC 0x401000
#define DATA 0x7f0000001040
#define RIG_FIELDS (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID)

struct rig {
	struct vpmu_control control;
	struct vprocess process;
	struct vthread t;
	struct armed armed[ARMED_MAX];
	u32 nr_armed;
	struct sample sample; /* the last one; it points into `last` */
	struct bytes last;
	struct bytes packets; /* all that were passed on */
	u32 samples, pieces;
	struct rec_aux aux; /* the last that was told of */
	struct rec_read read;
	u32 totals;
	struct vpmu_truth_operation told;
	u64 told_id, told_pc;
	u32 nr_told;
};

/* Of process 3, thread 4, on CPU 5; the events have ids from 10 on. The sampler is not started yet. */
struct rig *rig_new(const struct attr *a, u32 count);
void rig_add_event(struct rig *r, const struct attr *a, u32 leader, u32 count);
void rig_free(struct rig *r);

/* An access to DATA. */
struct core_met met_at(u32 cycles, u8 level, bool walk, bool peer);

#endif
