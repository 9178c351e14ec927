/* SPDX-License-Identifier: Apache-2.0 */
/* One line of /proc/PID/maps. */
#ifndef CODEC_PROCMAPS_H
#define CODEC_PROCMAPS_H

#include "base/bytes.h"
#include "base/types.h"

struct maps_line {
	u64 start, end, pgoff, ino;
	u32 prot;  /* PROT_* */
	u32 flags; /* MAP_SHARED or MAP_PRIVATE */
	u32 maj, min;
	struct str path; /* as the line has it; empty for anonymous memory */
};

/*
 * Parses a line without its newline; path points into it. false if it is not such a line. Names may contain anything
 * that a file system allows: blanks, " (deleted)", control bytes. The kernel escapes only newlines, as \012.
 */
bool maps_line_parse(const char *line, size_t len, struct maps_line *out);

/* Appends the path with \012 turned back into a newline. */
void maps_path_plain(struct str path, struct bytes *out);

#endif
