/* SPDX-License-Identifier: Apache-2.0 */
/* Filters: decide which samples are kept, by properties of the sample, of its thread, and of the code that it lies in.
 */
#ifndef ATTRIB_FILTER_H
#define ATTRIB_FILTER_H

#include "attrib/hit.h"
#include "base/lists.h"
#include "base/timerange.h"
#include "state/procs.h"

/* Empty lists keep all. */
struct sample_filter {
	struct name_list comms;
	struct u32_list pids, tids, cpus;
	const struct timeranges *times; /* or NULL */
	const char *activity;		/* KEY=VALUE, or NULL: only threads that worked for such an activity */
	const u8 *activities;		/* the same, settled: of each number (state/timelines.h) whether it is one */
};

static inline bool sample_filter_used(const struct sample_filter *f)
{
	return f->comms.n || f->pids.n || f->tids.n || f->cpus.n || f->times || f->activity || f->activities;
}

/* By code. Of samples it asks for the place of the sample itself, not for its callers; of rows, for the row's
 * function. Empty lists keep all. */
struct place_filter {
	struct name_list dsos;	  /* short names or paths */
	struct name_list symbols; /* whole names */
	const char *symbol_part;  /* a part of the symbol's name, or NULL */
	bool hide_unresolved;
};

static inline bool place_filter_names(const struct place_filter *f)
{
	return f->symbols.n || f->symbol_part;
}

static inline bool place_filter_used(const struct place_filter *f)
{
	return f->dsos.n || place_filter_names(f) || f->hide_unresolved;
}

/* resolved: there is a symbol. name: what is shown for it, be it made up; NULL: nothing is, or the filter does not ask
 * (place_filter_names). */
bool place_filter_keeps(const struct place_filter *f, const struct dso *dso, bool resolved, const char *name);

/* The same of code by its DSO and symbol (ID_NONE: none), and its address there, which names it if it has no symbol.
 */
bool place_filter_keeps_code(const struct place_filter *f, struct dsos *dsos, u32 dso, u32 sym, u64 addr);

/* ERR_USAGE, noted, if samples of some event do not have the field that the filter needs. */
int sample_filter_check(const struct sample_filter *f, const struct evlist *l, const struct notify *notify);

/* Samples of other CPUs and times are treated as if they had not been recorded. */
static inline bool sample_filter_inside(const struct sample_filter *f, const struct sample_core *s)
{
	return (!f->cpus.n || u32_list_holds(&f->cpus, s->cpu)) && (!f->times || timeranges_hold(f->times, s->time));
}

/* Samples of other activities are hidden, as those of other threads are; activity: as in struct hit. */
static inline bool sample_filter_activity(const struct sample_filter *f, u32 activity)
{
	return !f->activities || f->activities[activity];
}

/* Samples of other threads are hidden: their weight still belongs to the whole. strings: those of t->comm. */
bool sample_filter_thread(const struct sample_filter *f, u32 pid, u32 tid, const struct thread_view *t,
			  const struct strtab *strings);

/* The name of a thread for which no record has a name: ":TID". */
#define THREAD_NAME_SIZE 16
const char *thread_made_up_name(u32 tid, char buf[THREAD_NAME_SIZE]);

#endif
