/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `reticle record`: cmd/record_options.c parses them into this. */
#ifndef CMD_RECORD_OPTIONS_H
#define CMD_RECORD_OPTIONS_H

#include "cmd/opt.h"
#include "cmd/record_push.h"
#include "events/spec.h"
#include "record/opts.h"

/* -e, --filter and --exclude-perf in the order they were given: a filter belongs to the events before it. */
struct event_words {
	struct event_word {
		const char *text; /* of a filter, NULL: it leaves out the recorder */
		bool is_filter;
	} * v;
	u32 n;
};

struct record_config {
	struct record_opts o;
	struct event_words events;
	/* Taken from perf's command lines, and not needed here. */
	const char *proc_map_timeout, *writing;
	bool boundary;
	bool no_build_ids, all_build_ids, no_cache;
	const char *truth; /* where exact counts go, or NULL */
	struct record_push_opts push;
	bool dry_run;
};

/* What options do that several commands have (struct opt's set); the field is the one of that name in record_opts. */
int record_set_event(void *field, const char *text, const struct notify *to);
int record_set_filter(void *field, const char *text, const struct notify *to);
int record_set_freq(void *field, const char *text, const struct notify *to);
int record_set_period(void *field, const char *text, const struct notify *to);
int record_set_callgraph(void *field, const char *text, const struct notify *to);
int record_set_branch_any(void *field, const char *text, const struct notify *to);
int record_set_branches(void *field, const char *text, const struct notify *to);
int record_set_activity(void *field, const char *text, const struct notify *to);
int record_set_rings(void *field, const char *text, const struct notify *to);
int record_set_window(void *field, const char *text, const struct notify *to);
int record_set_pmu(void *field, const char *text, const struct notify *to);

/* The i-th clock that -k knows; NULL past the last one. */
const char *record_clock(u32 i);

/* Settles what single options cannot, and parses the events. ERR_USAGE, noted. */
int record_prepare(struct record_config *c, struct event_specs *specs, const struct notify *to);

/* The command's run; cmd/record.c. */
int record_run(const struct command_ctx *ctx, const void *config, int argc, char **argv);

#endif
