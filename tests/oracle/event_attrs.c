/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what an -e text is parsed to, a line per event, for the comparison with perf in events.py. */
#include <stdio.h>

#include "events/spec.h"

static void print_note(void *ctx, const struct note *note)
{
	(void)ctx;
	fprintf(stderr, "%s\n", note->text);
}

int main(int argc, char **argv)
{
	struct notify to = { print_note, NULL };
	struct event_specs specs = { 0 };

	for (int i = 1; i < argc; i++)
		if (event_specs_parse(&specs, argv[i], NULL, &to))
			return 1;
	for (size_t i = 0; i < specs.v.n; i++) {
		const struct event_spec *s = &specs.v.v[i];
		const struct attr *a = &s->attr;

		printf("type=%u config=%#llx config1=%#llx config2=%#llx bp_type=%u flags=%#llx period=%llu raw=%d "
		       "read=%d precise_max=%d leader=%u name=%s\n",
		       a->type, (unsigned long long)a->config, (unsigned long long)a->config1,
		       (unsigned long long)a->config2, a->bp_type, (unsigned long long)a->flags,
		       (unsigned long long)a->sample_period, !!(a->sample_type & PERF_SAMPLE_RAW), s->sample_read,
		       s->precise_max, s->leader, s->name);
	}
	event_specs_free(&specs);
	return 0;
}
