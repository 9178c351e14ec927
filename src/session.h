/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session: an opened recording with its side-band applied, ready for any number of passes over its samples.
 *
 * The first pass hops over all record headers, decodes everything that is not a sample, applies it to state in clock
 * order and cuts the data into blocks of whole records. From then on all state is read-only and samples can be taken in
 * any order.
 */
#ifndef SESSION_H
#define SESSION_H

#include "agg/profile.h"
#include "attrib/deferred.h"
#include "io/source.h"
#include "state/procs.h"

struct session_opts {
	struct symbol_opts symbols;
	u32 workers;	   /* 0: as many as CPUs; an open session says how many */
	bool every_thread; /* procs is asked about threads that no sample is from as well */
	/* Told now and then, never on two threads at once, how much of the recording a pass has done; NULL: nobody is told. */
	void (*progress)(void *ctx, const char *what, u64 done, u64 total);
	void *progress_ctx;
	const bool *stop; /* set from a signal handler: passes end early with ERR_INTERRUPTED; may be NULL */
};

struct block {
	u64 offset, end; /* in source.data */
};

struct session {
	struct session_opts opts;
	const struct notify *notify;
	struct source *src;
	struct strtab strings;
	struct dsos *dsos;
	struct procs *procs;
	struct frames *frames;
	struct tally tally; /* what the first pass counted: lost, throttled, ... */
	VEC(struct block) blocks;
	u64 nr_samples; /* sample records in the data, decodable or not */
	struct deferred_chains deferred;
	bool clock_is_time; /* else the file offset */
};

int session_open(struct session **out, const char *path, const struct session_opts *opts, const struct notify *notify);
void session_close(struct session *s);
/* Processes and their maps are not needed once every sample has its frames; procs is NULL from then on. */
void session_forget_processes(struct session *s);

/* Tells whoever asked for progress. */
void session_progress(const struct session *s, const char *what, u64 done, u64 total);

/* A record that is no sample, with its trailer; 0 or a negative enum err, which is not noted. */
int session_decode(const struct session *s, const struct source_record *at, struct record *out);

/* The event of a sample record; NULL when its id is unknown or its samples cannot be decoded. */
const struct event *session_sample_event(const struct session *s, const struct source_record *at);

/* Times of the first and the last sample: from the header, else by looking at all of them. */
void session_times(const struct session *s, u64 *first, u64 *last);

/* The sample records in time order (file order where times are equal or absent), for views that print them one by one.
 */
struct sample_ref {
	u64 time;
	u64 offset; /* of the record in source.data */
};
int session_sort_samples(struct session *s, struct sample_ref **out, u64 *n); /* caller frees */

#endif
