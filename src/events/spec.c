/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and groups of events: cuts the -e text into single events and puts the groups together again. */
#include "events/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events/parse.h"

static void spec_free(struct event_spec *s)
{
	free(s->name);
	free(s->pmu);
	free(s->cpus);
	free(s->group_name);
	free(s->call_graph);
	free(s->filter);
	free(s->unit);
}

void event_specs_free(struct event_specs *specs)
{
	for (u32 i = 0; i < specs->v.n; i++)
		spec_free(&specs->v.v[i]);
	vec_free(&specs->v);
}

/*
 * The end of the event that begins at p: the comma or brace that is neither between the slashes of a term list nor in
 * quotes. A breakpoint's single slash opens nothing.
 */
static const char *event_end(const char *p)
{
	bool terms = false, quoted = false, mem;

	p += strspn(p, " \t\n");
	mem = !strncmp(p, "mem:", 4);
	for (; *p; p++) {
		if (*p == '\'' && terms)
			quoted = !quoted;
		else if (*p == '/' && !quoted && !mem)
			terms = !terms;
		else if (!terms && strchr(",{}", *p))
			break;
	}
	return p;
}

/* An unclosed term list or quote reaches to the end of the text; the single event's parser says so. */
static int parse_events(struct event_ctx *c, const char **p)
{
	for (;;) {
		const char *end = event_end(*p);
		int err = event_parse_one(c, span_of(*p, end));

		*p = end;
		if (err || *end != ',')
			return err;
		(*p)++;
	}
}

static bool same_pmu(const struct event_spec *s, const char *pmu)
{
	return s->pmu && pmu && !strcmp(s->pmu, pmu);
}

/*
 * Where one event became one per PMU, so does the group: the kernel does not schedule several PMUs as one. Members
 * keep their order within their PMU's group; those without a PMU (software events) go with the first one.
 */
static void split_by_pmu(struct event_ctx *c, u32 first)
{
	u32 n = (u32)c->out->v.n - first, placed = 0;
	struct event_spec *to = c->out->v.v + first, *from = mem_alloc(n * sizeof(*from));
	bool *taken = mem_zalloc(n);

	memcpy(from, to, n * sizeof(*from));
	while (placed < n) {
		u32 leader = placed;
		const char *pmu = NULL;

		for (u32 i = 0; i < n && !pmu; i++)
			if (!taken[i])
				pmu = from[i].pmu;
		for (u32 i = 0; i < n; i++) {
			if (taken[i] || (from[i].pmu && !same_pmu(&from[i], pmu)))
				continue;
			to[placed] = from[i];
			to[placed++].leader = first + leader;
			taken[i] = true;
		}
	}
	free(taken);
	free(from);
}

static void make_group(struct event_ctx *c, u32 first, span name)
{
	for (u32 i = first; i < c->out->v.n; i++) {
		c->out->v.v[i].leader = first;
		if (name.len)
			c->out->v.v[i].group_name = mem_strndup(name.p, name.len);
	}
	if (c->fanned_out)
		split_by_pmu(c, first);
}

/* p stands on '{'; afterwards behind the group's modifiers. */
static int parse_group(struct event_ctx *c, const char **p, span name)
{
	const char *open = *p;
	u32 first = (u32)c->out->v.n;
	size_t mods;
	int err;

	(*p)++;
	c->fanned_out = false;
	err = parse_events(c, p);
	if (err)
		return err;
	if (**p == '{')
		return event_fail(c, ERR_USAGE, span_of(*p, *p + 1), NULL, NULL, "a group cannot hold another group");
	if (**p != '}')
		return event_fail(c, ERR_USAGE, span_of(open, open + 1), NULL, NULL,
				  "the group is not closed with '}'");
	(*p)++;
	make_group(c, first, name);
	if (**p != ':')
		return 0;
	(*p)++;
	mods = strcspn(*p, ",{} \t\n");
	if (!mods)
		return event_fail(c, ERR_USAGE, span_of(*p, *p), NULL, NULL, "modifiers are missing after ':'");
	err = event_mods_apply(c, first, span_of(*p, *p + mods), true);
	*p += mods;
	return err;
}

static int parse_list(struct event_ctx *c)
{
	const char *p = c->text, *end;
	int err;

	for (;; p++) {
		p += strspn(p, " \t\n");
		end = event_end(p);
		if (*end == '{') {
			span name = span_of(p, end);

			p = end;
			err = parse_group(c, &p, name);
		} else {
			err = event_parse_one(c, span_of(p, end));
			p = end;
		}
		if (err)
			return err;
		p += strspn(p, " \t\n");
		if (!*p)
			return 0;
		if (*p != ',')
			return event_fail(c, ERR_USAGE, span_of(p, p + 1), NULL, NULL, "expected ',' or the end");
	}
}

static int parse(struct event_ctx *c)
{
	u32 before = (u32)c->out->v.n;
	int err = parse_list(c);

	if (err) {
		for (u32 i = before; i < c->out->v.n; i++)
			spec_free(&c->out->v.v[i]);
		c->out->v.n = before;
	}
	return err;
}

static int parse_with(struct event_ctx *c, const struct event_env *env)
{
	struct event_specs *out = c->out;
	int err;

	c->simulated = env && env->simulated;
	c->sysfs = env && env->sysfs ? env->sysfs : "/sys";
	c->tracefs = tracefs_root(env ? env->tracefs : NULL);
	if (out->v.n)
		c->option = out->v.v[out->v.n - 1].option + 1;
	err = parse(c);
	sysfs_pmus_free(&c->pmus);
	return err;
}

int event_specs_parse(struct event_specs *out, const char *text, const struct event_env *env, const struct notify *to)
{
	return parse_with(&(struct event_ctx){ .text = text, .to = to, .out = out }, env);
}

int event_specs_parse_pfm(struct event_specs *out, const char *text, const struct event_env *env,
			  const struct notify *to)
{
	if (!event_pfm_built_in())
		return notify_error(to, ERR_UNSUPPORTED,
				    "libpfm4 is not installed, or this build does not support it: install it, "
				    "or use -e");
	return parse_with(&(struct event_ctx){ .text = text, .to = to, .out = out, .pfm_only = true }, env);
}

/* Of what the last -e named. */
static size_t last_option(const struct event_specs *specs)
{
	size_t n = specs->v.n, first = n;

	while (first && specs->v.v[first - 1].option == specs->v.v[n - 1].option)
		first--;
	return first;
}

static void add_filter(struct event_spec *s, const char *filter)
{
	char *old = s->filter;

	s->filter = old ? mem_printf("(%s) && (%s)", old, filter) : mem_strdup(filter);
	free(old);
}

int event_specs_filter(struct event_specs *specs, const char *filter, const struct notify *to)
{
	size_t n = specs->v.n, first = last_option(specs);

	for (size_t i = first; i < n; i++) {
		struct event_spec *s = &specs->v.v[i];

		if (s->attr.type == PERF_TYPE_TRACEPOINT || s->pmu)
			continue;
		return notify_error(to, ERR_USAGE, "--filter works only for tracepoints, and '%s' is not one",
				    s->name);
	}
	if (first == n)
		return notify_error(to, ERR_USAGE,
				    "--filter has to follow its event: -e sched:sched_switch --filter '%s'", filter);
	for (size_t i = first; i < n; i++)
		add_filter(&specs->v.v[i], filter);
	return 0;
}

int event_specs_exclude(struct event_specs *specs, s32 pid, const struct notify *to)
{
	size_t n = specs->v.n, first = last_option(specs);
	char filter[40];

	for (size_t i = first; i < n; i++)
		if (specs->v.v[i].attr.type != PERF_TYPE_TRACEPOINT)
			return notify_error(
				to, ERR_USAGE,
				"--exclude-perf works only for tracepoints, and '%s' is not one (for other "
				"events, give report -c the names of all threads except 'reticle')",
				specs->v.v[i].name);
	if (first == n)
		return notify_error(to, ERR_USAGE,
				    "--exclude-perf has to follow the tracepoints (-e) to which it applies");
	snprintf(filter, sizeof(filter), "common_pid != %d", pid);
	for (size_t i = first; i < n; i++)
		add_filter(&specs->v.v[i], filter);
	return 0;
}
