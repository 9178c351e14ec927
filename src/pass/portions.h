/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Portions: a profile of a recording of which parts were collected before. Whoever makes one profile after the other
 * of what lately came (pass/live.h) has each sample collected once, and what came of each part added up each time.
 */
#ifndef PASS_PORTIONS_H
#define PASS_PORTIONS_H

#include "pass/pipeline.h"

/* A part of a recording: whole records that follow one another. A zeroed one is still to be collected. */
struct portion {
	u64 from, end;		     /* where they stand in the source's data, while it is still to be collected */
	struct collected *collected; /* what came of it, by the session's strings, DSOs and frames */
	u32 nr_trees;
	u64 undecodable, unmoved; /* as the feed counts them */
};
void portion_forget(struct portion *p); /* it is to be collected again */

/*
 * Can the results of separate portions be added up? They cannot if what a sample means depends on other samples
 * (windows, stitched stacks, chains that come later), or if values depend on the whole recording.
 */
bool portions_suffice(const struct pipeline_opts *o, const struct source *src);
/* A hash of all that decides what comes of samples: portions are of one kind of options. */
u64 portions_kind(const struct pipeline_opts *o);

/*
 * As pipeline_over of a session that has the samples of all of them: those that are still to be collected are, and the
 * others are taken as they are, as parts of an earlier session with the same session_kept and of the same kind.
 * The session has to have the records of the former ones, and knows what was there meanwhile.
 */
int pipeline_portions(const struct pipeline_opts *opts, struct session *s, struct portion *portions, u32 n,
		      struct profile **profile, const struct notify *notify);

#endif
