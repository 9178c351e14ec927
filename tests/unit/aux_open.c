/* SPDX-License-Identifier: Apache-2.0 */
/* Events with AUX areas, opened on a kernel that the test plays: how large the areas become, and when an event whose
 * area was full goes on. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "notes.h"
#include "open/set.h"

#define MOST_FDS 1024

/* --- the kernel --- */

static struct {
	u32 room;    /* pages of AUX areas that the user may lock; an area of one page is refused, as Arm SPE does */
	u64 next_id; /* of events */
	bool on[MOST_FDS];
	u32 enabled; /* calls */
	u32 areas;   /* that were mapped, and not unmapped */
} kernel;

long syscall(long number, ...)
{
	if (number != SYS_perf_event_open) {
		errno = ENOSYS;
		return -1;
	}
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list more;

	va_start(more, request);
	if (request == PERF_EVENT_IOC_ID)
		*va_arg(more, u64 *) = ++kernel.next_id;
	va_end(more);
	assert_in_range(fd, 0, MOST_FDS - 1);
	if (request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE)
		kernel.on[fd] = request == PERF_EVENT_IOC_ENABLE;
	kernel.enabled += request == PERF_EVENT_IOC_ENABLE;
	return 0;
}

int ring_map(struct ring *r, int fd, u32 pages)
{
	(void)pages;
	r->fd = fd;
	return 0;
}

void ring_unmap(struct ring *r)
{
	(void)r;
}

int aux_area_map(struct aux_area *a, const struct ring *r, u32 pages, bool overwritten)
{
	a->overwritten = overwritten;
	(void)r;
	if (pages < 2)
		return -EINVAL;
	if (pages > kernel.room)
		return -EPERM;
	a->size = pages;
	kernel.areas++;
	return 0;
}

void aux_area_unmap(struct aux_area *a)
{
	kernel.areas -= a->size > 0;
	a->size = 0;
}

/* --- tests --- */

struct opened_set {
	struct event_set set;
	struct event_specs specs;
	bool no_aux;
	char note[NOTE_ROOM];
};

/* The first event has an AUX area, unless no_aux says that none has. */
static int open_set(struct opened_set *s, const char *events, const struct ring_opts *sizes)
{
	const struct attr_opts o = { .freq = RECORD_UNSET, .period = RECORD_UNSET };
	struct target t = { 0 };
	struct notify to = { keep_note, s->note };
	int err;

	vec_push(&t.cpus, 0);
	vec_push(&t.tasks, ((struct target_task){ 5, 5 }));
	assert_int_equal(event_specs_parse(&s->specs, events, NULL, NULL), 0);
	s->specs.v.v[0].aux = !s->no_aux;
	s->specs.v.v[0].attr.sample_period = 1024;
	err = event_set_configure(&s->set, &s->specs, &o, &t, true, &to);
	err = err ? err : event_set_open(&s->set, &t, sizes, &to);
	target_free(&t);
	return err;
}

static void close_set(struct opened_set *s)
{
	event_set_close(&s->set);
	event_set_free(&s->set);
	event_specs_free(&s->specs);
}

static void test_size(void **state)
{
	const u32 least = MAX(8192 / (u32)sysconf(_SC_PAGESIZE), 2u), usual = (4u << 20) / (u32)sysconf(_SC_PAGESIZE);
	const struct {
		u64 asked;
		u32 room, got; /* got: 0 for an error */
		const char *note;
	} rows[] = {
		{ 0, UINT32_MAX, usual, "" },
		{ 0, 16, 16, "" },
		{ 0, least, least, "" },
		{ 0, least - 1, 0, " and AUX areas of " },
		{ 1, UINT32_MAX, least, "an AUX area has at least" },
		{ least, UINT32_MAX, least, "" },
		{ 16, 16, 16, "" },
		{ 16, 8, 0, " and AUX areas of 16: over the limit for locked memory (smaller -m PAGES,AUX" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct opened_set s = { 0 };
		const struct ring_opts sizes = { .aux_pages = rows[i].asked };
		int err;

		kernel.room = rows[i].room;
		err = open_set(&s, "cpu-clock", &sizes);
		if (err != (rows[i].got ? 0 : ERR_LIMIT) || (rows[i].got && s.set.aux_pages != rows[i].got) ||
		    !*rows[i].note != !*s.note || !strstr(s.note, rows[i].note))
			fail_msg("row %u: %d, %u pages: %s", i, err, s.set.aux_pages, s.note);
		close_set(&s);
	}
}

/* Areas for snapshots are overwritten, and hold as much as one is to have. */
static void test_snapshot(void **state)
{
	const u32 page = (u32)sysconf(_SC_PAGESIZE), usual = (4u << 20) / page;
	const struct {
		struct ring_opts sizes;
		bool aux;
		u32 got; /* 0 for an error */
		const char *note;
	} rows[] = {
		{ { .snapshot = true }, true, usual, "" },
		{ { .snapshot = true, .snapshot_bytes = 9 * page + 1 }, true, 16, "" },
		{ { .snapshot = true, .snapshot_bytes = 8 * page, .aux_pages = 8 }, true, 8, "" },
		{ { .snapshot = true, .snapshot_bytes = 8 * page + 1, .aux_pages = 8 }, true, 0, "-m ,16 makes them" },
		{ { .snapshot = true, .snapshot_bytes = 1ull << 44 }, true, 0, "at most 1G" },
		{ { .snapshot = true, .snapshot_bytes = UINT64_MAX }, true, 0, "at most 1G" },
		{ { .snapshot = true }, false, 0, "none of these events writes into an AUX area" },
	};

	(void)state;
	kernel.room = UINT32_MAX;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct opened_set s = { .no_aux = !rows[i].aux };
		int err = open_set(&s, "cpu-clock", &rows[i].sizes);

		if (err != (rows[i].got ? 0 : ERR_USAGE) || (rows[i].got && s.set.aux_pages != rows[i].got) ||
		    !*rows[i].note != !*s.note || !strstr(s.note, rows[i].note))
			fail_msg("row %u: %d, %u pages: %s", i, err, s.set.aux_pages, s.note);
		assert_true(err || s.set.rings.v[0].aux.overwritten);
		close_set(&s);
	}
}

/* For a snapshot what fills areas stops, and nothing else. */
static void test_pause(void **state)
{
	const struct ring_opts sizes = { .snapshot = true };
	struct opened_set s = { 0 };

	(void)state;
	kernel.room = UINT32_MAX;
	assert_int_equal(open_set(&s, "cpu-clock,page-faults", &sizes), 0);
	event_set_enable(&s.set, true);
	event_set_pause_aux(&s.set);
	assert_false(kernel.on[s.set.events.v[0].on.v[0].fd]);
	assert_true(kernel.on[s.set.events.v[1].on.v[0].fd]);
	close_set(&s);
}

/* An event whose area was full goes on, unless the user has switched it off. */
static void test_resume(void **state)
{
	static const struct {
		const char *name; /* NULL: all */
		bool on, resumed; /* resumed: from then on */
	} steps[] = {
		{ NULL, false, false },		{ "cpu-clock", true, true },	{ "cpu-clock", false, false },
		{ "page-faults", true, false }, { NULL, true, true },		{ "page-faults", false, true },
		{ NULL, false, false },		{ "page-faults", true, false },
	};
	const struct ring_opts sizes = { 0 };
	struct opened_set s = { 0 };
	const struct opened *o;

	(void)state;
	kernel.room = UINT32_MAX;
	assert_int_equal(open_set(&s, "cpu-clock,page-faults", &sizes), 0);
	o = &s.set.events.v[0].on.v[0];
	for (u32 i = 0; i < ARRAY_LEN(steps); i++) {
		assert_true(event_set_switch(&s.set, steps[i].name, steps[i].on));
		kernel.on[o->fd] = false; /* the area is full */
		kernel.enabled = 0;
		event_set_resume(&s.set, o->ring);
		if (kernel.on[o->fd] != steps[i].resumed || kernel.enabled != steps[i].resumed)
			fail_msg("step %u: %u events were switched on", i, kernel.enabled);
	}
	close_set(&s);
}

/* A task that comes later has a ring with an area, too, wherever the event stands that needs it. */
static void test_add_task(void **state)
{
	const struct attr_opts o = { .freq = RECORD_UNSET, .period = RECORD_UNSET, .windows = WINDOW_TWIN };
	const struct ring_opts sizes = { 0 };
	struct notify to = { 0 };

	(void)state;
	for (u32 which = 0; which < 2; which++) {
		struct opened_set s = { 0 };
		struct target t = { 0 };
		u32 before, ring;
		size_t on;

		kernel.room = UINT32_MAX;
		kernel.areas = 0;
		to = (struct notify){ keep_note, s.note };
		vec_push(&t.cpus, 0);
		vec_push(&t.tasks, ((struct target_task){ 5, 5 }));
		assert_int_equal(event_specs_parse(&s.specs, "cpu-clock,page-faults", NULL, NULL), 0);
		s.specs.v.v[which].aux = true;
		s.specs.v.v[which].attr.sample_period = 1024;
		assert_int_equal(event_set_configure(&s.set, &s.specs, &o, &t, true, &to), 0);
		assert_int_equal(event_set_open(&s.set, &t, &sizes, &to), 0);
		before = kernel.areas;
		assert_int_equal(before, 1);
		on = event_set_add_task(&s.set, (struct target_task){ 6, 6 }, 8);
		assert_true(on != EVENT_SET_NOWHERE);
		assert_int_equal(kernel.areas, before + 1);
		ring = s.set.events.v[which].on.v[on].ring;
		assert_true(s.set.rings.v[ring].aux.size);
		assert_int_equal(s.set.events.v[!which].on.v[on].ring, ring);
		kernel.room = 1; /* no area for it: no task either, and nothing is left of it */
		assert_true(event_set_add_task(&s.set, (struct target_task){ 7, 7 }, 8) == EVENT_SET_NOWHERE);
		assert_int_equal(kernel.areas, before + 1);
		close_set(&s);
		assert_int_equal(kernel.areas, 0);
		target_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size),  cmocka_unit_test(test_resume),   cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_pause), cmocka_unit_test(test_add_task),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
