/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of a profile as pprof and OTLP know it: each distinct frame is a location, with a line for each call that
 * was inlined there. Lines name functions; locations lie in mappings of files. All refer to each other by number, and
 * the first of each is an empty one, which stands for none. No two are equal. Numbers are the same in each run.
 *
 * Addresses are those for which a file is linked, however processes had mapped it, where the file is there to tell
 * them; else those that symbol look-ups take (state/dso.h).
 */
#ifndef VIEW_EXPORT_LOCATIONS_H
#define VIEW_EXPORT_LOCATIONS_H

#include "agg/profile.h"
#include "base/strtab.h"

struct location_function {
	u32 name, file; /* strings */
};

struct location_line {
	u32 function, line;
};

struct location_mapping {
	u64 start, limit, offset;
	u32 path, build_id; /* strings; the id is hexadecimal, and one of build_ids */
	bool functions;	    /* all of its locations have names */
	bool unnamed;	    /* one has none */
	bool files, inlined;
};

struct location {
	u32 mapping;
	u64 addr;
	u32 first_line, nr_lines; /* innermost first */
	bool kernel;
};

struct locations {
	struct strtab strings; /* valid UTF-8 without control characters; whoever writes them may add others */
	VEC(struct location_function) functions;
	VEC(struct location_line) lines;
	VEC(struct location_mapping) mappings;
	VEC(struct location) all;
	struct strtab build_ids;
	u32 *of_frame; /* by frame; 0: that is in no stack */
	struct map function_ids;
	struct strtab mapping_ids, location_ids; /* by the bytes of all that tells two apart */
	struct bytes text;
};

/* Of all frames in stacks of p, whose frames kept their addresses (pipeline_opts.addresses). */
void locations_make(struct locations *l, const struct profile *p, bool inlined);
void locations_free(struct locations *l);

/* Writes the location's lines, each a message with this number: Line is the same in both formats. */
void locations_put_lines(const struct locations *l, const struct location *at, u32 field, struct bytes *out);

/* The string of any bytes; and that in a table of the caller's. */
u32 locations_string(struct locations *l, const char *s, size_t n);
u32 locations_string_in(struct locations *l, struct strtab *t, const char *s, size_t n);
static inline u32 locations_string_z(struct locations *l, const char *s)
{
	return locations_string(l, s, strlen(s));
}

#endif
