/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline's part that deals with windows (attrib/window.h): a group's samples end windows, when that is asked for and
 * there are any. Then a sample is one of the group's leader, and what the other members counted is part of its window.
 */
#ifndef PIPELINE_WINDOWS_H
#define PIPELINE_WINDOWS_H

#include "pipeline.h"

struct window_pass {
	struct windows windows;
	struct window_opts opts;
	struct window_hits *hits;
	bool on;
};

/* Looks at the recording's first samples. Where there are windows, changes in o what they are shown with. */
void window_pass_start(struct window_pass *w, const struct session *s, struct pipeline_opts *o);
void window_pass_free(struct window_pass *w);
/* Frames have to keep their addresses. */
bool window_pass_by_address(const struct window_pass *w);
/* For the collector; NULL without windows. */
struct window_hits *window_pass_hits(struct window_pass *w, struct session *s);
/* The event that the sample counts for; ID_NONE when it ends no window. */
u32 window_pass_take(struct window_pass *w, const struct session *s, const struct event *e, const struct sample *sample,
		     struct window *out);
/* Any record that is no sample. */
void window_pass_note(struct window_pass *w, const struct session *s, const struct source_record *at);
/* What the windows of that event's samples add up to; takes over the sums. */
struct profile_windows *window_pass_result(const struct window_pass *w, u32 event, struct window_sums *sums);

#endif
