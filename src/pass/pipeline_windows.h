/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline's part that deals with windows (attrib/window.h): a group's samples end windows, if this is asked for
 * and there are any. Then a sample belongs to the group's leader, and the counts of the other members are part of its
 * window.
 */
#ifndef PASS_PIPELINE_WINDOWS_H
#define PASS_PIPELINE_WINDOWS_H

#include "pass/pipeline.h"

struct window_pass {
	struct windows windows; /* settled; the workers' findings are added to it in the end */
	struct window_use opts;
	struct window_setup setup; /* of the measure; seen is complete when all workers have finished */
	bool on;
};

/* The data of one worker, beside its feed's struct windows. */
struct window_worker {
	struct windows windows;
	struct window_hits *hits;
};

/* Looks at the recording's first samples. If there are windows, changes the options in o for them. */
void window_pass_start(struct window_pass *w, const struct session *s, struct pipeline_opts *o);
void window_pass_free(struct window_pass *w);
/* Do frames have to keep their addresses? */
bool window_pass_by_address(const struct window_pass *w);
/* For each worker that will be fed; it begins in the state at the end of window_pass_start. NULL without windows. */
void window_worker_start(const struct window_pass *w, struct session *s, struct window_worker *out);
/* Adds the worker's findings to those of the pass. */
void window_worker_join(struct window_pass *w, struct window_worker *from);
#endif
