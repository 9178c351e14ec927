/* SPDX-License-Identifier: Apache-2.0 */
/* Recorder: from options to a finished recording. What `reticle record` does, without its words. */
#ifndef RECORD_RECORDER_H
#define RECORD_RECORDER_H

#include "events/spec.h"
#include "record/opts.h"
#include "record/sink.h"
#include "windows/run.h"

struct record_result {
	u64 woken; /* times that the rings called */
	u64 samples, lost, throttled;
	u64 lost_in_looking;  /* of lost: what came while rings that are overwritten were looked at */
	u64 bytes;	      /* of the last file */
	u64 packed, unpacked; /* with compression: what the rings gave, and what it took */
	u64 events_bytes;     /* of that, all files together */
	u32 files;	      /* finished, by --switch-output */
	bool size_reached;    /* --max-size ended it */
	bool interrupted;     /* a signal ended it */
	int signal;	      /* which, or 0 */
	bool has_status;      /* a command ran, and ended: */
	int status;	      /* its exit status, or 128 + its signal */
	struct window_summary windows;
	char *path; /* the file; NULL for a pipe. Caller frees */
	/* Of the virtual PMU: */
	u32 escaped;	      /* programs that could not be followed, and ran without it */
	bool never_simulated; /* QEMU ended before the program began */
};

/* What is told while it runs. Members may be NULL. */
struct recorder_events {
	void (*switched)(void *ctx, const char *path, u64 bytes); /* --switch-output has finished a file */
	/* A VPMU_RECORD_TRUTH_* of the virtual PMU, header included (codec/vpmu.h). */
	void (*truth)(void *ctx, const u8 *record, u16 size);
	/* --control was told "evlist"; how: the words behind it. */
	void (*list)(void *ctx, const struct evlist *events, const char *how);
	void *ctx;
	/* Takes the recording, in place of a file; what the command prints goes nowhere then. */
	const struct sink *sink;
};

/*
 * Records. specs may be empty: then the best clock of this machine is taken, and a note says which and why. On an
 * error a file may still have been written; result is filled as far as it came. ERR_*, noted. dry_run stops before the
 * command is started and before a file is made.
 */
int recorder_run(const struct record_opts *o, struct event_specs *specs, const struct recorder_events *tell,
		 bool dry_run, struct record_result *result, const struct notify *to);

#endif
