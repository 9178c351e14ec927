/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Script: each sample as a line of text (with its call chain below it), byte for byte as `perf script` writes it, or as
 * one JSON object.
 *
 * What all threads share is struct script, read-only once script_init has returned. Each thread formats with a
 * script_worker of its own, which holds the caches that make it fast: nearly all that stands in a chain line is a
 * function of (address space, address), so the rendered line is kept under that key (view/script_place.h).
 *
 * Text from the recording (comms, symbols, paths) goes out with control bytes as '?'; perf lets them through.
 */
#ifndef VIEW_SCRIPT_H
#define VIEW_SCRIPT_H

#include "agg/collector.h"
#include "attrib/deferred.h"
#include "attrib/group_read.h"
#include "base/bytes.h"
#include "base/map.h"
#include "codec/evlist.h"
#include "codec/features.h"
#include "state/procs.h"
#include "view/script_fields.h"

struct script_opts {
	struct script_fields fields;
	bool hide_chains;
	u32 max_stack;
	bool nanosecs, reltime, deltatime;
	bool inlines;
	bool full_paths; /* of source files */
	bool kernel_path;
	bool json;
	bool show_rounds, show_tasks, show_mmaps, show_switches, show_namespaces, show_lost, show_bpf, show_cgroups,
		show_text_pokes;
	struct sample_filter samples;
	struct name_list dsos, symbols; /* of the place of the sample itself; none: all */
	struct name_list stops;		/* symbols at which a shown chain ends */
};

struct script {
	struct script_opts opts; /* with fields settled */
	struct procs *procs;
	struct dsos *dsos;
	const struct strtab *strings;
	const struct evlist *events;
	const struct features *features;
	const struct deferred_chains *deferred; /* user parts of call chains, or NULL */
	const char *file;			/* for messages */
	const struct notify *notify;
	const u8 *data;
	u64 size;
	u64 data_offset; /* of data[0] in the file */
	bool swap;

	/* Made by script_init. */
	bool chains;	   /* call chains are shown */
	u32 name_width;	   /* of the widest event name */
	bool has_reads;	   /* some event samples counter values: script_reads_split is needed */
	bool in_order;	   /* lines depend on lines before them: one worker, all records in order */
	bool file_is_32;   /* reserved widths of registers are those of a 32-bit machine */
	struct map listed; /* hash of a path -> the first build id of the header that may be its */
};

/* The caller has filled all above "Made by". ERR_USAGE, noted, when the options do not fit the recording. */
int script_init(struct script *s);
void script_free(struct script *s); /* what script_init made; it need not have succeeded */

/*
 * A sample that reads its group (attrib/group_read.h) is shown as one sample per member. Records have to pass through here
 * in order. The parts of a record are appended to out, closed by one with event ID_NONE.
 */
struct script_parts {
	VEC(struct member_sample) v;
};
void script_reads_split(struct group_read *r, const struct script *s, u64 offset, struct script_parts *out);

struct script_worker;
struct script_worker *script_worker_new(const struct script *s);
void script_worker_free(struct script_worker *w);

/*
 * Appends what the record at offset in data has to show: nothing when the filters leave it out. clock orders it among
 * side-band (state/procs.h). parts: what script_reads_split made of this record, or NULL. Returns how many parts were
 * used, the closing one included.
 */
u32 script_record(struct script_worker *w, u64 clock, u64 offset, const struct member_sample *parts, struct bytes *out);

/* How many samples could not be shown: undecodable, or of an event that is not in the header. */
u64 script_worker_skipped(const struct script_worker *w);

/* Is a side-band record of this type shown at all? */
bool script_shows(const struct script_opts *o, u32 record_type);

#endif
