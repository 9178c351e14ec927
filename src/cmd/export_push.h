/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle export --push` for who records: one recording, one try. */
#ifndef CMD_EXPORT_PUSH_H
#define CMD_EXPORT_PUSH_H

#include "cmd/push.h"

struct export_push {
	const char *input, *format, *to; /* to: a URL, or @FILE, which is read each time */
	const struct opt_list *headers;
	bool no_cache;
};

/* Whether all but the input is right, and can be done. 0, ERR_USAGE, ERR_UNSUPPORTED; noted. */
int export_push_check(const struct export_push *p, const struct notify *to);
/* making: of the profile; sending: of what the server says. */
void export_push(const struct export_push *p, const struct notify *making, const struct notify *sending,
		 struct push_outcome *out);

#endif
