/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session: an opened recording with its side-band applied, ready for any number of passes over its samples.
 *
 * The first pass goes through all record headers, decodes everything that is not a sample, applies it to the state in
 * clock order and cuts the data into blocks of whole records. From then on all state is read-only, and samples can be
 * read in any order.
 */
#ifndef PASS_SESSION_H
#define PASS_SESSION_H

#include "attrib/deferred.h"
#include "attrib/resolver.h"
#include "attrib/spe.h"
#include "attrib/tally.h"
#include "base/map.h"
#include "base/strtab.h"
#include "pass/hop.h"
#include "read/source.h"
#include "state/frames.h"
#include "state/procs.h"
#include "state/timelines.h"

/* Data that several sessions about the same machine can share, one after the other: names, DSOs with their symbols,
 * frames. A zeroed struct is empty; free it with session_kept_free when no session uses it. */
struct session_kept {
	struct strtab strings;
	struct dsos *dsos;
	struct frames *frames;
	struct code_cache *code; /* frames of code, found again without a look-up */
};
void session_kept_free(struct session_kept *k);
/* Strings and frames begin from nothing; DSOs keep their symbols. */
void session_kept_renew(struct session_kept *k);

struct session_opts {
	struct symbol_opts symbols;
	u32 workers;		   /* 0: as many as CPUs; an open session says how many */
	struct session_kept *kept; /* taken by session_open and given back by session_close; NULL: nothing is shared */
	bool aux_events_given;	   /* else the usual ones: */
	u32 aux_events;		   /* the events that are made from AUX data: 1 << enum spe_event */
	bool aux_counted;	   /* and those of what groups count (attrib/spe_counted.h) */
	bool lanes;		   /* for lanes_run: the first pass notes the runs of records of one lane */
	bool every_thread;	   /* procs is also asked about threads without samples */
	/* Called now and then, never on two threads at once, with the progress of a pass; may be NULL. */
	void (*progress)(void *ctx, const char *what, u64 done, u64 total);
	void *progress_ctx;
	const bool *stop; /* set from a signal handler: passes end early with ERR_INTERRUPTED; may be NULL */
};

struct session {
	struct session_opts opts;
	const struct notify *notify;
	struct source *src;
	bool src_is_theirs;
	struct strtab strings;
	struct dsos *dsos;
	struct procs *procs;
	struct frames *frames;
	struct code_cache *code; /* of who collects first; NULL: it has its own */
	struct tally tally;	 /* what the first pass counted: lost, throttled, ... */
	struct hop_result data;	 /* nr_samples: decodable or not */
	struct deferred_chains deferred;
	struct deferred_tls deferred_tls;
	struct aux aux;		    /* the AUX data */
	struct spe spe;		    /* its events, at the end of src->events; without Arm SPE: all zero */
	u8 *chosen;		    /* activities that a filter keeps (sample_filter.activities), or NULL */
	struct timelines timelines; /* which activity each thread worked for; all.n 0: no record says */
	struct map cgroups;	    /* id -> string id of the path in the newest record */
	u32 activity_event;	    /* in src->events, or ID_NONE */
	bool clock_is_time;	    /* else the file offset */
};

int session_open(struct session **out, const char *path, const struct session_opts *opts, const struct notify *notify);
/* The same for records that are already there. src belongs to the caller, who closes it after the session. */
int session_over(struct session **out, struct source *src, const struct session_opts *opts,
		 const struct notify *notify);
void session_close(struct session *s);
/* Writes to the cache what session_close would write, and frees nothing: for a process that ends now. */
void session_keep(struct session *s);

/* The maker of hits from AUX data (feed.spe); NULL: there is none. */
static inline const struct spe *session_spe(const struct session *s)
{
	return s->spe.aux ? &s->spe : NULL;
}

/* The same of activities (feed.timelines). */
static inline const struct timelines *session_timelines(const struct session *s)
{
	return s->timelines.all.n ? &s->timelines : NULL;
}

/* Processes and their maps are not needed once every sample has its frames; procs is NULL from then on. */
void session_forget_processes(struct session *s);

/* Calls the progress function, if there is one. */
void session_progress(const struct session *s, const char *what, u64 done, u64 total);

/* Decodes a record that is not a sample, with its trailer; 0 or a negative enum err, which is not noted. */
int session_decode(const struct session *s, const struct source_record *at, struct record *out);

#endif
