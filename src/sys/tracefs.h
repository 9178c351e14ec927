/* SPDX-License-Identifier: Apache-2.0 */
/* The place of tracefs, and the ids of its events. */
#ifndef SYS_TRACEFS_H
#define SYS_TRACEFS_H

#include "base/err.h"
#include "base/vec.h"

struct tracefs_names {
	VEC(char *) v; /* sorted */
};

/* The directory that holds events/: the given one, /sys/kernel/tracing or /sys/kernel/debug/tracing. */
const char *tracefs_root(const char *given);
/* Names of the subsystems, or of the events of one. 0, ERR_NOTFOUND, ERR_PERM or ERR_IO; nothing is noted. */
int tracefs_list(const char *root, const char *subsystem, struct tracefs_names *out);
void tracefs_names_free(struct tracefs_names *n);
/* The number that goes into attr.config. Errors as above, and ERR_FORMAT. */
int tracefs_event_id(const char *root, const char *subsystem, const char *event, u64 *id);

#endif
