/* SPDX-License-Identifier: Apache-2.0 */
/* Spool: bytes that arrive in order, kept in an unlinked temporary file and then mapped. Nobody else can open it, and
 * it is gone when the process is, however that ends. */
#ifndef READ_SPOOL_H
#define READ_SPOOL_H

#include "base/bytes.h"
#include "base/err.h"

struct spool {
	struct bytes out;
	u64 size;	     /* set by spool_map */
	const char *dir;     /* where it lies: $TMPDIR, else /var/tmp */
	const char *of_what; /* the input it is a copy of, for messages; not owned */
};

/* ERR_IO (noted) when no temporary file can be made. */
int spool_open(struct spool *s, const char *of_what, const struct notify *to);
/* Any number of bytes; failures are kept for spool_check. */
void spool_put(struct spool *s, const void *p, u64 n);
/* Asks, now and then, whether writing still works: ERR_IO (noted) once the disk is full. */
int spool_check(struct spool *s, const struct notify *to);
/* Ends writing and maps what there is: *p is NULL when that is nothing. The spool is closed in any case. */
int spool_map(struct spool *s, void **p, const struct notify *to);
void spool_close(struct spool *s);

#endif
