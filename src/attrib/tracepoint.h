/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracepoints: raw sample data to the text that the event's print format describes. The formats come with the
 * recording (TRACING_DATA); those that attrib/print_format.h does not know are printed as name=value for each field.
 */
#ifndef ATTRIB_TRACEPOINT_H
#define ATTRIB_TRACEPOINT_H

#include "base/bytes.h"
#include "base/err.h"

struct tracepoints; /* for one thread at a time */

/* Names the kernel function at addr, for %ps and the like: its name and start, and its module's name or NULL. NULL
 * when there is none. */
typedef const char *(*tracepoint_symbol_fn)(void *ctx, u64 addr, u64 *start, const char **module);

/* data: the feature's section, which has to outlive the result. Formats that cannot be parsed are noted once and print
 * nothing. Never NULL. */
struct tracepoints *tracepoints_new(const u8 *data, u64 size, tracepoint_symbol_fn symbol, void *ctx,
				    const struct notify *to);
void tracepoints_free(struct tracepoints *t);

/* id: the event's config. False: nothing is known about it. */
bool tracepoints_print(struct tracepoints *t, u32 id, const u8 *raw, u32 raw_size, struct bytes *out);

/* Does the event have a field of that name? *field identifies it. */
bool tracepoints_find_field(const struct tracepoints *t, u32 id, const char *name, u32 *field);
/* Is it a text of characters? */
bool tracepoints_field_is_text(const struct tracepoints *t, u32 id, u32 field);
/* Prints the value of a field, without its name, as libtraceevent prints single fields. False: it is not in the
 * data. */
bool tracepoints_print_field(struct tracepoints *t, u32 id, u32 field, const u8 *raw, u32 raw_size, struct bytes *out);

#endif
