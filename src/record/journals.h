/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activities without BPF: programs write journals into a directory (activity/src/journal.c), and this reads them while
 * it records, and makes the samples of them that the BPF program would have written (codec/activity.h), with the
 * journal's times. Those are of CLOCK_MONOTONIC, and so must be the samples'.
 *
 * Only what is as good as the program's own word is believed: a journal belongs to the user whose process it names,
 * or to root, and that process has the number by which we know it. Journals whose programs have ended are removed when
 * they are read; those of an earlier process of a number are removed unread.
 */
#ifndef RECORD_JOURNALS_H
#define RECORD_JOURNALS_H

#include "base/bytes.h"
#include "base/err.h"
#include "codec/sample.h"

#define JOURNALS_VARIABLE "RETICLE_ACTIVITY_JOURNAL" /* names the directory, for programs and for the recorder */

struct journals;

/* dir: where programs that run already write theirs; NULL: makes a directory of its own, which is removed in the end.
 * ERR_IO, ERR_PERM, ERR_NOTFOUND (noted). Journals that are there by then count from what holds now. */
int journals_begin(struct journals **out, const char *dir, const struct notify *to);
const char *journals_dir(const struct journals *j);
void journals_end(struct journals *j); /* NULL is fine */

/* How the samples are made, and where they go: whole records, many at a time. */
struct journals_sink {
	const struct sample_layout *layout;
	u64 id; /* of the event */
	int (*put)(void *ctx, const struct bytes *records);
	void *ctx;
};
/* Reads what all journals say by now. Call it after the rings of samples were emptied: then what holds for these has
 * been said. It takes that time, and what one journal takes: those that had no turn come first the next time, and what
 * their threads work for is not known until then. Returns the first error of put, or 0. */
int journals_read(struct journals *j, const struct journals_sink *to, u64 most_ns);
/* How long it may take until they are to be read again, in ms. */
int journals_timeout(const struct journals *j);
/* A new file begins: with the next reading, all that holds is told again. */
void journals_renew(struct journals *j);

#endif
