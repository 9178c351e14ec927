/* SPDX-License-Identifier: Apache-2.0 */
/* What a user types: 't' and a --time text, or anything else and an -e text. */
#include "base/timerange.h"
#include "fuzz.h"
#include "io/event_spec.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const struct event_env nowhere = { "/nonexistent", "/nonexistent", "/nonexistent" };
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
