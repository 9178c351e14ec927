/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TRACING_DATA feature: the format files of the tracepoints in a recording, as trace-cmd's version 0.5 and 0.6 lay
 * them out. A format file is text from tracefs: name, id, one line per field, and the print format.
 */
#ifndef CODEC_TRACEFMT_H
#define CODEC_TRACEFMT_H

#include "base/cursor.h"
#include "base/err.h"
#include "base/vec.h"

#define TRACEFMT_DATA_MAX 65536u /* no raw sample is longer; a field that lies beyond is refused */

enum trace_field_kind {
	TRACE_NUMBER,
	TRACE_ARRAY,	/* size bytes in place; of char: text */
	TRACE_DATA_LOC, /* u32: offset in the raw data, and length << 16 */
	TRACE_REL_LOC,	/* the same, offset counted from the field's end */
};

struct trace_field {
	struct str name, type;
	u32 offset, size;
	bool is_signed, common, text; /* common: every tracepoint has it; text: of characters */
	enum trace_field_kind kind;
};

struct trace_event {
	struct str system, name;
	u32 id;
	struct str format; /* the whole file */
	struct str print;  /* its print format, as it stands */
	VEC(struct trace_field) fields;
	bool print_is_tame; /* trace_print_is_tame of it */
};

struct tracefmt {
	bool big_endian;
	u32 long_size, page_size;
	VEC(struct trace_event) events;
	struct str printk; /* "0xaddr : "text"" lines */
	u32 refused;	   /* number of event formats that made no sense and are left out */
};

/* All text points into the input. ERR_TRUNCATED or ERR_FORMAT; everything that was decoded before the error is
 * kept. */
int tracefmt_decode(struct cursor c, struct tracefmt *out);
void tracefmt_free(struct tracefmt *f);

/* One format file. ERR_FORMAT when a field lies beyond TRACEFMT_DATA_MAX or a number is missing. */
int trace_event_decode(struct str system, struct str format, struct trace_event *out);
/*
 * Can a print format be evaluated on any data, in bounded time and without reading far from the data? It can if the
 * grammar in codec/trace_print.c allows it. TRACE_INDEX_MAX: the largest index of an array in such a format.
 */
#define TRACE_INDEX_MAX 15
bool trace_print_is_tame(struct str print);
const struct trace_event *tracefmt_find(const struct tracefmt *f, u32 id);

#endif
