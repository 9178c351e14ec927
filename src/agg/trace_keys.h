/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys whose values come from tracepoints: the whole text of a sample, and single fields.
 *
 * A text field is taken from the sample's raw data. Any other field has the same text as in the whole, if that has
 * "name=value" ("prev_state=R+"), else it is shown as a number. For samples of events without the field the text is
 * "".
 *
 * Names that are keys of activities (agg/activity_keys.h) are fields, too; in a recording with activities these come
 * first. timelines: the activities, or NULL.
 */
#ifndef AGG_TRACE_KEYS_H
#define AGG_TRACE_KEYS_H

#include "attrib/hit.h"
#include "base/err.h"
#include "codec/features.h"
#include "state/procs.h"
#include "state/timelines.h"

/* The texts, which all workers share. */
struct trace_texts;
struct trace_texts *trace_texts_new(void);
void trace_texts_free(struct trace_texts *t);
/* Call it when no worker is running any more. */
const char *trace_texts_get(const struct trace_texts *t, u32 id);

/* A worker's reader of them. */
struct trace_keys;

struct trace_keys *trace_keys_new(struct trace_texts *texts, const struct features *f, struct dsos *dsos,
				  const struct timelines *timelines, const char *const *fields, u32 nr_fields,
				  const struct notify *to);
void trace_keys_free(struct trace_keys *k);

/* The id of the text of a hit with its full sample: of the i-th field, or of the whole (TRACE_WHOLE). */
#define TRACE_WHOLE UINT32_MAX
u32 trace_keys_text(struct trace_keys *k, const struct hit *h, const struct thread_view *thread, u32 i);

/*
 * Finds the first of n names that is neither a field of any event in the list nor a key of activities. Names are FIELD
 * or EVENT.FIELD, in which the event is named as in the list or without its system. Returns its index; ID_NONE: all
 * names are fields or keys.
 */
u32 trace_keys_missing(const struct evlist *events, const struct features *f, const struct timelines *timelines,
		       const char *const *names, u32 n);

#endif
