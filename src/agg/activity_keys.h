/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys whose values come from the activity that a thread worked for (state/timelines.h): its ids, the service, and
 * attributes by the names that processes give them, such as http.route. Values are texts; a sample that has none has
 * ACTIVITY_NOTHING.
 */
#ifndef AGG_ACTIVITY_KEYS_H
#define AGG_ACTIVITY_KEYS_H

#include "base/bytes.h"
#include "state/timelines.h"

#define ACTIVITY_NOTHING "[none]"

/* Is that a key of activities in this recording? */
bool activity_key(const struct timelines *t, const char *name);
/* Appends the value; activity: a number that timelines_at gave. */
void activity_key_text(const struct timelines *t, u32 activity, const char *name, struct bytes *out);

/* Which activities have that value, by number: all.n of them. Caller frees. */
u8 *activity_choose(const struct timelines *t, const char *key, const char *value);

/* Calls put for each attribute that has a value; of keys with the same name the first one counts. */
void activity_attributes(const struct activity *a, void (*put)(void *ctx, struct str key, struct str value),
			 void *ctx);

/*
 * Appends all of it in one line: "TRACE/SPAN" and the attributes, each as " KEY=VALUE". Without ids, how the thread
 * was read (activity_status_text).
 */
void activity_text(const struct timelines *t, u32 activity, struct bytes *out);
const char *activity_status_text(enum activity_status s);

#endif
