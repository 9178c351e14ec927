/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/export_about.h"

#include <string.h>
#include <sys/stat.h>

/* Nanoseconds since 1970 at that time of the recording's clock: as the recording says it (record -k), else the file
 * was last changed when the last sample had come. 0: nothing tells. */
static u64 wall_time(const struct source *src, u64 time, u64 last)
{
	const struct features *f = &src->features;
	struct stat st;
	u64 end;

	if (f->clock_data_wall_ns)
		return f->clock_data_wall_ns + (time - f->clock_data_clockid_ns);
	if (!strcmp(src->path, "-") || stat(src->path, &st) || st.st_mtim.tv_sec <= 0)
		return 0;
	end = (u64)st.st_mtim.tv_sec * 1000000000 + (u64)st.st_mtim.tv_nsec;
	return last - time < end ? end - (last - time) : 0;
}

void profile_about(const struct source *src, const struct profile *p, bool inlined, struct export_about *out)
{
	u64 first = p->tally.first_time, last = MAX(p->tally.last_time, first),
	    file_end = src->features.last_sample_time;

	*out = (struct export_about){
		.host = src->features.hostname,
		.duration = last - first,
		.inlined = inlined,
	};
	out->start = p->events.n && src->events.has_time ? wall_time(src, first, MAX(file_end, last)) : 0;
}
