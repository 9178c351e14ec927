/* SPDX-License-Identifier: Apache-2.0 */
/* Private to pass/feed*.c. */
#ifndef PASS_FEED_AUX_H
#define PASS_FEED_AUX_H

#include "pass/feed.h"

/* The hits of the AUX data behind an AUXTRACE record. */
void feed_aux(struct feed *f, const struct source_record *at, hit_fn take, void *ctx);

#endif
