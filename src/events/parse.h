/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the event grammar: what the event_*.c files share. Nobody else includes this.
 *
 * event_spec.c walks lists and groups and cuts the text into single events; event_kinds.c decides what kind an event
 * is and builds the simple ones; event_pmu.c, event_trace.c, event_pfm.c and event_sim.c build theirs; event_terms.c
 * reads what stands between slashes, event_schedule.c those terms that belong together; event_mods.c what stands
 * behind the colon; event_error.c says what was wrong.
 */
#ifndef EVENTS_PARSE_H
#define EVENTS_PARSE_H

#include "base/mistake.h"
#include "events/names.h"
#include "events/spec.h"
#include "sys/sysfs_pmu.h"
#include "sys/tracefs.h"

/* A piece of the -e text. p points into it, so that errors know where it stands. */
typedef struct str span;

struct event_ctx {
	const char *text; /* all of it */
	const struct notify *to;
	struct event_specs *out;
	const char *sysfs;
	const char *tracefs;
	struct sysfs_pmus pmus; /* loaded at first use */
	bool pmus_loaded;
	u32 option;
	bool pfm_only;	 /* --pfm-events */
	bool simulated;	 /* the virtual PMU's events: nothing of this machine is asked */
	bool fanned_out; /* an event of the current group became one per PMU */
};

/* One `name`, `name=value` or `@flag` between the slashes. */
struct event_term {
	span all, name, value;
	bool has_value;
	bool is_num;
	u64 num; /* 1 when there is no value */
};

#define EVENT_TERMS_MAX 64
struct event_terms {
	struct event_term v[EVENT_TERMS_MAX];
	u32 n;
};

/* One event of the text, taken apart. */
struct event_text {
	span all;     /* "cpu/event=1/u", trimmed */
	span head;    /* "cpu" */
	u32 name_len; /* of all, what names the event; 0: all of it */
	bool per_pmu; /* a generic name that became one event per core PMU */
	struct event_terms terms;
	span mods; /* "u"; empty when none. Filled by event_kinds for heads without slash */
};

/* The PMUs of the machine, loaded once. */
struct sysfs_pmus *event_pmus(struct event_ctx *c);

/* span helpers */
bool span_is(span s, const char *word);
bool span_is_nocase(span s, const char *word);
bool span_number(span s, u64 *out); /* all of it: decimal or 0x hex */
static inline span span_of(const char *p, const char *end)
{
	return (span){ p, (u32)(end - p) };
}

/* A new spec with perf's defaults, appended to out. Valid until the next one. */
struct event_spec *event_add(struct event_ctx *c);

/* event_error.c */
/* Notes `fmt...`, the text with carets under `at`, and the near names (may be NULL) or the hint. Returns err. */
int event_fail(struct event_ctx *c, int err, span at, const struct near *near, const char *hint, const char *fmt, ...)
	PRINTF_LIKE(6, 7);

/* event_names.c: the generic names */
const struct event_name *event_name_find(span s);
/* "L1-dcache-load-misses" to a PERF_TYPE_HW_CACHE config. 0, ERR_NOTFOUND (not a cache name), ERR_USAGE (a cache that
 * has no such operation). */
int event_cache_find(span s, u64 *config);
void event_names_near(struct near *n);

/* event_mods.c: applies modifiers to specs first..last; group: on top of what the members said. */
int event_mods_apply(struct event_ctx *c, u32 first, span mods, bool group);
bool event_mods_valid(span mods);

/* event_terms.c */
int event_terms_split(struct event_ctx *c, span text, struct event_terms *out);
/* Applies t if it is one of the terms that any event takes: 1 applied, 0 not such a term, or an error. */
int event_term_apply(struct event_ctx *c, struct event_spec *s, const struct event_term *t);
/* All terms must be general ones; `allow_config` is off for tracepoints. */
int event_terms_apply(struct event_ctx *c, struct event_spec *s, const struct event_terms *terms, bool allow_config);
bool event_term_is_general(span name);
void event_terms_near(struct near *n);
void event_terms_list(struct bytes *out); /* their names with commas */

/* event_schedule.c: do the terms that shape the sampling go together? Fills in what they leave open. */
int event_schedule_check(struct event_ctx *c, struct event_spec *s, const struct event_terms *terms);
/* The value of the last term of that name, or the whole term when it has none; empty: there is no such term. */
span event_terms_value(const struct event_terms *terms, const char *name);

/* event_kinds.c: builds the specs of one event; names them and applies its modifiers. */
int event_parse_one(struct event_ctx *c, span text);
bool event_raw_code(span s, u64 *out); /* "r1a8" */

/* event_pmu.c */
int event_add_pmu(struct event_ctx *c, struct event_text *e);
/* A bare name that PMUs offer under events/. ERR_NOTFOUND without a note when none does. */
int event_add_pmu_alias(struct event_ctx *c, struct event_text *e);
/* One of the core PMUs of a machine that has several kinds of cores: generic events are opened for each. */
bool event_pmu_is_hybrid(struct event_ctx *c, const struct sysfs_pmu *pmu);
void event_pmu_near(struct event_ctx *c, struct near *n);
#define EVENT_PMU_TYPE_SHIFT 32 /* of the PMU's number in such an event's config */

/* event_trace.c: head is "subsys:event", with globs. */
int event_add_tracepoint(struct event_ctx *c, struct event_text *e, span sys, span name);
bool event_trace_has_subsystem(struct event_ctx *c, span sys);

/* event_sim.c: the virtual PMU's, of a context that is simulated */
int event_add_sim(struct event_ctx *c, struct event_text *e);
int event_sim_unknown(struct event_ctx *c, span name);

/* event_pfm.c: ERR_NOTFOUND without a note when libpfm4 does not know it (or is not there). */
int event_add_pfm(struct event_ctx *c, span name);
void event_pfm_near(struct near *n);

#endif
