/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Script: each sample as a line of text (with its call chain below it), byte for byte as `perf script` writes it, or
 * as one JSON object.
 *
 * What all threads share is struct script, read-only once script_init has returned. Each thread formats with a
 * script_worker of its own, which holds the caches that make it fast: nearly all that stands in a chain line is a
 * function of (address space, address), so the rendered line is kept under that key (view/script/place.h).
 *
 * Text from the recording (comms, symbols, paths) goes out with control bytes as '?'; perf lets them through.
 */
#ifndef VIEW_SCRIPT_SCRIPT_H
#define VIEW_SCRIPT_SCRIPT_H

#include "attrib/callers.h"
#include "attrib/deferred.h"
#include "attrib/filter.h"
#include "attrib/hit.h"
#include "attrib/spe.h"
#include "base/bytes.h"
#include "base/map.h"
#include "codec/branch_counters.h"
#include "codec/evlist.h"
#include "codec/features.h"
#include "codec/record.h"
#include "state/procs.h"
#include "state/timelines.h"
#include "view/script/fields.h"

struct script_opts {
	struct script_fields fields;
	bool hide_chains;
	bool stitch; /* call stacks of branch records, from one sample to the next */
	u32 max_stack;
	bool nanosecs, reltime, deltatime;
	bool inlines;
	bool full_paths; /* of source files */
	bool kernel_path;
	bool json;
	bool show_rounds, show_tasks, show_mmaps, show_switches, show_namespaces, show_lost, show_bpf, show_cgroups,
		show_text_pokes;
	struct sample_filter samples;
	struct place_filter places;
	struct name_list stops; /* symbols at which a shown chain ends */
};

struct script {
	struct script_opts opts; /* with fields settled */
	struct procs *procs;
	struct dsos *dsos;
	const struct strtab *strings;
	const struct evlist *events;
	const struct features *features;
	const struct deferred_chains *deferred;	 /* user parts of call chains, or NULL */
	const struct deferred_tls *deferred_tls; /* bytes of threads' memory that came later, or NULL */
	const struct timelines *timelines;	 /* activities, or NULL */
	const struct spe *spe;			 /* makes hits of AUX data; NULL: nothing does */
	const struct callers *callers;		 /* of call stacks of branch records; NULL: there are none */
	const char *file;			 /* for messages */
	const struct notify *notify;

	/* Made by script_init. */
	bool chains;	 /* call chains are shown */
	u32 name_width;	 /* of the widest event name */
	bool in_order;	 /* lines depend on lines before them: one worker, all records in order */
	bool file_is_32; /* reserved widths of registers are those of a 32-bit machine */
	struct branch_counters counters;
	struct map listed; /* hash of a path -> the first build id of the header that may be its */
};

/* The caller has filled all above "Made by". ERR_USAGE, noted, when the options do not fit the recording. */
int script_init(struct script *s);
void script_free(struct script *s); /* what script_init made; it need not have succeeded */

struct script_worker;
struct script_worker *script_worker_new(const struct script *s);
void script_worker_free(struct script_worker *w);

/* Appends what a hit, with its full sample, has to show: nothing when the filters leave it out. */
void script_hit(struct script_worker *w, const struct hit *h, struct bytes *out);
/* The same of a side-band record that script_shows; clock orders it (state/procs.h). event: whose trailer it has. */
void script_put_event(struct script_worker *w, const struct record *r, const struct event *event, u64 clock,
		      struct bytes *out);

/* Finds the symbols of what script_hit will show, and shows nothing: names are asked for together then. */
void script_ahead(struct script_worker *w, const struct hit *h);

/* What stands before all lines: what short names in them mean. Mostly nothing. */
void script_put_legend(const struct script *s, struct bytes *out);

/* Is a side-band record of this type shown at all? */
bool script_shows(const struct script_opts *o, u32 record_type);

#endif
