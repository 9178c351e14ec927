/* SPDX-License-Identifier: Apache-2.0 */
/* When the process that parses for DSOs is forked (state/apart.h). */
#include "state/apart.h"
#include "state/cache.h"
#include "state/dso_table.h"

struct apart *dsos_get_parser(struct dsos *d)
{
	struct apart *a;

	pthread_mutex_lock(&d->files_lock);
	if (!d->apart_asked)
		d->apart = d->opts.apart ? d->opts.apart : apart_new();
	d->apart_asked = true;
	a = d->apart;
	pthread_mutex_unlock(&d->files_lock);
	return a;
}

void dsos_start_parser(struct dsos *d)
{
	if (!d->opts.no_lines || d->opts.demangle)
		(void)dsos_get_parser(d);
}

void dsos_start_parser_unless_kept(struct dsos *d)
{
	d->apart_waits = !d->opts.no_lines && cache_has_any(d->cache, CACHE_LINES);
	if (!d->apart_waits)
		dsos_start_parser(d);
	d->opens_ahead = !d->apart_waits;
}
