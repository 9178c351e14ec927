/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline's part that deals with windows (attrib/window.h): a group's samples end windows, when that is asked for
 * and there are any. Then a sample is one of the group's leader, and what the other members counted is part of its
 * window.
 */
#ifndef PASS_PIPELINE_WINDOWS_H
#define PASS_PIPELINE_WINDOWS_H

#include "pass/pipeline.h"

struct window_pass {
	struct windows windows; /* settled; what workers were fed joins it in the end */
	struct window_use opts;
	struct window_setup setup; /* of the measure; seen is whole when all workers have joined */
	bool on;
};

/* What one worker has of it, beside its feed's struct windows. */
struct window_worker {
	struct windows windows;
	struct window_hits *hits;
};

/* Looks at the recording's first samples. Where there are windows, changes in o what they are shown with. */
void window_pass_start(struct window_pass *w, const struct session *s, struct pipeline_opts *o);
void window_pass_free(struct window_pass *w);
/* Frames have to keep their addresses. */
bool window_pass_by_address(const struct window_pass *w);
/* For as many workers as will be fed; each begins where window_pass_start ended. NULLs without windows. */
void window_worker_start(const struct window_pass *w, struct session *s, struct window_worker *out);
/* What it was fed becomes the pass's. */
void window_worker_join(struct window_pass *w, struct window_worker *from);
#endif
