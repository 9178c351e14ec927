/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lately came, collected bit by bit, is what the same rounds give when they are collected at once: whatever order
 * two rings are emptied in, whatever is asked for meanwhile, and when old rounds go.
 */
#include "pass/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/perfdata.h"
#include "codec/record.h"
#include "own_dir.h"
#include "recipe/recipe.h"

#define ROUNDS 60u
#define ROUND_TIME 10000u /* between two rounds */
#define LATER 3000u	  /* the second ring is emptied so much later than the first */
#define PROCESSES 12u
#define EVENTS 12000u

struct event_line {
	u64 time;
	u32 cpu;
	char text[200];
};

struct made {
	u32 seed;
	u32 pids[PROCESSES]; /* that live */
	u32 next_pid;
	VEC(struct event_line) lines;
};

static u32 below(struct made *m, u32 n)
{
	m->seed = m->seed * 1664525 + 1013904223;
	return (m->seed >> 8) % n;
}

static void say(struct made *m, u64 time, const char *format, ...) PRINTF_LIKE(3, 4);

static void say(struct made *m, u64 time, const char *format, ...)
{
	struct event_line line = { .time = time, .cpu = below(m, 2) };
	va_list ap;

	va_start(ap, format);
	vsnprintf(line.text, sizeof(line.text), format, ap);
	va_end(ap);
	vec_push(&m->lines, line);
}

static u64 address(struct made *m)
{
	return 0x400000 + below(m, 5) * 0x10000 + below(m, 6) * 0x100;
}

/* Everything that samples hit is mapped anew: what nothing covers after an exec is there for those within it. */
static void say_exec(struct made *m, u64 time, u32 pid)
{
	say(m, time, "comm pid=%u time=%llu exec \"name%u\"\n", pid, (unsigned long long)time, below(m, 9));
	say(m, time + 1, "mmap2 pid=%u time=%llu start=0x400000 len=0x50000 prot=r|x flags=2 \"/no/app%u\"\n", pid,
	    (unsigned long long)time + 1, below(m, 9));
}

static void say_something(struct made *m, u64 time)
{
	u32 at = below(m, PROCESSES), pid = m->pids[at], what = below(m, 100);
	unsigned long long t = time;

	if (what < 80) {
		say(m, time, "sample pid=%u time=%llu misc=user ip=0x%llx period=%u chain=user,0x%llx,0x%llx,0x%llx\n",
		    pid, t, (unsigned long long)address(m), 1 + below(m, 1000), (unsigned long long)address(m),
		    (unsigned long long)address(m), (unsigned long long)address(m));
	} else if (what < 86) {
		say(m, time, "mmap2 pid=%u time=%llu start=0x%x len=0x10000 prot=r|x flags=2 \"/no/lib%u\"\n", pid, t,
		    0x400000 + below(m, 5) * 0x10000, below(m, 9));
	} else if (what < 92) {
		say_exec(m, time, pid);
	} else if (what < 93) {
		say(m, time, "lost id=7 lost=%u time=%llu\n", 1 + below(m, 9), t);
	} else {
		u32 child = ++m->next_pid;

		say(m, time, "exit pid=%u ppid=1 time=%llu\n", pid, t);
		m->pids[at] = child;
		pid = m->pids[(at + 1) % PROCESSES];
		say(m, time + 1, "fork pid=%u ppid=%u tid=%u ptid=%u time=%llu\n", child, pid, child, pid, t + 1);
	}
}

/* The round in which a ring is emptied that has the record. */
static u32 round_of(const struct event_line *l)
{
	u64 later = l->cpu * LATER;

	return (u32)((MAX(l->time, later) - later) / ROUND_TIME);
}

static struct bytes make_stream(u32 seed)
{
	struct made m = { .seed = seed, .next_pid = 4200000 };
	struct bytes text = { 0 }, out = { 0 };
	struct recipe r = { 0 };

	bytes_str(&text, "mode=pipe\nevent \"cpu-clock\" period=1000 sample=IP|TID|TIME|PERIOD|CALLCHAIN|IDENTIFIER "
			 "ids=7 flags=mmap2|comm|comm_exec|task\n");
	for (u32 i = 0; i < PROCESSES; i++) {
		m.pids[i] = ++m.next_pid;
		say_exec(&m, 2 + 2 * i, m.pids[i]);
	}
	for (u32 i = 0; i < m.lines.n; i++)
		bytes_str(&text, m.lines.v[i].text);
	bytes_str(&text, "finished_round\n");
	m.lines.n = 0;
	for (u32 i = 0; i < EVENTS; i++)
		say_something(&m, 100 + (u64)i * (ROUNDS * ROUND_TIME) / EVENTS);
	for (u32 round = 0; round < ROUNDS; round++) {
		for (u32 cpu = 0; cpu < 2; cpu++)
			for (u32 i = 0; i < m.lines.n; i++)
				if (m.lines.v[i].cpu == cpu && round_of(&m.lines.v[i]) == round)
					bytes_str(&text, m.lines.v[i].text);
		bytes_str(&text, "finished_round\n");
	}
	assert_int_equal(recipe_parse(&r, "live", (const char *)text.p, text.len, NULL), 0);
	assert_int_equal(recipe_write(&r, &out), 0);
	recipe_free(&r);
	bytes_free(&text);
	vec_free(&m.lines);
	return out;
}

/* The next round goes to both. */
static bool put_round(const struct bytes *stream, size_t *at, struct live *a, struct live *b)
{
	size_t end = *at ? *at : PERFDATA_PIPE_HEADER_SIZE;
	struct perf_event_header h = { 0 };
	struct iovec part;

	while (end < stream->len && h.type != PERF_RECORD_FINISHED_ROUND) {
		memcpy(&h, stream->p + end, sizeof(h));
		end += h.size;
	}
	if (end == *at)
		return false;
	part = (struct iovec){ stream->p + *at, end - *at };
	*at = end;
	live_put(a, &part, 1);
	live_put(b, &part, 1);
	live_round(a);
	live_round(b);
	return true;
}

/* All that a table could say. */
static void put_rows(const struct live_view *view, struct bytes *out)
{
	const struct profile *p = view->profile;

	bytes_printf(out, "lost %llu samples %llu filtered %llu undecodable %llu times %llu %llu\n",
		     (unsigned long long)view->lost, (unsigned long long)p->tally.samples,
		     (unsigned long long)p->tally.filtered, (unsigned long long)p->tally.undecodable,
		     (unsigned long long)p->tally.first_time, (unsigned long long)p->tally.last_time);
	for (size_t e = 0; e < p->events.n; e++) {
		const struct profile_event *event = &p->events.v[e];

		bytes_printf(out, "weight %llu of %llu, samples %llu\n", (unsigned long long)event->weight,
			     (unsigned long long)event->unfiltered, (unsigned long long)event->samples);
		for (size_t i = 0; i < event->rows.n; i++) {
			const struct row *row = &event->rows.v[i];
			const struct row_view v = { .profile = (struct profile *)p,
						    .event = (struct profile_event *)event,
						    .row = (struct row *)row };

			bytes_printf(out, "%llu %llu %llu", (unsigned long long)row->self,
				     (unsigned long long)row->total, (unsigned long long)row->samples);
			for (u32 k = 0; k < p->nr_sort; k++) {
				bytes_char(out, ' ');
				column_label(column_of_key(p->sort_order[k]), &v, out);
			}
			bytes_char(out, '\n');
		}
	}
}

static const struct live_opts kept_long = { .history_ms = 3600000, .max_bytes = 150000 };
static const u32 nobody = 1;

static void init(struct pipeline_opts *o)
{
	*o = (struct pipeline_opts){ .children = true, .no_inline = true };
	o->session.workers = 1;
	o->session.symbols = (struct symbol_opts){ .offline = true, .no_kernel = true, .no_lines = true };
}

/* What keys may ask for. */
static void choose(struct pipeline_opts *o, u32 n, const char *const *name)
{
	init(o);
	if (n % 5 == 1)
		o->samples.comms = (struct name_list){ name, 1 };
	if (n % 5 == 2) {
		o->sort_order[0] = SORT_DSO;
		o->nr_sort = 1;
	}
	if (n % 5 == 3)
		o->rows.places.symbol_part = "app";
	if (n % 5 == 4)
		o->no_chains = true;
}

static void assert_same(const struct bytes *got, const struct bytes *want)
{
	size_t at = 0, other = 0;
	struct str x, y;

	while (bytes_line(want, &at, &y)) {
		if (!bytes_line(got, &other, &x))
			fail_msg("nothing in place of: %.*s", (int)y.len, y.p);
		if (x.len != y.len || memcmp(x.p, y.p, x.len) != 0)
			fail_msg("%.*s\nin place of: %.*s", (int)x.len, x.p, (int)y.len, y.p);
	}
	assert_int_equal(other, got->len);
}

/* Both show the same; the second one has collected all anew, as its filter has changed back and forth. */
static void compare(struct live *a, struct live *b, const struct pipeline_opts *o, bool take)
{
	struct bytes got = { 0 }, want = { 0 };
	struct live_view va, vb;
	struct pipeline_opts other;

	init(&other);
	other.samples.pids = (struct u32_list){ &nobody, 1 };
	assert_int_equal(live_refresh(b, &other, take, &vb), 0);
	assert_int_equal(live_refresh(b, o, false, &vb), 0);
	assert_int_equal(live_refresh(a, o, take, &va), 0);
	assert_non_null(va.profile);
	put_rows(&va, &got);
	put_rows(&vb, &want);
	assert_same(&got, &want);
	bytes_free(&got);
	bytes_free(&want);
}

static void same_as_at_once(u32 seed, bool changes)
{
	static const char *const name = "name3";
	struct bytes stream = make_stream(seed);
	struct live *a = live_new(&kept_long, NULL), *b = live_new(&kept_long, NULL);
	struct pipeline_opts o;
	size_t at = 0;
	u32 rounds = 0;

	(void)put_round(&stream, &at, a, b);
	while (put_round(&stream, &at, a, b)) {
		seed = seed * 1664525 + 1013904223;
		rounds++;
		if (seed >> 30 == 3)
			continue; /* two rounds, or more, come between refreshes */
		choose(&o, changes ? seed >> 24 & 7 : 0, &name);
		compare(a, b, &o, true);
		if (changes && (seed >> 16 & 7) == 0)
			compare(a, b, &o, false);
		if (changes && (seed >> 16 & 31) == 9) {
			live_zero(a);
			live_zero(b);
		}
	}
	assert_int_equal(rounds, ROUNDS);
	live_free(a);
	live_free(b);
	bytes_free(&stream);
}

static void equals_what_is_collected_at_once(void **state)
{
	(void)state;
	for (u32 seed = 1; seed <= 3; seed++)
		same_as_at_once(seed, false);
}

static void equals_it_while_keys_change_what_is_asked_for(void **state)
{
	(void)state;
	for (u32 seed = 4; seed <= 6; seed++)
		same_as_at_once(seed, true);
}

#define SHORT_ONES 200u /* processes of a round: each has a program, a name and an address that no other has */
#define SHORT_ROUNDS 100u

static struct bytes make_short_ones(void)
{
	struct bytes text = { 0 }, out = { 0 };
	struct recipe r = { 0 };
	u32 pid = 4200000;

	bytes_str(&text, "mode=pipe\nevent \"cpu-clock\" period=1000 sample=IP|TID|TIME|PERIOD|CALLCHAIN|IDENTIFIER "
			 "ids=7 flags=mmap2|comm|comm_exec|task\ncomm pid=4200000 time=1 exec \"sh\"\n"
			 "finished_round\n");
	for (u32 i = 0; i < SHORT_ROUNDS * SHORT_ONES; i++) {
		u32 t = 100 + i * 10;

		pid++;
		bytes_printf(&text, "fork pid=%u ppid=4200000 tid=%u ptid=4200000 time=%u\n", pid, pid, t);
		bytes_printf(&text, "comm pid=%u time=%u exec \"name%u\"\n", pid, t + 1, i);
		bytes_printf(&text,
			     "mmap2 pid=%u time=%u start=0x400000 len=0x1000000 prot=r|x flags=2 maj=8 min=1 ino=%u "
			     "\"/no/app%u\"\n",
			     pid, t + 2, i + 1, i);
		bytes_printf(&text, "sample pid=%u time=%u misc=user ip=0x%x period=1000 chain=user,0x%x,0x%x\n", pid,
			     t + 3, 0x400000 + i, 0x400000 + i, 0x410000 + i);
		bytes_printf(&text, "exit pid=%u ppid=4200000 time=%u\n", pid, t + 4);
		if (i % SHORT_ONES == SHORT_ONES - 1)
			bytes_str(&text, "finished_round\n");
	}
	assert_int_equal(recipe_parse(&r, "live", (const char *)text.p, text.len, NULL), 0);
	assert_int_equal(recipe_write(&r, &out), 0);
	recipe_free(&r);
	bytes_free(&text);
	return out;
}

/* A history of some rounds: what is known is no more than what they have, and some. */
static void forgets_what_is_gone(void **state)
{
	static const struct live_opts some_rounds = { .history_ms = 3600000, .max_bytes = 400000 };
	struct bytes stream = make_short_ones();
	struct live *a = live_new(&some_rounds, NULL), *b = live_new(&some_rounds, NULL);
	u32 frames = 0, dsos = 0, strings = 0;
	struct pipeline_opts o;
	struct live_view view;
	size_t at = 0;

	(void)state;
	init(&o);
	while (put_round(&stream, &at, a, b)) {
		assert_int_equal(live_refresh(a, &o, true, &view), 0);
		frames = MAX(frames, frames_count(view.session->frames));
		dsos = MAX(dsos, dsos_count(view.session->dsos));
		strings = MAX(strings, (u32)view.session->strings.entries.n);
	}
	assert_true(dsos > 2 * SHORT_ONES && frames > 2 * SHORT_ONES);
	assert_in_range(dsos, 0, 20 * SHORT_ONES);
	assert_in_range(frames, 0, 2 * SHORT_ONES * SHORT_ROUNDS * 3 / 4);
	assert_in_range(strings, 0, 20 * SHORT_ONES);
	live_free(a);
	live_free(b);
	bytes_free(&stream);
}

/* The files that this process runs, and where: each has a sample. */
static void put_own_files(struct bytes *text)
{
	char line[4096], path[4096];
	FILE *maps = fopen("/proc/self/maps", "r");

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long long start, end, offset;

		if (sscanf(line, "%llx-%llx r-xp %llx %*s %*s %4095s", &start, &end, &offset, path) != 4 ||
		    path[0] != '/')
			continue;
		bytes_printf(text,
			     "mmap2 pid=4200000 time=2 start=0x%llx len=0x%llx pgoff=0x%llx prot=r|x flags=2 \"%s\"\n",
			     start, end - start, offset, path);
		bytes_printf(text,
			     "sample pid=4200000 time=3 misc=user ip=0x%llx period=1000 chain=user,0x%llx,0x%llx\n",
			     start + 0x100, start + 0x100, start + 0x200);
	}
	fclose(maps);
}

static struct bytes make_own_files(void)
{
	struct bytes text = { 0 }, out = { 0 };
	struct recipe r = { 0 };

	bytes_str(&text, "mode=pipe\nevent \"cpu-clock\" period=1000 sample=IP|TID|TIME|PERIOD|CALLCHAIN|IDENTIFIER "
			 "ids=7 flags=mmap2|comm|comm_exec|task\ncomm pid=4200000 time=1 exec \"live\"\n"
			 "finished_round\n");
	put_own_files(&text);
	bytes_str(&text, "finished_round\ncomm pid=4200000 time=9 \"live\"\nfinished_round\n");
	assert_int_equal(recipe_parse(&r, "live", (const char *)text.p, text.len, NULL), 0);
	assert_int_equal(recipe_write(&r, &out), 0);
	recipe_free(&r);
	bytes_free(&text);
	return out;
}

/* Symbol tables that were made are in the cache, and are read from there when the next rounds come. */
static void reads_symbols_back_from_the_cache(void **state)
{
	char dir[OWN_DIR_PATH];
	struct bytes stream = make_own_files(), first = { 0 }, then = { 0 };
	struct live *a, *b;
	struct pipeline_opts o;
	struct live_view view;
	size_t at = 0;

	(void)state;
	own_dir_make(dir);
	setenv("XDG_CACHE_HOME", dir, 1);
	init(&o);
	o.session.symbols.offline = false;
	o.session.symbols.cache = true;
	a = live_new(&kept_long, NULL);
	b = live_new(&kept_long, NULL);
	while (first.len == 0 && put_round(&stream, &at, a, b)) {
		assert_int_equal(live_refresh(a, &o, true, &view), 0);
		if (view.profile && view.profile->events.n && view.profile->events.v[0].rows.n)
			put_rows(&view, &first);
	}
	assert_true(dsos_in_cache_too(view.session->dsos) > 1 << 18);
	assert_true(put_round(&stream, &at, a, b));
	assert_int_equal(live_refresh(a, &o, true, &view), 0);
	assert_int_equal(dsos_in_cache_too(view.session->dsos), 0);
	put_rows(&view, &then);
	assert_same(&then, &first);
	live_free(a);
	live_free(b);
	unsetenv("XDG_CACHE_HOME");
	own_dir_remove(dir);
	bytes_free(&stream);
	bytes_free(&first);
	bytes_free(&then);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forgets_what_is_gone),
		cmocka_unit_test(reads_symbols_back_from_the_cache),
		cmocka_unit_test(equals_what_is_collected_at_once),
		cmocka_unit_test(equals_it_while_keys_change_what_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
