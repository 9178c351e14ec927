/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints, including existing kprobes and uprobes: subsys:event, where both parts may be globs. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <unistd.h>

#include "events/parse.h"

#define TRACE_SAMPLE (PERF_SAMPLE_RAW | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

static bool is_glob(span s)
{
	return memchr(s.p, '*', s.len) || memchr(s.p, '?', s.len) || memchr(s.p, '[', s.len);
}

/* What may become part of a path. */
static bool is_name(span s)
{
	return s.len && s.len < 256 && s.p[0] != '.' && !memchr(s.p, '/', s.len) && !memchr(s.p, '\n', s.len);
}

bool event_trace_has_subsystem(struct event_ctx *c, span sys)
{
	char *path;
	bool yes;

	if (!is_name(sys))
		return false;
	if (is_glob(sys))
		return true;
	path = mem_printf("%s/events/%.*s", c->tracefs, (int)sys.len, sys.p);
	yes = !access(path, F_OK);
	free(path);
	return yes;
}

static int add_one(struct event_ctx *c, struct event_text *e, const char *sys, const char *name)
{
	struct event_spec *s;
	u64 id;
	int err = tracefs_event_id(c->tracefs, sys, name, &id);

	if (err)
		return err;
	s = event_add(c);
	s->attr.type = PERF_TYPE_TRACEPOINT;
	s->attr.config = id;
	s->attr.sample_type = TRACE_SAMPLE;
	s->attr.sample_period = 1;
	s->name = mem_printf("%s:%s", sys, name);
	return event_terms_apply(c, s, &e->terms, false);
}

static int explain_access(struct event_ctx *c, span at, int err)
{
	if (err == ERR_PERM && geteuid())
		return event_fail(c, ERR_PERM, at, NULL,
				  "run as root, or let your group read it: mount -o remount,gid=GROUP,mode=750 "
				  "/sys/kernel/tracing",
				  "tracepoints cannot be looked up: %s/events is not readable for this user",
				  c->tracefs);
	if (err == ERR_NOTFOUND)
		return event_fail(c, ERR_NOTFOUND, at, NULL, "mount -t tracefs nodev /sys/kernel/tracing",
				  "tracepoints cannot be looked up: there is no %s/events", c->tracefs);
	return event_fail(c, err, at, NULL, NULL, "tracepoints cannot be looked up: %s/events: %s", c->tracefs,
			  err_name(err));
}

/* Nothing matched: names the nearest subsystem or event. */
static int explain_missing(struct event_ctx *c, span sys, span name, const struct tracefs_names *systems)
{
	struct near near = { .want = sys };
	struct tracefs_names events = { 0 };
	char *dir;
	int err;

	if (is_glob(sys) || !event_trace_has_subsystem(c, sys)) {
		event_names_near(&near); /* "cycels:u" */
		for (size_t i = 0; i < systems->v.n; i++)
			near_offer(&near, systems->v.v[i]);
		return event_fail(c, ERR_NOTFOUND, sys, &near, "'reticle list tracepoint' shows the tracepoints",
				  "no event and no tracepoint subsystem '%.*s'", (int)MIN(sys.len, 100u), sys.p);
	}
	dir = mem_strndup(sys.p, sys.len);
	err = tracefs_list(c->tracefs, dir, &events);
	near = (struct near){ .want = name };
	for (size_t i = 0; i < events.v.n; i++)
		near_offer(&near, events.v.v[i]);
	free(dir);
	tracefs_names_free(&events);
	if (err == ERR_PERM)
		return explain_access(c, sys, err);
	return event_fail(c, ERR_NOTFOUND, name, &near, "'reticle list tracepoint' shows the tracepoints",
			  "'%.*s' has no tracepoint '%.*s'", (int)sys.len, sys.p, (int)MIN(name.len, 100u), name.p);
}

/* All events of one subsystem that the glob fits. ftrace/ has no ids: what cannot be opened is passed over. */
static int add_matching(struct event_ctx *c, struct event_text *e, const char *sys, const char *pattern)
{
	struct tracefs_names events = { 0 };
	int err = tracefs_list(c->tracefs, sys, &events);

	for (size_t i = 0; i < events.v.n && !err; i++) {
		if (fnmatch(pattern, events.v.v[i], 0))
			continue;
		err = add_one(c, e, sys, events.v.v[i]);
		if (err == ERR_NOTFOUND || err == ERR_FORMAT)
			err = 0;
	}
	tracefs_names_free(&events);
	return err;
}

static int add_globbed(struct event_ctx *c, struct event_text *e, span sys, span name,
		       const struct tracefs_names *systems)
{
	char *sys_pattern = mem_strndup(sys.p, sys.len), *pattern = mem_strndup(name.p, name.len);
	size_t before = c->out->v.n;
	int err = 0;

	for (size_t i = 0; i < systems->v.n && !err; i++)
		if (!fnmatch(sys_pattern, systems->v.v[i], 0))
			err = add_matching(c, e, systems->v.v[i], pattern);
	free(sys_pattern);
	free(pattern);
	if (!err && c->out->v.n == before)
		return explain_missing(c, sys, name, systems);
	return err;
}

int event_add_tracepoint(struct event_ctx *c, struct event_text *e, span sys, span name)
{
	struct tracefs_names systems = { 0 };
	int err;

	if (!is_name(sys) || !is_name(name))
		return event_fail(c, ERR_USAGE, is_name(sys) ? name : sys, NULL, NULL,
				  "expected a tracepoint, subsystem:event");
	if (!is_glob(sys) && !is_glob(name)) {
		char *dir = mem_strndup(sys.p, sys.len), *event = mem_strndup(name.p, name.len);

		err = add_one(c, e, dir, event);
		free(dir);
		free(event);
		if (!err || err == ERR_USAGE)
			return err;
	}
	err = tracefs_list(c->tracefs, NULL, &systems);
	if (err)
		err = explain_access(c, span_of(sys.p, name.p + name.len), err);
	else if (is_glob(sys) || is_glob(name))
		err = add_globbed(c, e, sys, name, &systems);
	else
		err = explain_missing(c, sys, name, &systems);
	tracefs_names_free(&systems);
	return err;
}
