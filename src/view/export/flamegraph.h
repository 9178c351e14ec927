/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flame graph: one SVG file that any browser opens, and that is a plain picture where no script runs. A box per
 * function and call path, as wide as its share, on top of (or, as icicles, below) its caller; siblings by name.
 */
#ifndef VIEW_EXPORT_FLAMEGRAPH_H
#define VIEW_EXPORT_FLAMEGRAPH_H

#include "agg/profile.h"
#include "base/bytes.h"

struct flamegraph_opts {
	const char *title; /* NULL: made up from the event */
	u32 width;	   /* pixels */
	double min_width;  /* boxes narrower than this are left out */
	bool icicle;	   /* outermost at the top */
	bool samples;	   /* widths are numbers of samples, not weights */
	u32 palette;	   /* flamegraph_palette */
};

#define FLAMEGRAPH_DEFAULTS                                                                                           \
	{                                                                                                             \
		.width = 1200, .min_width = 0.1                                                                       \
	}

/* Palettes by name; ID_NONE when there is none. With names NULL-terminated for messages. */
u32 flamegraph_palette(const char *name);
extern const char *const flamegraph_palette_names[];

void view_flamegraph(const struct profile *p, const struct profile_event *e, const struct flamegraph_opts *o,
		     struct bytes *out);

/* What the picture does when it is clicked: the script inside it. */
extern const char flamegraph_script[];

#endif
