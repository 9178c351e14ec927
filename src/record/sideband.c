/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sideband.h"

#define FLUSH_AT (256u << 10)

int sideband_flush(struct sideband *s)
{
	int err = s->out.len ? s->flush(s->ctx, &s->out) : 0;

	s->out.len = 0;
	return err;
}

int sideband_put(struct sideband *s, const struct record *r)
{
	/* A name too long for a record is left out with its record. */
	(void)record_encode(r, s->trailer, &s->out);
	return s->out.len >= FLUSH_AT ? sideband_flush(s) : 0;
}

void sideband_free(struct sideband *s)
{
	bytes_free(&s->out);
	bytes_free(&s->file);
	bytes_free(&s->path);
}
