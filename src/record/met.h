/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording met: the files that samples fell into, and the kernel and its modules, each with its build id. The
 * recorder knows its listener only as this function, because symbols belong to the layers that read recordings.
 */
#ifndef RECORD_MET_H
#define RECORD_MET_H

#include "record/build_id.h"

#define MET_NO_PID UINT32_MAX

struct met_file {
	const char *path; /* as in the recording: "[kernel.kallsyms]" for the kernel */
	bool kernel;	  /* the kernel, or a module of it */
	u32 pid;	  /* a process that has mapped it, which may have ended; MET_NO_PID: none that we could ask */
	struct build_id id;
	int fd; /* the file below the other root directory of a process, which may have ended; -1: not one of these */
};

/* Called on the recorder's thread when a recording is finished (with --switch-output, each file of it). */
struct record_met {
	void (*file)(void *ctx, const struct met_file *f);
	void *ctx;
};

#endif
