/* SPDX-License-Identifier: Apache-2.0 */
/* The hits of one operation of Arm SPE. */
#ifndef PASS_OPERATION_HITS_H
#define PASS_OPERATION_HITS_H

#include "pass/feed.h"

/* Hands on an operation as a hit of each event that it is a sample of, or as one of them all (feed.together); *h lacks
 * event, e and nth. */
void operation_hits(const struct feed *f, struct hit *h, const struct spe_record *r, hit_fn take, void *ctx);

#endif
