/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses DWARF is asked for, and what their frames become. */
#include "agg/inline.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WHOLE 40000u /* weight: one part in 20000 of it is 2 */
#define MOST_ASKED 16

static struct {
	u32 dso;
	u64 addr;
} asked[MOST_ASKED];
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER; /* workers ask for different DSOs at once */
static u32 nr_asked, nr_started, nr_dropped;
static bool keeping;

/* At 0x110, f has inlined a, which has inlined b; everywhere below 0x1000 else nothing is inlined, and beyond it
 * nothing is known. */
u32 dsos_source_at(struct dsos *d, u32 dso, u64 addr, struct source_frame *out, u32 max)
{
	static const char *const names[] = { "b", "a", "f" };
	u32 n = addr >= 0x1000 ? 0 : addr == 0x110 ? 3 : 1;

	(void)d;
	assert_true(keeping && max >= 3);
	pthread_mutex_lock(&asking);
	asked[nr_asked].dso = dso;
	asked[nr_asked++].addr = addr;
	pthread_mutex_unlock(&asking);
	for (u32 i = 0; i < n; i++)
		out[i] = (struct source_frame){ .function = names[3 - n + i], .file = "file.c", .line = 1 };
	return n;
}

/* All addresses of a DSO at once. */
void dsos_source_ahead(struct dsos *d, u32 dso, const u64 *addrs, u32 n)
{
	(void)d;
	assert_true(dso == 1 || dso == 2);
	assert_int_equal(n, dso == 1 ? 3 : 1);
	assert_int_equal(addrs[0], dso == 1 ? 0x110 : 0x2000);
}

void dsos_start_parser_for(struct dsos *d, u32 dso, u64 addr)
{
	(void)d;
	(void)dso;
	(void)addr;
	nr_started++;
}

void dsos_keep_begin(struct dsos *d)
{
	(void)d;
	keeping = true;
}

void dsos_drop_lines(struct dsos *d)
{
	(void)d;
	nr_dropped++;
}

struct fixture {
	struct profile p;
	struct evlist l;
	struct strtab strings;
	struct tree_builder trees[2];
	u64 weights[2];
	struct collected parts[2];
	u32 f110, f120, f130, g210, other, nameless, kernel; /* frames */
};

static u32 frame(struct fixture *x, u32 dso, u32 sym, u64 addr, char level)
{
	return frames_intern(x->p.frames, &(struct frame){ .dso = dso, .sym = sym, .addr = addr, .level = level });
}

static void begin(struct fixture *x)
{
	*x = (struct fixture){ .p = { .frames = frames_new() } };
	x->p.strings = &x->strings;
	x->p.evlist = &x->l;
	vec_push(&x->l.events, (struct event){ 0 });
	for (u32 i = 0; i < 2; i++)
		x->parts[i] = (struct collected){ .trees = &x->trees[i], .weights = &x->weights[i] };
	nr_asked = nr_started = nr_dropped = 0;
	keeping = false;
}

static void add(struct fixture *x, u32 part, const u32 *frames, u32 n, u64 weight)
{
	u64 words = 0;
	u32 node = tree_group(&x->trees[part], &words, 1);

	for (u32 i = 0; i + 1 < n; i++)
		node = tree_kid(&x->trees[part], node, frames[i]);
	tree_add(&x->trees[part], node, frames[n - 1], weight, 1);
	x->weights[part] += weight;
}

static bool resolve(struct fixture *x, struct tree_rename *out)
{
	struct collected *parts[] = { &x->parts[0], &x->parts[1] };

	return inlined_resolve(&x->p, parts, 2, 2, out);
}

static void end(struct fixture *x)
{
	for (u32 i = 0; i < 2; i++)
		tree_builder_free(&x->trees[i]);
	vec_free(&x->l.events);
	frames_free(x->p.frames);
	strtab_free(&x->strings);
}

/* How often it was asked for. */
static u32 times(u32 dso, u64 addr)
{
	u32 n = 0;

	for (u32 i = 0; i < nr_asked; i++)
		n += asked[i].dso == dso && asked[i].addr == addr;
	return n;
}

static u32 only(const struct tree_rename *r, u32 id)
{
	assert_int_equal(r->of[id].n, 1);
	return r->frames[r->of[id].first];
}

static void test_expanded(void **state)
{
	const struct frame *a, *b, *function;
	struct tree_rename r;
	struct fixture x;
	u32 whole;

	(void)state;
	begin(&x);
	x.other = frame(&x, 2, 9, 0x2000, '.');
	x.f110 = frame(&x, 1, 3, 0x110, '.');
	x.f120 = frame(&x, 1, 3, 0x120, '.');
	x.f130 = frame(&x, 1, 3, 0x130, '.');
	x.g210 = frame(&x, 1, 4, 0x210, '.');
	x.nameless = frame(&x, 1, ID_NONE, 0x500, '.');
	x.kernel = frame(&x, 1, 5, 0, 'k');
	add(&x, 0, (u32[]){ x.f110, x.g210 }, 2, 10000);
	add(&x, 1, (u32[]){ x.nameless, x.kernel }, 2, WHOLE - 10000 - 7);
	add(&x, 0, (u32[]){ x.f120 }, 1, 1); /* light in each part, but not in both together */
	add(&x, 1, (u32[]){ x.f120 }, 1, 1);
	add(&x, 1, (u32[]){ x.f130 }, 1, 1); /* light */
	add(&x, 0, (u32[]){ x.other }, 1, 4);
	assert_true(resolve(&x, &r));
	assert_int_equal(nr_asked, 4);
	assert_int_equal(nr_started, 4);
	assert_int_equal(times(1, 0x110), 1);
	assert_int_equal(times(1, 0x120), 1);
	assert_int_equal(times(1, 0x210), 1);
	assert_int_equal(times(2, 0x2000), 1);
	assert_int_equal(nr_dropped, 1);
	/* All addresses of f are f, asked for or not, and below it are the calls that were inlined. */
	whole = only(&r, x.f120);
	function = frames_get(x.p.frames, whole);
	assert_true(function->dso == 1 && function->sym == 3 && !function->addr && !function->inlined);
	assert_int_equal(only(&r, x.f130), whole);
	assert_int_equal(r.of[x.f110].n, 3);
	assert_int_equal(r.frames[r.of[x.f110].first], whole);
	a = frames_get(x.p.frames, r.frames[r.of[x.f110].first + 1]);
	b = frames_get(x.p.frames, r.frames[r.of[x.f110].first + 2]);
	assert_string_equal(strtab_get(&x.strings, a->inlined), "a");
	assert_string_equal(strtab_get(&x.strings, b->inlined), "b");
	assert_true(a->dso == 1 && a->level == '.' && b->dso == 1 && b->level == '.');
	assert_true(r.frames[r.of[x.f110].first + 1] >= x.p.first_inlined);
	assert_int_equal(frames_get(x.p.frames, only(&r, x.g210))->sym, 4);
	assert_int_equal(frames_get(x.p.frames, only(&r, x.g210))->addr, 0);
	assert_int_equal(frames_get(x.p.frames, only(&r, x.other))->dso, 2);
	/* What is no address in a function stays what it is. */
	assert_int_equal(only(&r, x.nameless), x.nameless);
	assert_int_equal(only(&r, x.kernel), x.kernel);
	inlined_free(&r);
	end(&x);
}

/* Frames that kept no address need no DWARF. */
static void test_nothing_to_do(void **state)
{
	struct tree_rename r;
	struct fixture x;

	(void)state;
	begin(&x);
	add(&x, 0, (u32[]){ frame(&x, 1, ID_NONE, 0x110, '.') }, 1, WHOLE);
	add(&x, 1, (u32[]){ frame(&x, 1, 3, 0, '.') }, 1, WHOLE);
	assert_false(resolve(&x, &r));
	assert_int_equal(x.p.first_inlined, frames_count(x.p.frames));
	assert_int_equal(nr_asked + nr_started, 0);
	end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expanded),
		cmocka_unit_test(test_nothing_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
