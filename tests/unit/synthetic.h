/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles made by hand, for the tests of what is made of profiles. */
#ifndef TESTS_SYNTHETIC_H
#define TESTS_SYNTHETIC_H

#include "agg/profile.h"

struct synthetic_stack {
	u32 event;
	const char *comm;
	/* Frames "dso`symbol", outermost first, parted by '|'. A symbol that begins with '+' is unresolved, at that
	 * hexadecimal address; a dso that begins with '[' is kernel code. */
	const char *frames;
	u64 weight;
	u32 samples;
};

#define SYNTHETIC_EVENTS 8

struct synthetic {
	struct strtab strings;
	struct evlist events;
	struct profile *profile;
	struct map known;			     /* symbols that were added */
	struct tree_builder trees[SYNTHETIC_EVENTS]; /* while the profile is made */
};

/* One event per name (NULL-terminated), with what n stacks put into them. sort: nr_sort of SORT_*; 0 of them: comm,
 * dso, symbol. Events without samples are left out, as the pipeline does. */
void synthetic_make(struct synthetic *s, const char *const *events, const struct synthetic_stack *stacks, u32 n,
		    bool children, const u8 *sort, u32 nr_sort);
void synthetic_free(struct synthetic *s);

#endif
