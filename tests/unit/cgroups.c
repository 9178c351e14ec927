/* SPDX-License-Identifier: Apache-2.0 */
/* Which events are opened in which cgroups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "open/set.h"

/* The events of a set, in order: its cgroup and the event that leads it. The tracking event has no cgroup and is left
 * out. */
static void describe(const struct event_set *set, char *text, size_t size)
{
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < set->events.n; i++) {
		const struct open_event *e = &set->events.v[i];

		if (e->spec)
			at += (size_t)snprintf(text + at, size - at, "%s%s@%d<%u", i ? " " : "", e->name,
					       (int)e->cgroup, e->leader);
		assert_true(at < size);
		assert_true(e->spec || e->cgroup == -1);
	}
}

static void test_assignment(void **state)
{
	const struct {
		const char *events;
		u32 cgroups;
		const char *text;
	} rows[] = {
		{ "cpu-clock,page-faults", 0, "cpu-clock@-1<0 page-faults@-1<1" },
		{ "cpu-clock,page-faults", 1, "cpu-clock@0<0 page-faults@0<1" },
		/* As many as there are events: in order. */
		{ "cpu-clock,page-faults", 2, "cpu-clock@0<0 page-faults@1<1" },
		{ "cpu-clock", 2, "cpu-clock@0<0 cpu-clock@1<1" },
		{ "cpu-clock,page-faults", 3,
		  "cpu-clock@0<0 page-faults@0<1 cpu-clock@1<2 page-faults@1<3 cpu-clock@2<4 page-faults@2<5" },
		/* A group stays together, also where it has as many events as there are cgroups. */
		{ "{cpu-clock,page-faults}", 1, "cpu-clock@0<0 page-faults@0<0" },
		{ "{cpu-clock,page-faults}", 2, "cpu-clock@0<0 page-faults@0<0 cpu-clock@1<2 page-faults@1<2" },
		{ "task-clock,{cpu-clock,page-faults}", 2,
		  "task-clock@0<0 cpu-clock@0<1 page-faults@0<1 task-clock@1<3 cpu-clock@1<4 page-faults@1<4" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct attr_opts o = { .freq = RECORD_UNSET, .period = RECORD_UNSET };
		struct target t = { .system_wide = true };
		struct event_specs specs = { 0 };
		struct event_set set = { 0 };
		char text[512];

		vec_push(&t.cpus, 0);
		vec_push(&t.tasks, ((struct target_task){ -1, -1 }));
		for (u32 c = 0; c < rows[i].cgroups; c++)
			vec_push(&t.cgroups, ((struct target_cgroup){ mem_strdup("name"), -1, c }));
		assert_int_equal(event_specs_parse(&specs, rows[i].events, NULL, NULL), 0);
		assert_int_equal(event_set_configure(&set, &specs, &o, &t, true, NULL), 0);
		describe(&set, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
		event_set_free(&set);
		event_specs_free(&specs);
		target_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_assignment) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
