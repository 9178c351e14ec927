/* SPDX-License-Identifier: Apache-2.0 */
/* Lists events by name, one on each line: those of a recording, or of one that is being made. */
#ifndef CMD_EVLIST_H
#define CMD_EVLIST_H

#include "base/bytes.h"
#include "codec/evlist.h"

struct evlist_how {
	bool verbose, group, freq; /* -v, -g, -F */
};

void evlist_put(const struct evlist *l, struct evlist_how how, struct bytes *out);

#endif
