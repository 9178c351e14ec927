/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/stat.h"

static const char *const states[] = {
	[COUNT_NONE] = "<not counted>",
	[COUNT_UNSUPPORTED] = "<not supported>",
	[COUNT_UNMODELLED] = "<not modelled>",
};

static double mean_of(const struct counted *e, double *error)
{
	double mean = 0, squares = 0;
	size_t n = e->values.n;

	for (size_t i = 0; i < n; i++) {
		double v = (double)e->values.v[i], d = v - mean;

		mean += d / (double)(i + 1);
		squares += d * (v - mean);
	}
	*error = n > 1 && mean > 0 ? 100 * sqrt(squares / (double)(n - 1) / (double)n) / mean : 0;
	return mean;
}

static void add_key(struct stat_table *t, const struct count_cell *at)
{
	struct count_key k = count_key_of(t->view->by, at, at->cpu >= 0 ? &t->view->places[at->cpu] : NULL);

	for (size_t i = 0; i < t->keys.n; i++)
		if (!count_key_cmp(&t->keys.v[i], &k))
			return;
	vec_push(&t->keys, k);
}

static int by_key(const void *a, const void *b)
{
	return count_key_cmp(a, b);
}

static void make_keys(struct stat_table *t)
{
	const struct counter_result *r = t->view->r;

	if (t->view->by == COUNT_BY_ALL) {
		vec_push(&t->keys, count_key_of(COUNT_BY_ALL, NULL, NULL));
		return;
	}
	for (size_t i = 0; i < r->places.n; i++)
		add_key(t, &r->places.v[i]);
	for (size_t i = 0; i < r->threads.n; i++)
		add_key(t, &(struct count_cell){
				   .cpu = -1, .pid = (s32)r->threads.v[i].pid, .tid = (s32)r->threads.v[i].tid });
	if (t->view->by != COUNT_BY_THREAD && t->keys.n)
		qsort(t->keys.v, t->keys.n, sizeof(*t->keys.v), by_key);
}

/* Over all runs, at all places. */
static void whole(const struct stat_view *v, struct stat_cell *c)
{
	const struct counted *e = c->e;

	c->value = mean_of(e, &c->error);
	c->running_ns = e->running_ns / MAX(v->r->runs, 1u);
	c->percent = e->enabled_ns ? 100.0 * (double)e->running_ns / (double)e->enabled_ns : 100;
	if (!e->values.n && c->state == COUNT_OK)
		c->state = COUNT_NONE;
}

static struct stat_cell make_cell(const struct stat_table *t, const struct counted *e, const struct count_key *key)
{
	const struct stat_view *v = t->view;
	struct stat_cell c = { .e = e, .state = e->state };
	struct count_sum sum;

	count_add(&sum, e, v->by, key, v->places, v->interval > 0);
	/* perf says 1 for an event that could not be opened. */
	c.cells = e->state == COUNT_UNSUPPORTED ? 1 : sum.cells;
	if (v->by == COUNT_BY_ALL && !v->interval) {
		whole(v, &c);
	} else if (e->state == COUNT_OK || e->state == COUNT_NONE) {
		c.state = sum.counted || v->r->simulated ? COUNT_OK : COUNT_NONE;
		c.value = (double)sum.value;
		c.running_ns = sum.all.running_ns;
		c.percent = sum.all.enabled_ns ? 100.0 * (double)sum.all.running_ns / (double)sum.all.enabled_ns : 100;
	}
	if (c.state != COUNT_OK) {
		c.running_ns = 0;
		c.percent = 100;
	}
	return c;
}

void stat_table_make(struct stat_table *t, const struct stat_view *v)
{
	*t = (struct stat_table){ .view = v };
	make_keys(t);
	for (size_t k = 0; k < t->keys.n; k++)
		for (size_t i = 0; i < v->r->events.n; i++)
			vec_push(&t->cells, make_cell(t, &v->r->events.v[i], &t->keys.v[k]));
}

void stat_table_free(struct stat_table *t)
{
	vec_free(&t->keys);
	vec_free(&t->cells);
}

const struct stat_cell *stat_table_cell(const struct stat_table *t, size_t key, size_t event)
{
	return &t->cells.v[key * t->view->r->events.n + event];
}

/* A place where the event does not exist at all, as a CPU that its PMU does not have. */
static bool is_absent(const struct stat_cell *c)
{
	return !c->cells && c->state == COUNT_NONE && c->e->cells.n;
}

void stat_table_walk(const struct stat_table *t, void *ctx,
		     void (*fn)(void *ctx, const struct stat_table *t, size_t key, size_t event))
{
	size_t events = t->view->r->events.n, keys = t->keys.n;
	bool by_event = t->view->by == COUNT_BY_CPU || t->view->by == COUNT_BY_THREAD;

	for (size_t i = 0; i < events * keys; i++) {
		size_t event = by_event ? i / keys : i % events, key = by_event ? i % keys : i / events;

		if (!is_absent(stat_table_cell(t, key, event)))
			fn(ctx, t, key, event);
	}
}

static const char *comm_of(const struct counter_result *r, s32 tid)
{
	for (size_t i = 0; i < r->places.n; i++)
		if (r->places.v[i].tid == tid)
			return r->comms.v[i].name;
	return "";
}

/* A thread calls itself what it likes: controls are shown as escapes, and no field ends in it. */
static void put_thread(const struct stat_table *t, const char *comm, s32 tid, char *buf, size_t size)
{
	const char *separator = t->view->separator;
	struct bytes name = { 0 };

	bytes_plain(&name, comm, strlen(comm));
	for (size_t i = 0; separator && i < name.len; i++)
		if (strchr(separator, name.p[i]))
			name.p[i] = ' ';
	snprintf(buf, size, "%.*s-%d", (int)name.len, name.len ? (const char *)name.p : "", tid);
	bytes_free(&name);
}

void stat_key_name(const struct stat_table *t, const struct count_key *k, char *buf, size_t size)
{
	const struct counter_result *r = t->view->r;

	switch (t->view->by) {
	case COUNT_BY_ALL:
		*buf = 0;
		break;
	case COUNT_BY_CPU:
		snprintf(buf, size, "CPU%d", k->cpu);
		break;
	case COUNT_BY_CORE:
		snprintf(buf, size, "S%d-D%d-C%d", k->socket, k->die, k->core);
		break;
	case COUNT_BY_DIE:
		snprintf(buf, size, "S%d-D%d", k->socket, k->die);
		break;
	case COUNT_BY_SOCKET:
		snprintf(buf, size, "S%d", k->socket);
		break;
	case COUNT_BY_NODE:
		snprintf(buf, size, "N%d", k->node);
		break;
	case COUNT_BY_THREAD:
		if (r->simulated)
			snprintf(buf, size, "%d/%d", k->pid, k->tid);
		else
			put_thread(t, comm_of(r, k->tid), k->tid, buf, size);
		break;
	}
}

static bool is_clock(const struct counted *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE &&
	       (e->attr.config == PERF_COUNT_SW_TASK_CLOCK || e->attr.config == PERF_COUNT_SW_CPU_CLOCK);
}

/* "1234567" -> "1,234,567" */
static void put_commas(const char *digits, char *buf, size_t size)
{
	size_t n = strlen(digits), at = 0;

	for (size_t i = 0; i < n && at + 2 < size; i++) {
		if (i && !((n - i) % 3))
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = 0;
}

const char *stat_value(const struct stat_cell *c, bool commas, char *buf, size_t size)
{
	char digits[32];

	if (is_clock(c->e)) {
		snprintf(buf, size, "%.2f", c->value * 1e-6);
	} else if (c->e->unit && c->e->scale > 0) {
		snprintf(buf, size, "%.2f", c->value * c->e->scale);
	} else {
		snprintf(digits, sizeof(digits), "%.0f", c->value);
		if (commas)
			put_commas(digits, buf, size);
		else
			snprintf(buf, size, "%s", digits);
	}
	return buf;
}

const char *stat_unit(const struct counted *e)
{
	return is_clock(e) ? "msec" : e->unit ? e->unit : "";
}

const char *stat_state(const struct stat_cell *c)
{
	return c->state == COUNT_OK ? NULL : states[c->state];
}

double stat_seconds(const struct stat_view *v)
{
	double sum = 0;

	if (v->interval > 0)
		return v->interval;
	for (size_t i = 0; i < v->r->seconds.n; i++)
		sum += v->r->seconds.v[i];
	return v->r->seconds.n ? sum / (double)v->r->seconds.n : 0;
}

bool stat_count_of(const struct stat_table *t, size_t key, u32 type, u64 config, double *out)
{
	const struct counter_result *r = t->view->r;

	for (size_t i = 0; i < r->events.n; i++) {
		const struct stat_cell *c = stat_table_cell(t, key, i);

		if (c->e->attr.type == type && c->e->attr.config == config && c->state == COUNT_OK) {
			*out = c->value;
			return true;
		}
	}
	return r->simulated && t->view->by == COUNT_BY_ALL && counter_value(r, type, config, out);
}
