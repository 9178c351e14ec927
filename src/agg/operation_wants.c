/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/operation_wants.h"

#include "agg/keys.h"

/* The top byte of a datum's address is no part of it (spe_data_address). */
#define DATA_BITS (~SPE_KERNEL_HALF)
#define LINE_BITS (DATA_BITS & ~(u64)63)

/* Those that say what an access met; others are the cores' own. */
#define ACCESS_EVENTS                                                                                                 \
	(SPE_EV_L1D_ACCESS | SPE_EV_L1D_REFILL | SPE_EV_TLB_ACCESS | SPE_EV_TLB_WALK | SPE_EV_NOT_TAKEN |             \
	 SPE_EV_MISPREDICTED | SPE_EV_LLC_ACCESS | SPE_EV_LLC_REFILL | SPE_EV_REMOTE_ACCESS)

/* spe_data_src and spe_load_place look at these. */
static void want_access(struct operation_wants *w)
{
	w->bits[SPE_FIELD_EVENTS] |= ACCESS_EVENTS;
	w->bits[SPE_FIELD_SOURCE] = UINT64_MAX;
	w->bits[SPE_FIELD_OPERATION] = UINT64_MAX;
}

/* Of a branch, its target is its datum. */
static void want_datum(struct operation_wants *w, u64 bits)
{
	w->bits[SPE_FIELD_VIRTUAL] |= bits;
	w->bits[SPE_FIELD_TARGET] = UINT64_MAX;
}

static bool want_key(u32 key, struct operation_wants *w)
{
	switch (key) {
	case SORT_COMM:
	case SORT_PID:
	case SORT_EVENT:
	case SORT_CGROUP_ID:
	case SORT_ACTIVITY:
	case SORT_ADDR:
	case SORT_SYMBOL_IADDR:
	case SORT_DSO:
	case SORT_DSO_SIZE:
	case SORT_SYMBOL:
	case SORT_SYMBOL_SIZE:
	case SORT_SRCLINE:
	case SORT_SRCFILE:
		return true; /* all of these follow from whose it is and from its address */
	case SORT_CGROUP:
	case SORT_LOCAL_INS_LAT:
	case SORT_INS_LAT:
	case SORT_P_STAGE_CYC:
	case SORT_TRANSACTION:
	case SORT_CODE_PAGE_SIZE:
	case SORT_DATA_PAGE_SIZE:
		return true; /* operations do not say them */
	case SORT_TID:
		return w->thread = true;
	case SORT_CPU:
	case SORT_SOCKET:
		return w->cpu = true;
	case SORT_LOCAL_WEIGHT:
	case SORT_WEIGHT:
		w->bits[SPE_FIELD_LATENCY + SPE_TOTAL] = UINT64_MAX;
		return true;
	case SORT_MEM_OP:
	case SORT_MEM:
	case SORT_SNOOP:
	case SORT_TLB:
	case SORT_LOCKED:
	case SORT_BLOCKED:
		want_access(w);
		return true;
	case SORT_SYMBOL_DADDR:
	case SORT_DSO_DADDR:
	case SORT_DADDR:
	case SORT_TYPE:
	case SORT_TYPEOFF:
	case SORT_TYPECLN:
		want_datum(w, DATA_BITS);
		return true;
	case SORT_DCACHELINE:
		want_datum(w, LINE_BITS);
		return true;
	case SORT_PHYS_DADDR:
		w->bits[SPE_FIELD_PHYSICAL] = DATA_BITS;
		return true;
	default:
		return false; /* of times, tracepoints and branch stacks */
	}
}

bool operation_wants(const struct collector_opts *o, const struct spe *spe, struct operation_wants *out)
{
	const u32 known = MEASURE_BIT(MEASURE_WEIGHTS) | MEASURE_BIT(MEASURE_OPERATIONS) |
			  MEASURE_BIT(MEASURE_CPU_MODES) |
			  MEASURE_BIT(MEASURE_WINDOWS); /* of which operations end none */
	bool wants = !(o->measuring.used & ~known) && !(o->filter && o->filter->times);

	*out = (struct operation_wants){ .bits[SPE_FIELD_PC] = UINT64_MAX,
					 .bits[SPE_FIELD_EVENTS] = spe_wanted(spe).events };
	for (u32 i = 0; i < spe->nr_made; i++)
		if (spe->made[i].what == SPE_NR_EVENTS && spe->made[i].kinds != SPE_KIND_ANY)
			out->bits[SPE_FIELD_OPERATION] |= 1; /* a load or a store; what is a branch, shapes tell */
	for (u32 i = 0; i < o->keys->nr_sort; i++)
		wants &= want_key(o->keys->sort_order[i], out);
	if (o->costs || o->measuring.used & MEASURE_BIT(MEASURE_WEIGHTS))
		out->bits[SPE_FIELD_LATENCY + SPE_TOTAL] = UINT64_MAX;
	if (o->measuring.used & MEASURE_BIT(MEASURE_OPERATIONS)) {
		want_access(out);
		for (u32 i = 0; i < SPE_NR_COUNTERS; i++)
			out->bits[SPE_FIELD_LATENCY + i] = UINT64_MAX;
	}
	if (o->filter) {
		out->cpu |= o->filter->cpus.n;
		out->thread |= o->filter->pids.n || o->filter->tids.n;
	}
	return wants;
}
