/* SPDX-License-Identifier: Apache-2.0 */
/* What a user types: 't' and a --time text, 'p' and a --pmu text, or anything else and an -e text. */
#include "base/timerange.h"
#include "events/spec.h"
#include "fuzz.h"
#include "sim/opts.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const struct event_env nowhere = { .sysfs = "/nonexistent",
						  .tracefs = "/nonexistent",
						  .procfs = "/nonexistent" };
	char *text;

	if (!size)
		return 0;
	text = mem_strndup((const char *)data + 1, size - 1);
	if (*data == 't') {
		struct timeranges t;

		if (!timeranges_parse(&t, text, 1000, 5000000000, NULL)) {
			for (size_t i = 0; i < t.v.n; i++)
				MUST(t.v.v[i].start <= t.v.v[i].stop);
			timeranges_free(&t);
		}
	} else if (*data == 'p') {
		struct sim_opts o;

		if (!sim_opts_parse(&o, text, NULL) && o.on && !o.help)
			MUST(o.v.core < NR_VPMU_CORES && o.v.models <= VPMU_MODEL_ALL && o.v.quantum &&
			     o.v.skid_min <= o.v.skid_max && o.v.lose_count <= o.v.lose_every);
	} else {
		struct event_specs specs = { 0 };

		if (!event_specs_parse(&specs, text, &nowhere, NULL))
			for (size_t i = 0; i < specs.v.n; i++)
				MUST(specs.v.v[i].leader < specs.v.n && specs.v.v[i].name);
		event_specs_free(&specs);
	}
	free(text);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
