/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flow: watches records on their way from the rings to the file, while the data are in the cache, so that no second
 * pass is needed at the end of a recording. It counts samples and losses, and notes the span of time, the pages of
 * code with samples, and the mapped files.
 */
#ifndef RECORD_FLOW_H
#define RECORD_FLOW_H

#include <sys/uio.h>

#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "codec/evlist.h"
#include "windows/tap.h"

#define FLOW_PAGE_SHIFT 12
#define FLOW_RECENT 1024
#define FLOW_MOST_OPEN 128u
#define FLOW_ROOT_UNKNOWN UINT32_MAX /* it was not looked up yet, or the process had ended */

struct flow_map { /* one executable mapping */
	u64 start, end;
	u32 file; /* in flow.files */
	u32 pid;
	u32 root; /* which root directory the process has (rootdir_of), 0: ours; or FLOW_ROOT_UNKNOWN */
};

struct flow_file {
	bool wanted;	/* its build id is needed: samples fell into it, or all build ids are wanted */
	bool elsewhere; /* a process with another root directory than ours maps it, too */
	u32 pid;	/* a process whose mapping was hit: one in our root directory, if there was one */
	u32 root;	/* of that process, as in flow_map */
};

struct flow_build_id {
	u8 size, id[20]; /* size 0: the file has none */
	int fd;		 /* with want_open: of a file below another root directory; else -1 */
	bool hit;	 /* such a file: samples fell into it, or all build ids are wanted */
};

struct flow {
	const struct flow_tap *tap; /* or NULL */
	const struct evlist *events;
	u32 aside;	 /* the event whose samples are none (codec/activity.h), or ID_NONE */
	bool one_layout; /* all events have the fields that are used here at the same places */
	bool own_pids;	 /* process ids are not the system's: it cannot be found out whether a process has ended */
	bool no_files;	 /* files are not needed */
	bool want_open;	 /* files below other root directories stay open, FLOW_MOST_OPEN of them: first those that are
			    hit */
	u64 samples, lost, throttled;
	u64 aux_truncated, aux_collisions; /* AUX records that say so */
	VEC(u64) aux_ends;		   /* up to where the records of each place tell of its AUX area */
	struct map aux_places;		   /* CPU or thread -> aux_ends */
	u64 first_time, last_time;	   /* of samples */
	bool want_hits;
	struct map hits; /* pages (address >> FLOW_PAGE_SHIFT) of sampled code */
	u64 recent[FLOW_RECENT];
	struct strtab files;
	VEC(struct flow_file) of_file; /* by id in files */
	VEC(struct flow_map) maps;     /* of files for which it is not known yet whether they are wanted */
	size_t asked;	  /* the number of maps whose root was looked up: if it is unknown, it stays unknown */
	size_t settle_at; /* number of maps and pages above which files are settled */
	VEC(struct flow_build_id) build_ids; /* that came with the mappings, or were read while these were there */
	struct map id_of;		     /* file << 32 | root directory -> build_ids */
	u32 open, open_hit;		     /* files that stay open, and those of them that were hit */
	u32 next_closed;		     /* of build_ids, which the next one that makes room is looked for from */
	struct map pids;		     /* processes that were seen */
	struct bytes joined;		     /* a record that wrapped around the ring's end */
};

void flow_init(struct flow *f, const struct evlist *events, bool want_hits);
/* Takes whole records. */
void flow_look(struct flow *f, const struct iovec *part, int nr);
/*
 * Call it between two passes over the rings, when these have room again. It looks up information that is available
 * only while a process exists, for a limited number of processes. When much has accumulated, it finds out which files
 * were hit, and forgets the hits and the mappings of processes that have ended. This limits the memory of recordings
 * that last for days.
 */
void flow_settle(struct flow *f);
/* Up to where AUX records have told of the area of a ring; 0: none has. cpu: -1 if the ring is that of a thread. */
u64 flow_aux_end(const struct flow *f, s32 cpu, s32 tid);
/* Forgets counts and hits, for the next file of --switch-output. */
void flow_restart(struct flow *f);
void flow_free(struct flow *f);

/* Was a page of [start, end) hit, in any process? Pages of other processes at the same address count, too, because one
 * build id too many does no harm. */
bool flow_hit(const struct flow *f, u64 start, u64 end);
/*
 * Calls fn once for each mapped file (with want_hits: for each file that was hit), with one process that maps it.
 * Without `known`, the file is the one with this path in our root directory, as far as can be told; a file in another
 * root directory whose build id was not found is left out.
 */
void flow_files(struct flow *f, void (*fn)(void *ctx, const char *file, u32 pid, const struct flow_build_id *known),
		void *ctx);

#endif
