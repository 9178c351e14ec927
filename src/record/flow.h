/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flow: what went past on its way from the rings to the file. Counted while the data is warm in the cache, so that the
 * end of a recording needs no second pass: how many samples, what was lost, the span of time, which pages of code were
 * hit, and which files were mapped where.
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
#define FLOW_ROOT_UNKNOWN UINT32_MAX /* it was not asked for yet, or the process had ended */

struct flow_map { /* one executable mapping */
	u64 start, end;
	u32 file; /* in flow.files */
	u32 pid;
	u32 root; /* which root directory the process has (rootdir_of), 0: ours; or FLOW_ROOT_UNKNOWN */
};

struct flow_file {
	bool wanted;	/* its build id is: it was hit, or all are wanted */
	bool elsewhere; /* a process with another root directory than ours maps it, too */
	u32 pid;	/* the process whose mapping was hit: in our root directory, if one there was */
	u32 root;	/* of that process, as in flow_map */
};

struct flow_build_id {
	u8 size, id[20]; /* size 0: the file has none */
};

struct flow {
	const struct flow_tap *tap; /* or NULL */
	const struct evlist *events;
	bool one_layout; /* all events place their fields alike, as far as is looked at here */
	bool own_pids;	 /* process ids are not the system's: nobody can be asked whether one has ended */
	bool no_files;	 /* nobody asks for files */
	u64 samples, lost, throttled;
	u64 first_time, last_time; /* of samples */
	bool want_hits;
	struct map hits; /* pages (address >> FLOW_PAGE_SHIFT) of sampled code */
	u64 recent[FLOW_RECENT];
	struct strtab files;
	VEC(struct flow_file) of_file;	     /* by id in files */
	VEC(struct flow_map) maps;	     /* of files of which it is not certain yet which one is wanted */
	size_t asked;			     /* so many of them were: what is unknown stays so */
	size_t settle_at;		     /* maps and pages that are too many */
	VEC(struct flow_build_id) build_ids; /* that came with the mappings, or were read while these were there */
	struct map id_of;		     /* file << 32 | root directory -> build_ids */
	struct map pids;		     /* processes that were seen */
	struct bytes joined;		     /* a record that wrapped around the ring's end */
};

void flow_init(struct flow *f, const struct evlist *events, bool want_hits);
/* Looks at whole records. */
void flow_look(struct flow *f, const struct iovec *part, int nr);
/*
 * Between two passes over the rings, when these have room again: asks for what can be found only while processes live,
 * of a bounded number of them. When much has come together, finds out which files were hit and forgets hits, and the
 * mappings of processes that have ended. Keeps memory bounded in recordings that last for days.
 */
void flow_settle(struct flow *f);
/* Forgets counts and hits, for the next file of --switch-output. */
void flow_restart(struct flow *f);
void flow_free(struct flow *f);

/* Was a page of [start, end) hit, in whatever process? Pages of other processes at the same address count too: a build
 * id too many does no harm. */
bool flow_hit(const struct flow *f, u64 start, u64 end);
/*
 * For each file that was mapped (want_hits: that was hit), once, with one process that maps it. Without `known`, the
 * file is the one that has that path in our root directory, as far as can be told; a file below another one, of which
 * no build id was found, is left out.
 */
void flow_files(struct flow *f, void (*fn)(void *ctx, const char *file, u32 pid, const struct flow_build_id *known),
		void *ctx);

#endif
