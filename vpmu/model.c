/* SPDX-License-Identifier: Apache-2.0 */
#include "vpmu/model.h"

const struct model core_models[NR_VPMU_CORES] = {
	/* A server core of about 2020, 4 wide so that slots compare with the other one. */
	[VPMU_GENERIC_X86] = {
		.name = "generic-x86",
		.width = 4,
		.mhz = 3000,
		.l1i = { 64, 8 },    /* 32 KiB */
		.l1d = { 64, 8 },    /* 32 KiB */
		.l2 = { 1024, 16 },  /* 1 MiB */
		.llc = { 8192, 16 }, /* 8 MiB: this core's share */
		.dtlb = { 16, 4 },
		.history_bits = 14,
		.target_bits = 12,
		.indirect_bits = 9,
		.return_depth = 32,
		.mispredict = 16,
		.taken_slots = 1,
		.fetch = { 0, 8, 30, 150 },
		.load = { 0, 7, 30, 180 },
		.store = { 0, 1, 6, 40 },
		.peer_load = 60,
		.peer_store = 12,
		.tlb_load = 14,
		.tlb_store = 6,
		.op = {
			[COST_MUL] = 1,
			[COST_DIV] = 18,
			[COST_FP] = 1,
			[COST_FP_DIV] = 8,
			[COST_SQRT] = 12,
			[COST_SERIALISE] = 30,
			[COST_ATOMIC] = 14,
			[COST_PAUSE] = 40,
			[COST_SLOW] = 60,
		},
		.repeat_start = 24,
		.repeat_bytes = 32,
		.repeat_each = 2,
	},
	/* After Arm's software optimization guide and technical reference manual of the core, as far as they go. */
	[VPMU_NEOVERSE_N1] = {
		.name = "neoverse-n1",
		.width = 4,
		.mhz = 2600,
		.l1i = { 256, 4 },   /* 64 KiB */
		.l1d = { 256, 4 },   /* 64 KiB */
		.l2 = { 2048, 8 },   /* 1 MiB */
		.llc = { 8192, 16 }, /* 8 MiB: this core's share of the system's */
		.dtlb = { 16, 3 }, /* 48 entries; fully associative in silicon */
		.history_bits = 15,
		.target_bits = 12,
		.indirect_bits = 10,
		.return_depth = 16,
		.mispredict = 11,
		.taken_slots = 1,
		.fetch = { 0, 7, 32, 160 },
		.load = { 0, 6, 32, 190 },
		.store = { 0, 1, 6, 40 },
		.peer_load = 70,
		.peer_store = 12,
		.tlb_load = 12,
		.tlb_store = 5,
		.op = {
			[COST_MUL] = 1,
			[COST_DIV] = 9,
			[COST_FP] = 1,
			[COST_FP_DIV] = 7,
			[COST_SQRT] = 9,
			[COST_SERIALISE] = 20,
			[COST_ATOMIC] = 5,
			[COST_PAUSE] = 10,
			[COST_SLOW] = 40,
		},
	},
};
