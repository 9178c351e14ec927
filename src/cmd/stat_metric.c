/* SPDX-License-Identifier: Apache-2.0 */
/* What a count is compared with: a row per event. */
#include <math.h>

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
	{ HW(BRANCH_MISSES), HW(BRANCH_INSTRUCTIONS), 100, "% of all branches", true },
	{ HW(CACHE_MISSES), HW(CACHE_REFERENCES), 100, "% of all cache refs", true },
	{ HW(STALLED_CYCLES_FRONTEND), HW(CPU_CYCLES), 100, "% frontend cycles idle", false },
	{ HW(STALLED_CYCLES_BACKEND), HW(CPU_CYCLES), 100, "% backend cycles idle", false },
	{ CACHE(L1D, READ, MISS), CACHE(L1D, READ, ACCESS), 100, "% of all L1-dcache loads", true },
	{ CACHE(L1D, WRITE, MISS), CACHE(L1D, WRITE, ACCESS), 100, "% of all L1-dcache stores", true },
	{ CACHE(LL, READ, MISS), CACHE(LL, READ, ACCESS), 100, "% of all LLC loads", true },
	{ CACHE(LL, WRITE, MISS), CACHE(LL, WRITE, ACCESS), 100, "% of all LLC stores", true },
	{ CACHE(DTLB, READ, MISS), CACHE(DTLB, READ, ACCESS), 100, "% of all dTLB loads", true },
	{ CACHE(DTLB, WRITE, MISS), CACHE(DTLB, WRITE, ACCESS), 100, "% of all dTLB stores", true },
	{ CACHE(BPU, READ, MISS), CACHE(BPU, READ, ACCESS), 100, "% of all branches", true },
	{ CACHE(L1I, READ, MISS), HW(INSTRUCTIONS), 100, "% of all instructions", true },
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

void stat_metric(const struct counter_result *r, const struct counted *e, struct stat_metric *out)
{
	double value, whole, error;

	*out = (struct stat_metric){ .per_kilo = -1 };
	if (e->state != COUNT_OK || !e->values.n)
		return;
	value = stat_mean(e, &error);
	for (u32 i = 0; i < ARRAY_LEN(ratios); i++) {
		if (!is(e, ratios[i].type, ratios[i].config))
			continue;
		/* Virtual time is made of cycles: their ratio says nothing. */
		if (r->simulated && ratios[i].whole_type == PERF_TYPE_SOFTWARE)
			return;
		if (counter_value(r, ratios[i].whole_type, ratios[i].whole_config, &whole) && whole > 0) {
			out->value = value / whole * ratios[i].scale;
			out->unit = ratios[i].unit;
		}
		if (ratios[i].per_kilo && counter_value(r, HW(INSTRUCTIONS), &whole) && whole > 0)
			out->per_kilo = value / whole * 1000;
		return;
	}
	if (r->simulated)
		return; /* virtual time says nothing about rates */
	if (is(e, SW(TASK_CLOCK)) || is(e, SW(CPU_CLOCK))) {
		out->value = value * 1e-9 / r->seconds.v[r->seconds.n - 1];
		out->unit = "CPUs utilized";
	} else if (counter_value(r, SW(TASK_CLOCK), &whole) && whole > 0) {
		rate(value / whole * 1e9, out);
	}
}

double stat_mean(const struct counted *e, double *error)
{
	double mean = 0, squares = 0;
	size_t n = e->values.n;

	for (size_t i = 0; i < n; i++) {
		double v = (double)e->values.v[i], d = v - mean;

		mean += d / (double)(i + 1);
		squares += d * (v - mean);
	}
	*error = n > 1 && mean > 0 ? 100 * sqrt(squares / (double)(n - 1) / (double)n) / mean : 0;
	return mean;
}
