/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the event grammar, shared by the files in this folder. No other code includes this.
 *
 * spec.c goes through lists and groups and cuts the text into single events. kinds.c decides what kind an event is and
 * builds the simple kinds; pmu.c, trace.c, pfm.c and sim.c build theirs. terms.c reads the terms between slashes,
 * schedule.c those terms that depend on each other, and mods.c the modifiers after the colon. error.c says what is
 * wrong.
 */
#ifndef EVENTS_PARSE_H
#define EVENTS_PARSE_H

#include "base/mistake.h"
#include "events/names.h"
#include "events/spec.h"
#include "sys/sysfs_pmu.h"
#include "sys/tracefs.h"

/* A piece of the -e text. p points into the text, so that errors can show the place. */
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
	bool simulated;	 /* the events are those of the virtual PMU: this machine's PMUs are not used */
	bool fanned_out; /* an event of the current group became one event per PMU */
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
	u32 name_len; /* length of the part of `all` that names the event; 0: all of it */
	bool per_pmu; /* a generic name that became one event per core PMU */
	struct event_terms terms;
	span mods; /* "u"; empty when none. Filled by event_kinds for heads without slash */
};

/* The PMUs of the machine, loaded once. */
struct sysfs_pmus *event_pmus(struct event_ctx *c);

/* span helpers */
bool span_is(span s, const char *word);
bool span_is_nocase(span s, const char *word);
bool span_number(span s, u64 *out); /* reads all of s: decimal, or hexadecimal with 0x */
static inline span span_of(const char *p, const char *end)
{
	return (span){ p, (u32)(end - p) };
}

/* A new spec with perf's defaults, appended to out. Valid until the next one. */
struct event_spec *event_add(struct event_ctx *c);

/* event_error.c */
/* Notes `fmt...`, the text with carets under `at`, and the similar names (may be NULL) or the hint. Returns err. */
int event_fail(struct event_ctx *c, int err, span at, const struct near *near, const char *hint, const char *fmt, ...)
	PRINTF_LIKE(6, 7);

/* names.c: the generic names */
const struct event_name *event_name_find(span s);
/* "L1-dcache-load-misses" to a PERF_TYPE_HW_CACHE config. 0, ERR_NOTFOUND (not a cache name), ERR_USAGE (a cache that
 * has no such operation). */
int event_cache_find(span s, u64 *config);
void event_names_near(struct near *n);

/* mods.c: applies modifiers to specs first..last; group: in addition to the members' own modifiers. */
int event_mods_apply(struct event_ctx *c, u32 first, span mods, bool group);
bool event_mods_valid(span mods);

/* event_terms.c */
int event_terms_split(struct event_ctx *c, span text, struct event_terms *out);
/* Applies t if it is one of the general terms, which any event takes. Returns 1 if it was applied, 0 if it is not such
 * a term, or an error. */
int event_term_apply(struct event_ctx *c, struct event_spec *s, const struct event_term *t);
/* All terms must be general ones; `allow_config` is off for tracepoints. */
int event_terms_apply(struct event_ctx *c, struct event_spec *s, const struct event_terms *terms, bool allow_config);
bool event_term_is_general(span name);
void event_terms_near(struct near *n);
void event_terms_list(struct bytes *out); /* their names with commas */

/* schedule.c: checks that the terms for alternating periods fit together, and fills in what they leave open. */
int event_schedule_check(struct event_ctx *c, struct event_spec *s, const struct event_terms *terms);
/* The value of the last term of that name, or the whole term when it has none; empty: there is no such term. */
span event_terms_value(const struct event_terms *terms, const char *name);

/* kinds.c: builds the specs of one event; names them and applies its modifiers. */
int event_parse_one(struct event_ctx *c, span text);
bool event_raw_code(span s, u64 *out); /* "r1a8" */

/* event_pmu.c */
int event_add_pmu(struct event_ctx *c, struct event_text *e);
/* A name without a PMU, which PMUs have under events/. ERR_NOTFOUND without a note if none has it. */
int event_add_pmu_alias(struct event_ctx *c, struct event_text *e);
/* One of the core PMUs of a machine that has several kinds of cores: generic events are opened for each. */
bool event_pmu_is_hybrid(struct event_ctx *c, const struct sysfs_pmu *pmu);
void event_pmu_near(struct event_ctx *c, struct near *n);
#define EVENT_PMU_TYPE_SHIFT 32 /* shift of the PMU's number in the config of such an event */

/* trace.c: head is "subsys:event", possibly with globs. */
int event_add_tracepoint(struct event_ctx *c, struct event_text *e, span sys, span name);
bool event_trace_has_subsystem(struct event_ctx *c, span sys);

/* sim.c: an event of the virtual PMU, for a context that is simulated */
int event_add_sim(struct event_ctx *c, struct event_text *e);
int event_sim_unknown(struct event_ctx *c, span name);
/* An event that only the virtual PMU has, by its name alone: mem-loads. */
int event_add_sim_name(struct event_ctx *c, span name);

/* pfm.c: ERR_NOTFOUND without a note if libpfm4 does not know the name (or is not installed). */
int event_add_pfm(struct event_ctx *c, span name);
void event_pfm_near(struct near *n);

#endif
