/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/export_about.h"

/* Nanoseconds since 1970 at that time of the recording's clock: as the recording says it (record -k), else the file
 * was last changed when the last sample had come. 0: nothing tells. */
static u64 wall_time(const struct source *src, u64 time, u64 last)
{
	const struct features *f = &src->features;

	if (f->clock_data_wall_ns)
		return f->clock_data_wall_ns + (time - f->clock_data_clockid_ns);
	return last - time < src->changed_ns ? src->changed_ns - (last - time) : 0;
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
