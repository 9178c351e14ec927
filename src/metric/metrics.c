/* SPDX-License-Identifier: Apache-2.0 */
#include "metric/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mistake.h"

#define PER_KI(event) event "/instructions*1000"
#define SHARE(event) event "/total:" event "*100"
#define ALL_SLOTS "(slots-retiring+slots-bad-speculation+slots-frontend+slots-backend)"

/* A name may stand in several rows: the first whose events are there is taken. */
const struct metric_def metric_defs[] = {
	{ "CPI", "basic", "cycles/instructions", 2, "cycles per instruction" },
	{ "BM/KI", "basic", PER_KI("branch-misses"), 2, "mispredicted branches per 1000 instructions" },
	{ "CM/KI", "basic", PER_KI("l1d-misses"), 2, "L1 data cache misses per 1000 instructions" },
	{ "L1D/KI", "basic", PER_KI("l1d-load-misses"), 2, "L1 data cache load misses per 1000 instructions" },
	{ "L2/KI", "basic", PER_KI("l2-misses"), 2, "L2 misses per 1000 instructions" },
	{ "LLC/KI", "basic", PER_KI("llc-misses"), 2, "last-level cache misses per 1000 instructions" },
	{ "LLC/KI", "basic", PER_KI("llc-load-misses"), 2, "last-level cache load misses per 1000 instructions" },
	{ "%CM", "basic", "l1d-misses/l1d-references*100", 1, "percent of L1 data cache accesses that miss" },
	{ "L2%", "basic", "l2-misses/l2-references*100", 1, "percent of L2 accesses that miss" },
	{ "LLC%", "basic", "llc-misses/llc-references*100", 1, "percent of last-level cache accesses that miss" },
	{ "%CY", "basic", SHARE("cycles"), 1, "percent of all cycles" },
	{ "%I", "basic", SHARE("instructions"), 1, "percent of all instructions" },
	{ "%BM", "basic", SHARE("branch-misses"), 1, "percent of all mispredicted branches" },
	{ "%L1DA", "basic", SHARE("l1d-references"), 1, "percent of all L1 data cache accesses" },
	{ "%L1DM", "basic", SHARE("l1d-misses"), 1, "percent of all L1 data cache misses" },
	{ "%L1DM", "basic", SHARE("l1d-load-misses"), 1, "percent of all L1 data cache load misses" },
	{ "%L2M", "basic", SHARE("l2-misses"), 1, "percent of all L2 misses" },
	{ "%LLCM", "basic", SHARE("llc-misses"), 1, "percent of all last-level cache misses" },
	{ "%LLCM", "basic", SHARE("llc-load-misses"), 1, "percent of all last-level cache load misses" },
	{ "IPC", "ipc", "instructions/cycles", 2, "instructions per cycle" },
	{ "GHz", "ipc", "cycles/time", 2, "cycles per nanosecond" },
	{ "MIPS", "ipc", "instructions/time*1000", 0, "million instructions per second" },
	{ "BR/KI", "branch", PER_KI("branches"), 1, "branches per 1000 instructions" },
	{ "BM%", "branch", "branch-misses/branches*100", 2, "percent of branches that are mispredicted" },
	{ "RET/KI", "branch", PER_KI("branch-returns"), 2, "returns per 1000 instructions" },
	{ "CALL/KI", "branch", PER_KI("calls"), 2, "calls per 1000 instructions" },
	{ "PerCall", "calls", METRIC_PER_CALL, 0, "the leader's counts in the function itself for each of its calls" },
	{ "L1D/KI", "cache", PER_KI("l1d-load-misses"), 2, "L1 data cache load misses per 1000 instructions" },
	{ "L1D%", "cache", "l1d-load-misses/l1d-loads*100", 1, "percent of L1 data cache loads that miss" },
	{ "L1I/KI", "cache", PER_KI("l1i-misses"), 2, "L1 instruction cache misses per 1000 instructions" },
	{ "L2/KI", "cache", PER_KI("l2-misses"), 2, "L2 misses per 1000 instructions" },
	{ "L2%", "cache", "l2-misses/l2-references*100", 1, "percent of L2 accesses that miss" },
	{ "LLC/KI", "cache", PER_KI("llc-load-misses"), 2, "last-level cache load misses per 1000 instructions" },
	{ "LLC%", "cache", "llc-load-misses/llc-loads*100", 1, "percent of last-level cache loads that miss" },
	{ "DTLB/KI", "tlb", PER_KI("dtlb-load-misses"), 2, "data TLB misses per 1000 instructions" },
	{ "DTLB%", "tlb", "dtlb-load-misses/dtlb-loads*100", 2, "percent of data TLB look-ups that miss" },
	{ "ITLB/KI", "tlb", PER_KI("itlb-misses"), 2, "instruction TLB misses per 1000 instructions" },
	{ "FE%", "stalls", "stalled-cycles-frontend/cycles*100", 1, "percent of cycles without instructions to run" },
	{ "BE%", "stalls", "stalled-cycles-backend/cycles*100", 1, "percent of cycles waiting for data or units" },
	{ "Retiring%", "topdown", "slots-retiring/slots*100", 1, "percent of slots that did work" },
	{ "Retiring%", "topdown", "slots-retiring/" ALL_SLOTS "*100", 1, "percent of slots that did work" },
	{ "BadSpec%", "topdown", "slots-bad-speculation/slots*100", 1, "percent of slots lost to wrong paths" },
	{ "BadSpec%", "topdown", "slots-bad-speculation/" ALL_SLOTS "*100", 1,
	  "percent of slots lost to wrong paths" },
	{ "Frontend%", "topdown", "slots-frontend/slots*100", 1, "percent of slots without instructions" },
	{ "Frontend%", "topdown", "slots-frontend/" ALL_SLOTS "*100", 1, "percent of slots without instructions" },
	{ "Backend%", "topdown", "slots-backend/slots*100", 1, "percent of slots waiting for data or units" },
	{ "Backend%", "topdown", "slots-backend/" ALL_SLOTS "*100", 1, "percent of slots waiting for data or units" },
};
const u32 nr_metric_defs = ARRAY_LEN(metric_defs);

const char *const metric_count_names[NR_METRIC_COUNTS] = { "#", "kept", "disc%", "calls" };

const char *const metric_count_help[NR_METRIC_COUNTS] = {
	"short windows that ended in the row's code",
	"short windows that count for the row",
	"percent of the short windows that are discarded, because they began in other code",
	"how often the function was called",
};

static const char *const count_spellings[NR_METRIC_COUNTS] = { "windows", "kept", "discarded", "calls" };

static u32 count_find(const char *name)
{
	for (u32 i = 0; i < NR_METRIC_COUNTS; i++)
		if (!strcasecmp(name, metric_count_names[i]) || !strcasecmp(name, count_spellings[i]))
			return i;
	return ID_NONE;
}

/* Event names are as long as they like; a header is not. */
static void cut_copy(char *to, size_t size, const char *from, size_t len)
{
	len = MIN(len, size - 1);
	memcpy(to, from, len);
	to[len] = 0;
}

static u32 metric_find(const struct metric_table *t, const char *name)
{
	for (u32 i = 0; i < t->nr_metrics; i++)
		if (!strcasecmp(t->metrics[i].name, name))
			return i;
	return ID_NONE;
}

/* False when events are missing, or there is one of that name already. */
static bool add_metric(struct metric_table *t, const char *name, size_t name_len, const char *formula, u8 decimals,
		       struct expr_fault *fault)
{
	struct metric *m = &t->metrics[t->nr_metrics];

	*fault = (struct expr_fault){ 0 };
	if (t->nr_metrics == METRICS_MAX)
		return false;
	cut_copy(m->name, sizeof(m->name), name, name_len);
	cut_copy(m->formula, sizeof(m->formula), formula, strlen(formula));
	m->help = NULL;
	m->decimals = decimals;
	m->per_call = t->windows->calls && !strcmp(formula, METRIC_PER_CALL);
	m->expr = (struct metric_expr){ 0 };
	if (!m->per_call && !metric_expr_parse(&m->expr, formula, &t->windows->group, t->evlist, fault))
		return false;
	for (u32 i = 0; i < t->nr_metrics; i++)
		if (!strcasecmp(t->metrics[i].name, m->name))
			return false;
	t->nr_metrics++;
	return true;
}

static bool add_def(struct metric_table *t, const struct metric_def *def)
{
	struct expr_fault fault;

	if (!add_metric(t, def->name, strlen(def->name), def->formula, def->decimals, &fault))
		return false;
	t->metrics[t->nr_metrics - 1].help = def->help;
	return true;
}

static void add_set(struct metric_table *t, const char *set)
{
	for (u32 i = 0; i < nr_metric_defs; i++)
		if (!strcasecmp(metric_defs[i].set, set))
			add_def(t, &metric_defs[i]);
}

static u64 spoken_of(const struct metric_table *t)
{
	u64 members = 0;

	for (u32 i = 0; i < t->nr_metrics; i++)
		members |= t->metrics[i].expr.members;
	return members;
}

static bool counts_the_same(const struct metric_table *t, u32 a, u32 b)
{
	const struct attr *x = &t->evlist->events.v[t->windows->group.events[a]].attr,
			  *y = &t->evlist->events.v[t->windows->group.events[b]].attr;

	return x->type == y->type && x->config == y->config;
}

/* An event that no formula knows: how many for each thousand that the leader counts, or each millisecond; of two
 * clocks, percent. */
static void add_rate(struct metric_table *t, u32 member)
{
	const struct window_group *g = &t->windows->group;
	u32 leader = window_member_of(g, g->leader);
	const char *name = t->evlist->events.v[g->events[member]].name;
	const char *of = t->evlist->events.v[g->leader].name;
	bool by_time = g->roles[leader] == ROLE_TIME, is_time = by_time && g->roles[member] == ROLE_TIME;
	struct expr_fault fault;
	struct bytes header = { 0 }, formula = { 0 };

	if (member == leader || counts_the_same(t, leader, member) || strchr(name, '\'') || strchr(of, '\''))
		return;
	bytes_printf(&header, "%.*s", (int)strcspn(name, "/:"), name);
	if (is_time)
		bytes_char(&header, '%');
	else
		bytes_printf(&header, "/%s%.*s", by_time ? "ms" : "K", by_time ? 0 : (int)strcspn(of, "/:"), of);
	bytes_printf(&formula, "'%s'/'%s'*%s", name, of, is_time ? "100" : by_time ? "1000000" : "1000");
	bytes_char(&formula, 0);
	add_metric(t, (const char *)header.p, header.len, (const char *)formula.p, is_time ? 1 : 3, &fault);
	bytes_free(&header);
	bytes_free(&formula);
}

/* The usual ones; then those of other sets, and rates, for members that have not been spoken of. */
static void add_by_events(struct metric_table *t)
{
	add_set(t, "basic");
	for (u32 i = 0; i < nr_metric_defs; i++) {
		u64 before = spoken_of(t);
		u32 n = t->nr_metrics;

		if (add_def(t, &metric_defs[i]) && !(t->metrics[n].expr.members & ~before) && !t->metrics[n].per_call)
			t->nr_metrics = n;
	}
	for (u32 i = 0; i < t->windows->group.nr; i++)
		if (!(spoken_of(t) >> i & 1))
			add_rate(t, i);
}

static bool known_set(const char *name)
{
	for (u32 i = 0; i < nr_metric_defs; i++)
		if (!strcasecmp(metric_defs[i].set, name))
			return true;
	return !strcasecmp(name, "all");
}

static int note_unknown_set(const char *name, const struct notify *to)
{
	struct near near = { .want = { name, (u32)MIN(strlen(name), (size_t)UINT32_MAX) } };
	struct bytes head = { 0 };
	int err;

	bytes_printf(&head, "option --metrics: '%s' is not one of ", name);
	for (u32 i = 0; i < nr_metric_defs; i++) {
		if (i && !strcmp(metric_defs[i].set, metric_defs[i - 1].set))
			continue;
		near_offer(&near, metric_defs[i].set);
		bytes_printf(&head, "%s, ", metric_defs[i].set);
	}
	bytes_str(&head, "all");
	bytes_char(&head, 0);
	err = mistake_note(&(struct mistake){ .near = &near }, ERR_USAGE, (char *)head.p, to);
	bytes_free(&head);
	return err;
}

static int add_sets(struct metric_table *t, const struct name_list *sets, const struct notify *to)
{
	for (u32 i = 0; i < sets->n; i++) {
		if (!known_set(sets->v[i]))
			return note_unknown_set(sets->v[i], to);
		for (u32 k = 0; k < nr_metric_defs; k++)
			if (!strcasecmp(sets->v[i], "all") &&
			    (!k || strcmp(metric_defs[k].set, metric_defs[k - 1].set)))
				add_set(t, metric_defs[k].set);
		add_set(t, sets->v[i]);
	}
	return 0;
}

static int note_fault(const struct metric_table *t, const char *text, const struct expr_fault *f,
		      const struct notify *to)
{
	struct bytes events = { 0 };
	int err;

	if (f->error != EXPR_UNKNOWN_NAME)
		return notify_error(to, ERR_USAGE, "option --metric: '%s' is not understood from '%s' on", text,
				    text + f->at);
	for (u32 i = 0; i < t->windows->group.nr; i++)
		bytes_printf(&events, "%s%s", i ? ", " : "", t->evlist->events.v[t->windows->group.events[i]].name);
	bytes_char(&events, 0);
	err = notify_error(
		to, ERR_USAGE,
		"option --metric: '%.*s' is not an event of the group (%s); a minus sign needs blanks around it",
		(int)f->len, text + f->at, (char *)events.p);
	bytes_free(&events);
	return err;
}

static int add_own(struct metric_table *t, const char *text, bool lenient, const struct notify *to)
{
	const char *equals = strchr(text, '=');
	struct expr_fault fault;

	if (!equals || equals == text)
		return notify_error(to, ERR_USAGE, "option --metric: '%s' is not NAME=FORMULA", text);
	if (add_metric(t, text, (size_t)(equals - text), equals + 1, 3, &fault))
		return 0;
	if (fault.error == EXPR_UNKNOWN_NAME && lenient)
		return 0;
	if (fault.error)
		return note_fault(t, equals + 1, &fault, to);
	return notify_error(to, ERR_USAGE, "option --metric: '%s' is one metric too many, or its name is already used",
			    text);
}

static u32 column_find_here(const struct metric_table *t, const char *name)
{
	u32 count = count_find(name), metric = metric_find(t, name);

	if (count == METRIC_CALLS && !t->windows->calls)
		count = ID_NONE;
	return metric != ID_NONE ? metric : count != ID_NONE ? METRICS_MAX + count : ID_NONE;
}

static const char *per_call_name(void)
{
	u32 i = 0;

	while (strcmp(metric_defs[i].formula, METRIC_PER_CALL) != 0)
		i++;
	return metric_defs[i].name;
}

static int note_unknown_metric(const struct metric_table *t, const char *option, const char *name,
			       const struct notify *to)
{
	struct near near = { .want = { name, (u32)MIN(strlen(name), (size_t)UINT32_MAX) } };
	struct bytes head = { 0 };
	int err;

	bytes_printf(&head, "option %s: there is no metric '%s' for the events that were recorded; there are ", option,
		     name);
	for (u32 i = 0; i < t->nr_metrics; i++)
		near_offer(&near, t->metrics[i].name);
	/* Those that are not among the usual ones may be asked for as well. */
	for (u32 i = 0; i < nr_metric_defs; i++)
		near_offer(&near, metric_defs[i].name);
	for (u32 i = 0; i < NR_METRIC_COUNTS; i++) {
		near_offer(&near, metric_count_names[i]);
		near_offer(&near, count_spellings[i]);
	}
	for (u32 i = 0; i < t->nr_metrics; i++)
		bytes_printf(&head, "%s, ", t->metrics[i].name);
	for (u32 i = 0; i < NR_METRIC_COUNTS; i++)
		bytes_printf(&head, "%s%s", i ? ", " : "", count_spellings[i]);
	bytes_char(&head, 0);
	err = mistake_note(&(struct mistake){ .near = &near }, ERR_USAGE, (char *)head.p, to);
	bytes_free(&head);
	return err;
}

/* Names of metrics that are not in the table yet are added to it. */
static int find_column(struct metric_table *t, const char *option, const char *name, u32 *column,
		       const struct notify *to)
{
	for (u32 i = 0; i < nr_metric_defs && column_find_here(t, name) == ID_NONE; i++)
		if (!strcasecmp(metric_defs[i].name, name))
			add_def(t, &metric_defs[i]);
	*column = column_find_here(t, name);
	if (*column == ID_NONE && (count_find(name) == METRIC_CALLS || !strcasecmp(name, per_call_name())))
		return notify_error(
			to, ERR_USAGE,
			"option %s: no event of the recording counts calls, which '%s' needs: record one, like "
			"-e re/period=1/ with --pmu=sim, or a probe at the functions' entry",
			option, name);
	return *column == ID_NONE ? note_unknown_metric(t, option, name, to) : 0;
}

static void all_columns(struct metric_table *t)
{
	t->columns[t->nr_columns++] = METRICS_MAX + METRIC_WINDOWS;
	if (t->windows->calls)
		t->columns[t->nr_columns++] = METRICS_MAX + METRIC_CALLS;
	for (u32 i = 0; i < t->nr_metrics; i++)
		t->columns[t->nr_columns++] = (u8)i;
	t->columns[t->nr_columns++] = METRICS_MAX + METRIC_KEPT;
	t->columns[t->nr_columns++] = METRICS_MAX + METRIC_DISCARD_PERCENT;
}

int metric_table_make(struct metric_table *t, const struct evlist *l, const struct profile_windows *w,
		      const struct metrics_opts *o, const struct notify *to)
{
	int err = 0;

	*t = (struct metric_table){ .windows = w, .evlist = l };
	if (o->sets.n)
		err = add_sets(t, &o->sets, to);
	else
		add_by_events(t);
	for (u32 i = 0; i < o->own.n && !err; i++)
		err = add_own(t, o->own.v[i], o->lenient, to);
	if (!o->columns.n)
		all_columns(t);
	for (u32 i = 0; i < o->columns.n && !err && t->nr_columns < ARRAY_LEN(t->columns); i++) {
		u32 column = 0;

		err = find_column(t, "--columns", o->columns.v[i], &column, o->lenient ? NULL : to);
		if (!err)
			t->columns[t->nr_columns++] = (u8)column;
		else if (o->lenient)
			err = 0;
	}
	for (u32 i = 0; i < o->sort.n && !err && t->nr_sort < METRIC_SORTS; i++) {
		u32 column = 0;

		if (!find_column(t, "--sort", o->sort.v[i], &column, o->lenient ? NULL : to))
			t->sort[t->nr_sort++] = (u8)column;
		else
			err = o->lenient ? 0 : ERR_USAGE;
	}
	return err;
}

bool metric_table_has_set(const struct metric_table *t, const char *set)
{
	for (u32 i = 0; i < nr_metric_defs; i++)
		if ((!strcasecmp(set, "all") || !strcasecmp(set, metric_defs[i].set)) &&
		    metric_find(t, metric_defs[i].name) != ID_NONE)
			return true;
	return false;
}

bool metric_name_possible(const char *name, const struct metrics_opts *o)
{
	for (u32 i = 0; i < nr_metric_defs; i++)
		if (!strcasecmp(metric_defs[i].name, name))
			return true;
	for (u32 i = 0; i < o->own.n; i++)
		if (!strncasecmp(o->own.v[i], name, strlen(name)) && o->own.v[i][strlen(name)] == '=')
			return true;
	return count_find(name) != ID_NONE || strchr(name, '/'); /* a rate of an event */
}

static double count_value(u32 count, const double *block)
{
	switch (count) {
	case METRIC_WINDOWS:
		return block[WINDOWS_SHORT];
	case METRIC_KEPT:
		return block[WINDOWS_KEPT];
	case METRIC_CALLS:
		return block[WINDOWS_CALLS] > 0 ? block[WINDOWS_CALLS] : NAN;
	default:
		return 100 * block[WINDOWS_DISCARDED] / (block[WINDOWS_KEPT] + block[WINDOWS_DISCARDED]);
	}
}

double metric_column_value(const struct metric_table *t, u32 column, const double *block, bool *doubtful)
{
	struct metric_value v = { .doubtful = false };

	if (column >= METRICS_MAX)
		v.value = count_value(column - METRICS_MAX, block);
	else
		metric_value(t, column, block, &v);
	if (doubtful)
		*doubtful = v.doubtful;
	return v.value;
}

const char *metric_column_name(const struct metric_table *t, u32 column)
{
	return column < METRICS_MAX ? t->metrics[column].name : metric_count_names[column - METRICS_MAX];
}

struct sorted_row {
	const struct metric_table *t;
	u32 row;
	struct {
		double value;
		bool few; /* of a ratio: what it rests on is too little to rank it */
	} by[METRIC_SORTS];
};

/* Largest first; then ratios of few windows, and last rows without a value. Of equal ones the next key decides. */
static int by_value(const void *va, const void *vb)
{
	const struct sorted_row *a = va, *b = vb;

	for (u32 i = 0; i < a->t->nr_sort; i++) {
		bool x = isnan(a->by[i].value), y = isnan(b->by[i].value);

		if (x != y)
			return x ? 1 : -1;
		if (!x && a->by[i].few != b->by[i].few)
			return a->by[i].few ? 1 : -1;
		if (!x && a->by[i].value != b->by[i].value)
			return a->by[i].value < b->by[i].value ? 1 : -1;
	}
	return a->row < b->row ? -1 : a->row > b->row;
}

u32 *metric_order(const struct metric_table *t, u32 n)
{
	struct sorted_row *rows = mem_realloc(NULL, n + 1ul, sizeof(*rows));
	u32 *order = mem_realloc(NULL, n + 1ul, sizeof(*order));

	for (u32 i = 0; i < n; i++) {
		const double *block = profile_window_row(t->windows, i);

		rows[i] = (struct sorted_row){ .t = t, .row = i };
		for (u32 k = 0; k < t->nr_sort; k++) {
			rows[i].by[k].value = metric_column_value(t, t->sort[k], block, &rows[i].by[k].few);
		}
	}
	if (n && t->nr_sort)
		qsort(rows, n, sizeof(*rows), by_value);
	for (u32 i = 0; i < n; i++)
		order[i] = rows[i].row;
	free(rows);
	return order;
}
