/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys that tracepoints have the values of: what a sample of one says as a whole, and single fields of it.
 *
 * A field that is text is taken from the sample's raw data. Any other reads as it does in the whole, where that has
 * "name=value" ("prev_state=R+"), else as the number that it is. Samples of events that have no such field read "".
 */
#ifndef AGG_TRACE_KEYS_H
#define AGG_TRACE_KEYS_H

#include "attrib/hit.h"
#include "base/err.h"
#include "codec/features.h"
#include "state/procs.h"

/* The texts themselves, which all workers share. */
struct trace_texts;
struct trace_texts *trace_texts_new(void);
void trace_texts_free(struct trace_texts *t);
/* When no worker is at work any more. */
const char *trace_texts_get(const struct trace_texts *t, u32 id);

/* A worker's reader of them. */
struct trace_keys;

struct trace_keys *trace_keys_new(struct trace_texts *texts, const struct features *f, struct dsos *dsos,
				  const char *const *fields, u32 nr_fields, const struct notify *to);
void trace_keys_free(struct trace_keys *k);

/* The id of the text of a hit with its full sample: of the i-th field, or as a whole (TRACE_WHOLE). */
#define TRACE_WHOLE UINT32_MAX
u32 trace_keys_text(struct trace_keys *k, const struct hit *h, const struct thread_view *thread, u32 i);

/*
 * The first of n names that no event of the list has for a field: FIELD, or EVENT.FIELD, where the event is named as
 * in the list or without its system. Which one it is; ID_NONE: each is one.
 */
u32 trace_keys_missing(const struct evlist *events, const struct features *f, const char *const *names, u32 n);

#endif
