/* SPDX-License-Identifier: Apache-2.0 */
/* Private to pass/feed*.c. */
#ifndef PASS_FEED_AUX_H
#define PASS_FEED_AUX_H

#include "pass/feed.h"

/* Hands on an operation as a hit of each event that it is a sample of; *h lacks event, e and nth. */
void feed_aux_events(const struct feed *f, struct hit *h, const struct spe_record *r, hit_fn take, void *ctx);

/* The hits of the AUX data behind an AUXTRACE record. */
void feed_aux(struct feed *f, const struct source_record *at, hit_fn take, void *ctx);

#endif
