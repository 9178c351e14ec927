/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas of metrics (--metric): parsed, and worked out with their derivatives. */
#include <string.h>

#include "fuzz.h"
#include "metric/metrics.h"

static const char *const names[] = { "cycles", "instructions:u", "cpu/event=0x11,name=x/" };

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *text = mem_strndup((const char *)data, size);
	const char *own[] = { text };
	const struct metrics_opts o = { .own = { own, 1 } };
	struct profile_windows w = { .group.nr = ARRAY_LEN(names) };
	struct metric_table t;
	struct metric_value v;
	struct evlist l = { 0 };

	for (u32 i = 0; i < ARRAY_LEN(names); i++) {
		struct attr a = { .size = 128, .config = i };

		evlist_add(&l, &a, names[i], NULL);
		w.group.events[i] = i;
		w.group.roles[i] = (u8)i;
	}
	w.total = mem_zalloc(window_stride(w.group.nr) * sizeof(double));
	for (u64 i = 1; i < 4; i++)
		window_block_add(w.total, w.group.nr, (u64[]){ 300 + i, 100 * i, i }, 1);
	if (!metric_table_make(&t, &l, &w, &o, NULL))
		for (u32 i = 0; i < t.nr_metrics; i++)
			metric_value(&t, i, w.total, &v);
	free(w.total);
	evlist_free(&l);
	free(text);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
