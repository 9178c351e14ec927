/* SPDX-License-Identifier: Apache-2.0 */
/* Recorder: from options to a finished recording. This is the work of `reticle record`, without its messages. */
#ifndef RECORD_RECORDER_H
#define RECORD_RECORDER_H

#include "events/spec.h"
#include "record/met.h"
#include "record/opts.h"
#include "record/sink.h"
#include "record/unwind.h"
#include "windows/run.h"

struct record_result {
	u64 woken; /* number of wake-ups by the rings */
	u64 samples, lost, throttled;
	u64 lost_in_looking;  /* of lost: records that came while overwritten rings were being read */
	u64 bytes;	      /* of the last file */
	u64 packed, unpacked; /* with compression: bytes after and before it */
	u64 events_bytes;     /* of that, all files together */
	u32 files;	      /* finished, by --switch-output */
	bool size_reached;    /* --max-size ended it */
	bool interrupted;     /* a signal ended it */
	int signal;	      /* which, or 0 */
	bool has_status;      /* a command ran, and ended: */
	int status;	      /* its exit status, or 128 + its signal */
	struct window_summary windows;
	char *path;    /* the file; NULL for a pipe. Caller frees */
	u64 aux_bytes; /* of packets that say what sampled operations met */
	u32 snapshots; /* of them, with --snapshot */
	/* How often the kernel says that the AUX area was full, or that an operation was to be sampled before the last
	 * one was done with. */
	u64 aux_truncated, aux_collisions;
	/* Of the virtual PMU: */
	u32 escaped;	      /* programs that could not be followed, and ran without it */
	bool never_simulated; /* QEMU ended before the program began */
};

/* Called while it runs. Members may be NULL. */
struct recorder_events {
	/* --switch-output has finished a file. 0; or the recording is to end: ERR_*, noted. */
	int (*switched)(void *ctx, const char *path, u64 bytes);
	/* SIGHUP has come, and the next file is begun at once. NULL: SIGHUP ends the recording. */
	void (*reload)(void *ctx);
	/* A VPMU_RECORD_TRUTH_* of the virtual PMU, header included (codec/vpmu.h). */
	void (*truth)(void *ctx, const u8 *record, u16 size);
	/* --control got the command "evlist"; how: the words after it. */
	void (*list)(void *ctx, const struct evlist *events, const char *how);
	void *ctx;
	/* Takes the recording, instead of a file; the command's output is discarded then. */
	const struct sink *sink;
	/* Unwinds stacks; only with it may events have CALLGRAPH_UNWIND. */
	const struct record_unwind *unwind;
	/* Is told which files samples fell into. */
	const struct record_met *met;
};

/*
 * Records. specs may be empty: then the best clock of this machine is used, and a note says which and why. After an
 * error a file may still have been written; result is filled as far as possible. ERR_*, noted. dry_run stops before
 * the command is started and before a file is made.
 */
int recorder_run(const struct record_opts *o, struct event_specs *specs, const struct recorder_events *tell,
		 bool dry_run, struct record_result *result, const struct notify *to);

#endif
