/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recipe: a recording as readable text, compiled to perf.data through our own encoders. tests/recipe/README.md has the
 * grammar.
 */
#ifndef RECIPE_RECIPE_H
#define RECIPE_RECIPE_H

#include "base/arena.h"
#include "codec/evlist.h"
#include "codec/features.h"
#include "codec/record.h"

enum recipe_packing { PACK_NONE, PACK_ZSTD, PACK_ZSTD2 };

/* One record of the recording, encoded in this machine's order, and what stands behind it in the file. */
struct recipe_record {
	size_t at;
	u32 event;
	u32 payload; /* bytes behind the record: of AUXTRACE, or junk */
};

struct recipe {
	bool pipe, big, no_sample_id_all, no_event_desc, unfinished;
	enum recipe_packing packing;
	u32 chunk;     /* bytes of records that go into each COMPRESSED record */
	u32 attr_size; /* 0: as large as each attr needs */
	u64 cut;       /* bytes to leave out at the end of the file */
	struct evlist events;
	struct features features;
	struct bytes bytes; /* all records */
	VEC(struct recipe_record) records;
	struct arena arena;
	const struct notify *notify;
	const char *name;
	u32 line;
};

/* Reads the text up to its first "expect" line. 0 or ERR_FORMAT with a note that names the line. Free it either way.
 */
int recipe_parse(struct recipe *r, const char *name, const char *text, size_t len, const struct notify *notify);
/* Appends the file that it describes. */
int recipe_write(const struct recipe *r, struct bytes *out);
void recipe_free(struct recipe *r);

#endif
