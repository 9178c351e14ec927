/* SPDX-License-Identifier: Apache-2.0 */
/* What a count is compared with: a row per event. */
#include "cmd/stat.h"

#define CACHE(level, op, result)                                                                                      \
	PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_##level | PERF_COUNT_HW_CACHE_OP_##op << 8 |                          \
				    PERF_COUNT_HW_CACHE_RESULT_##result << 16
#define HW(event) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##event
#define SW(event) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##event

/* unit: of value / whole * scale. */
static const struct {
	u32 type;
	u64 config;
	u32 whole_type;
	u64 whole_config;
	double scale;
	const char *unit;
	bool per_kilo;
} ratios[] = {
	{ HW(INSTRUCTIONS), HW(CPU_CYCLES), 1, "insn per cycle", false },
	{ HW(CPU_CYCLES), SW(TASK_CLOCK), 1, "GHz", false },
	{ HW(BRANCH_MISSES), HW(BRANCH_INSTRUCTIONS), 100, "of all branches", true },
	{ HW(CACHE_MISSES), HW(CACHE_REFERENCES), 100, "of all cache refs", true },
	{ HW(STALLED_CYCLES_FRONTEND), HW(CPU_CYCLES), 100, "frontend cycles idle", false },
	{ HW(STALLED_CYCLES_BACKEND), HW(CPU_CYCLES), 100, "backend cycles idle", false },
	{ CACHE(L1D, READ, MISS), CACHE(L1D, READ, ACCESS), 100, "of all L1-dcache loads", true },
	{ CACHE(L1D, WRITE, MISS), CACHE(L1D, WRITE, ACCESS), 100, "of all L1-dcache stores", true },
	{ CACHE(LL, READ, MISS), CACHE(LL, READ, ACCESS), 100, "of all LLC loads", true },
	{ CACHE(LL, WRITE, MISS), CACHE(LL, WRITE, ACCESS), 100, "of all LLC stores", true },
	{ CACHE(DTLB, READ, MISS), CACHE(DTLB, READ, ACCESS), 100, "of all dTLB loads", true },
	{ CACHE(DTLB, WRITE, MISS), CACHE(DTLB, WRITE, ACCESS), 100, "of all dTLB stores", true },
	{ CACHE(BPU, READ, MISS), CACHE(BPU, READ, ACCESS), 100, "of all branches", true },
	{ CACHE(L1I, READ, MISS), HW(INSTRUCTIONS), 100, "of all instructions", true },
};

static bool is(const struct counted *e, u32 type, u64 config)
{
	return e->attr.type == type && e->attr.config == config;
}

/* Counts per second of CPU time, in the unit that makes a readable number. */
static void rate(double per_second, struct stat_metric *out)
{
	out->value = per_second >= 1e9 ? per_second / 1e9 :
		     per_second >= 1e6 ? per_second / 1e6 :
		     per_second >= 1e3 ? per_second / 1e3 :
					 per_second;
	out->unit = per_second >= 1e9 ? "G/sec" : per_second >= 1e6 ? "M/sec" : per_second >= 1e3 ? "K/sec" : "/sec";
}

/* CPU time: of the tasks that were counted, or of whole CPUs. */
static bool nanoseconds(const struct stat_table *t, size_t key, double *out)
{
	return (stat_count_of(t, key, SW(TASK_CLOCK), out) || stat_count_of(t, key, SW(CPU_CLOCK), out)) && *out > 0;
}

static bool whole_of(const struct stat_table *t, size_t key, u32 row, double *whole)
{
	if (ratios[row].whole_type == PERF_TYPE_SOFTWARE)
		return nanoseconds(t, key, whole);
	return stat_count_of(t, key, ratios[row].whole_type, ratios[row].whole_config, whole) && *whole > 0;
}

static void ratio(const struct stat_table *t, size_t key, const struct stat_cell *c, u32 row, struct stat_metric *out)
{
	double whole;

	/* Virtual time is made of cycles: their ratio says nothing. */
	if (t->view->r->simulated && ratios[row].whole_type == PERF_TYPE_SOFTWARE)
		return;
	if (whole_of(t, key, row, &whole)) {
		out->value = c->value / whole * ratios[row].scale;
		out->unit = ratios[row].unit;
		out->percent = ratios[row].scale == 100;
		out->decimals = ratios[row].whole_type == PERF_TYPE_SOFTWARE ? 3 : 2;
	}
	if (ratios[row].per_kilo && stat_count_of(t, key, HW(INSTRUCTIONS), &whole) && whole > 0)
		out->per_kilo = c->value / whole * 1000;
}

void stat_metric(const struct stat_table *t, size_t key, size_t event, struct stat_metric *out)
{
	const struct stat_cell *c = stat_table_cell(t, key, event);
	double whole, seconds = stat_seconds(t->view);

	*out = (struct stat_metric){ .per_kilo = -1, .decimals = 3 };
	if (c->state != COUNT_OK)
		return;
	for (u32 i = 0; i < ARRAY_LEN(ratios); i++) {
		if (is(c->e, ratios[i].type, ratios[i].config)) {
			ratio(t, key, c, i, out);
			if (out->unit)
				return;
		}
	}
	if (t->view->r->simulated)
		return; /* virtual time says nothing about rates */
	if (is(c->e, SW(TASK_CLOCK)) || is(c->e, SW(CPU_CLOCK))) {
		out->value = seconds > 0 ? c->value * 1e-9 / seconds : 0;
		out->unit = "CPUs utilized";
	} else if (nanoseconds(t, key, &whole)) {
		rate(c->value * (c->e->scale > 0 ? c->e->scale : 1) / whole * 1e9, out);
	}
}
