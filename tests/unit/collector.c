/* SPDX-License-Identifier: Apache-2.0 */
/* From samples to call trees: against plain sums, however often stacks come again; what filters leave out; and what is
 * taken away between. */
#include "agg/collector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agg/keys.h"
#include "attrib/spe.h"
#include "base/random.h"
#include "state/timelines.h"

#define FUNCTIONS 6u
#define CODE 0x10000u
#define DEPTH 5u
#define EVENTS 2u
#define TASKS 3u /* pids 1 and up, threads 101 and up */
#define HITS 6000u
#define CHAINS 64u
#define MOST_PATHS 20000u

struct fixture {
	struct strtab strings;
	struct dsos *dsos;
	struct procs *procs;
	struct frames *frames;
	struct evlist events;
	struct features features;
	struct timelines timelines;
	struct profile p;
	struct collector_opts opts;
	struct collector *c;
	u64 chains[CHAINS][DEPTH + 1], offset; /* a chain stays for as long as its record is mapped */
};

static void begin(struct fixture *f, const u8 *order, u32 nr)
{
	struct dso_key key = { .kind = DSO_BPF, .path = { "app", 3 } };
	struct attr attr = { .size = 128, .sample_type = PERF_SAMPLE_CALLCHAIN };
	u32 dso;

	memset(f, 0, sizeof(*f));
	f->dsos = dsos_new(&(struct symbol_opts){ .offline = true }, NULL);
	f->frames = frames_new();
	f->procs = procs_new(&f->strings, f->dsos);
	dso = dsos_get(f->dsos, &key);
	for (u32 i = 0; i < FUNCTIONS; i++) {
		char name[3] = { 'f', (char)('0' + i), 0 };

		dsos_add_symbol(f->dsos, dso, CODE + 0x100 * i, CODE + 0x100 * (i + 1), (struct str){ name, 2 });
	}
	for (u32 i = 0; i < TASKS; i++)
		procs_add_code(f->procs, i + 1, CODE, 0x100 * FUNCTIONS, dso, 0);
	procs_seal(f->procs);
	for (u32 i = 0; i < EVENTS; i++)
		evlist_add(&f->events, &attr, "event", NULL);
	f->p.strings = &f->strings;
	profile_sort_by(&f->p, order, nr);
	f->opts = (struct collector_opts){ .keys = &f->p, .features = &f->features, .chains = true, .samples = 10 };
}

static void start(struct fixture *f)
{
	f->c = collector_new(f->procs, f->dsos, f->frames, &f->strings, &f->events, &f->opts);
}

static void end(struct fixture *f)
{
	collector_free(f->c);
	procs_free(f->procs);
	frames_free(f->frames);
	dsos_free(f->dsos);
	evlist_free(&f->events);
	strtab_free(&f->strings);
	vec_free(&f->timelines.all);
}

/* A hit in these functions, the innermost one first, at different addresses in them. */
static struct hit hit(struct fixture *f, u32 event, u32 task, const u32 *functions, u32 n, u64 weight)
{
	struct hit h = { .event = event, .cpumode = PERF_RECORD_MISC_USER, .offset = f->offset++ };
	u64 *chain = f->chains[f->offset % CHAINS];

	chain[0] = PERF_CONTEXT_USER;
	for (u32 i = 0; i < n; i++)
		chain[i + 1] = CODE + 0x100 * functions[i] + 16 + f->offset % 7;
	h.e = &f->events.events.v[event];
	h.s.pid = task + 1;
	h.s.tid = task + 101;
	h.s.ip = chain[1];
	h.s.period = weight;
	h.s.time = h.clock = 1000 + f->offset;
	h.s.chain = (struct u64s){ (const u8 *)chain, n + 1, false };
	return h;
}

static void add(struct fixture *f, u32 event, u32 task, const u32 *functions, u32 n, u64 weight)
{
	struct hit h = hit(f, event, task, functions, n, weight);

	collector_add(f->c, &h);
}

/* The sums by stack, as one number: the pid, and functions from the outermost one on. */
struct sums {
	u64 weight[MOST_PATHS];
	u32 samples[MOST_PATHS];
};

static u32 function_of(const struct fixture *f, u32 frame)
{
	const struct frame *at = frames_get(f->frames, frame);

	return (u32)(dsos_symbol(f->dsos, at->dso, at->sym)->start - CODE) / 0x100;
}

/* Those of the tree; it is emptied. */
static void read_tree(const struct fixture *f, struct tree_builder *b, struct sums *out)
{
	struct tree t = { 0 };
	u32 *path;

	memset(out, 0, sizeof(*out));
	tree_finish(b, &t);
	path = mem_zalloc((t.nodes.n + 1) * sizeof(*path));
	for (u32 i = 1; i < t.nodes.n; i++) {
		const struct tree_node *n = &t.nodes.v[i];

		path[i] = n->parent ? path[n->parent] * (FUNCTIONS + 1) + function_of(f, n->frame) + 1 :
				      (u32)tree_group_at(&t, n->frame)[f->p.word_of[SORT_PID]];
		assert_true(path[i] < MOST_PATHS);
		out->weight[path[i]] += n->self;
		out->samples[path[i]] += n->samples;
	}
	free(path);
	tree_free(&t);
}

static u64 seed;

static u32 next(u32 n)
{
	return (u32)random_below(&seed, n);
}

/* All that comes from random stacks: some hits without a chain, whose address is all there is, and some whose chain
 * does not begin with it. */
static void add_many(struct fixture *f, struct sums model[EVENTS], struct collected *all)
{
	for (u32 i = 0; i < HITS; i++) {
		u32 n = 1 + next(3), functions[DEPTH], event = next(EVENTS), task = next(TASKS), path = task + 1;
		struct hit h;

		for (u32 k = 0; k < n; k++)
			functions[k] = next(FUNCTIONS);
		for (u32 k = n; k--;)
			path = path * (FUNCTIONS + 1) + functions[k] + 1;
		h = hit(f, event, task, functions, n, 1 + next(1000));
		h.exact = next(2);
		if (n == 1 && next(2))
			h.s.chain.n = 0;
		if (!next(4))
			h.s.ip++; /* the same function, but not the chain's first address */
		collector_add(f->c, &h);
		model[event].weight[path] += h.s.period;
		model[event].samples[path]++;
		all->samples[event]++;
		all->weights[event] += h.s.period;
		all->exact[event] += h.exact;
		all->squares[event] += (double)h.s.period * (double)h.s.period;
		all->tally.last_time = h.s.time;
		all->tally.first_time = MIN(all->tally.first_time, h.s.time);
	}
	all->tally.samples += HITS;
}

static void is_like(const struct fixture *f, struct collected *got, const struct sums *model,
		    const struct collected *all)
{
	static struct sums s;

	for (u32 i = 0; i < EVENTS; i++) {
		read_tree(f, &got->trees[i], &s);
		assert_memory_equal(&s, &model[i], sizeof(s));
		assert_int_equal(got->samples[i], all->samples[i]);
		assert_int_equal(got->weights[i], all->weights[i]);
		assert_int_equal(got->exact[i], all->exact[i]);
		assert_true(got->squares[i] == all->squares[i]);
	}
	assert_int_equal(got->tally.samples, all->tally.samples);
	assert_int_equal(got->tally.first_time, all->tally.first_time);
	assert_int_equal(got->tally.last_time, all->tally.last_time);
	assert_int_equal(got->tally.filtered, 0);
}

static const u8 by_pid[] = { SORT_PID, SORT_SYMBOL };

static void test_sums(void **state)
{
	struct sums *model = mem_zalloc(EVENTS * sizeof(*model));
	struct collected all;
	struct fixture f;

	(void)state;
	begin(&f, by_pid, 2);
	start(&f);
	collected_init(&all, EVENTS);
	add_many(&f, model, &all);
	is_like(&f, collector_result(f.c), model, &all);
	collected_free(&all, EVENTS);
	end(&f);
	free(model);
}

/* What is taken away stays as it is, and what comes later begins from nothing; both together are all. */
static void test_taken(void **state)
{
	struct sums *model = mem_zalloc(EVENTS * sizeof(*model)), *both = mem_zalloc(EVENTS * sizeof(*both));
	struct collected all, sum, part, more;
	struct fixture f;

	(void)state;
	begin(&f, by_pid, 2);
	start(&f);
	collected_init(&sum, EVENTS);
	collected_init(&more, EVENTS);
	for (u32 i = 0; i < 3; i++) {
		memset(model, 0, EVENTS * sizeof(*model));
		collected_init(&all, EVENTS);
		add_many(&f, model, &all);
		collector_take(f.c, &part);
		for (u32 e = 0; e < EVENTS; e++)
			for (u32 k = 0; k < MOST_PATHS; k++) {
				both[e].weight[k] += model[e].weight[k];
				both[e].samples[k] += model[e].samples[k];
			}
		collected_add(&sum, &part, EVENTS, NULL);
		collected_add(&more, &all, EVENTS, NULL);
		assert_int_equal(part.samples[1], all.samples[1]);
		assert_int_equal(part.tally.first_time, all.tally.first_time);
		/* It is as it was, and can be added again. */
		if (i == 1) {
			collected_free(&sum, EVENTS);
			collected_init(&sum, EVENTS);
			collected_add(&sum, &part, EVENTS, NULL);
			memcpy(both, model, EVENTS * sizeof(*model));
			collected_free(&more, EVENTS);
			collected_init(&more, EVENTS);
			collected_add(&more, &all, EVENTS, NULL);
		}
		collected_free(&part, EVENTS);
		collected_free(&all, EVENTS);
	}
	is_like(&f, &sum, both, &more);
	collected_free(&sum, EVENTS);
	collected_free(&more, EVENTS);
	end(&f);
	free(model);
	free(both);
}

/* Without stacks there is only where samples were; a table of all events has one tree. */
static void test_leaves(void **state)
{
	static const u8 by_event[] = { SORT_EVENT, SORT_PID, SORT_SYMBOL };
	static struct sums s;
	struct collected *got;
	struct fixture f;

	(void)state;
	begin(&f, by_event, 3);
	f.opts.chains = false;
	start(&f);
	for (u32 i = 0; i < 40; i++)
		add(&f, i % 2, i % 4 / 2, (u32[]){ i % 3, i % 5 }, 2, 10);
	got = collector_result(f.c);
	assert_true(got->samples[0] == 40 && got->weights[0] == 400 && !got->samples[1] && !got->weights[1]);
	assert_int_equal(got->trees[1].links.n, 0);
	read_tree(&f, &got->trees[0], &s);
	for (u32 pid = 1; pid <= 2; pid++)
		for (u32 i = 0; i < 3; i++)
			assert_true(s.samples[pid * (FUNCTIONS + 1) + i + 1] >= 6);
	end(&f);
}

/* Other times and CPUs are as if they had not been recorded; other tasks and activities are left out, and known to be
 * there. */
static void test_filters(void **state)
{
	static const u32 pids[] = { 1, 2 };
	static const u8 chosen[] = { 0, 1 };

	struct sample_filter filter = { .pids = { pids, 2 } };
	struct collected *got;
	struct fixture f;

	(void)state;

	begin(&f, by_pid, 2);
	f.opts.filter = &filter;
	vec_push(&f.timelines.all, (struct activity){ .status = ACTIVITY_NO_ROOM }); /* 0: nobody's */
	vec_push(&f.timelines.all, (struct activity){ .status = ACTIVITY_BARE });
	f.p.timelines = &f.timelines;
	start(&f);
	for (u32 task = 0; task < TASKS; task++)
		for (u32 k = 0; k <= task; k++)
			add(&f, 1, task, (u32[]){ 1 }, 1, 100);
	got = collector_result(f.c);
	assert_true(got->samples[1] == 3 && got->weights[1] == 300);
	assert_true(got->hidden[0] == 0 && got->hidden[1] == 300); /* three of the third task */
	assert_true(got->tally.samples == 6 && got->tally.filtered == 3);
	assert_int_equal(got->tally.activities[NR_ACTIVITY_STATUS], 6);
	filter.activities = chosen;
	for (u32 i = 0; i < 4; i++) {
		struct spe_operation five = { .more = 4 };
		struct hit h = hit(&f, 0, 0, (u32[]){ 1 }, 1, 10);

		h.activity = i > 0;
		h.operation = i == 3 ? &five : NULL; /* it stands for five */
		collector_add(f.c, &h);
	}
	got = collector_result(f.c);
	assert_true(got->samples[0] == 7 && got->weights[0] == 70 && got->hidden[0] == 10);
	assert_true(got->squares[0] == 700);
	assert_true(got->tally.samples == 14 && got->tally.filtered == 4);
	assert_int_equal(got->tally.activities[NR_ACTIVITY_STATUS], 7);
	assert_int_equal(got->tally.activities[ACTIVITY_BARE], 7);
	end(&f);
}

/* Times that are left out are not hidden. */
static void test_times(void **state)
{
	struct sample_filter filter = { 0 };
	struct timeranges times = { 0 };
	struct collected *got;
	struct fixture f;

	(void)state;
	begin(&f, by_pid, 2);
	vec_push(&times.v, ((struct timerange){ 1003, 1005 }));
	filter.times = &times;
	f.opts.filter = &filter;
	start(&f);
	for (u32 i = 0; i < 10; i++) {
		struct spe_operation two = { .more = 1, .last = 1050 };
		struct hit h = hit(&f, 0, 0, (u32[]){ 1 }, 1, 10);

		h.operation = &two;
		collector_add(f.c, &h);
	}
	got = collector_result(f.c);
	assert_true(got->samples[0] > 0 && got->samples[0] < 10);
	assert_int_equal(got->samples[0] + got->tally.filtered, 20);
	assert_int_equal(got->hidden[0], 0);
	assert_true(got->tally.first_time == 1003 && got->tally.last_time == 1050);
	timeranges_free(&times);
	end(&f);
}

/* Costs are weights of samples, and no sample weighs nothing. */
static void test_costs(void **state)
{
	struct collected *got;
	struct fixture f;

	(void)state;
	begin(&f, by_pid, 2);
	f.opts.costs = true;
	start(&f);
	for (u32 i = 0; i < 3; i++) {
		const struct sample full = { .weight = 7 * i };
		struct hit h = hit(&f, 0, 0, (u32[]){ 1 }, 1, 1000);

		h.full = &full;
		collector_add(f.c, &h);
	}
	got = collector_result(f.c);
	assert_int_equal(got->weights[0], 1 + 7 + 14);
	assert_true(got->squares[0] == 1 + 49 + 196);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),	cmocka_unit_test(test_taken), cmocka_unit_test(test_leaves),
		cmocka_unit_test(test_filters), cmocka_unit_test(test_times), cmocka_unit_test(test_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
