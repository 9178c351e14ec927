/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/profile.h"

#include <stdio.h>
#include <stdlib.h>

const char *profile_frame_name(const struct profile *p, u32 frame, char *buf, size_t size)
{
	const struct frame *f = frames_get(p->frames, frame);

	if (f->inlined)
		return strtab_get(p->strings, f->inlined);
	if (f->sym != ID_NONE)
		return dsos_symbol_name(p->dsos, f->dso, f->sym);
	if (!f->dso)
		snprintf(buf, size, f->addr ? "[unknown+0x%llx]" : "[unknown]", (unsigned long long)f->addr);
	else
		snprintf(buf, size, "[%s+0x%llx]", dsos_at(p->dsos, f->dso)->short_name, (unsigned long long)f->addr);
	return buf;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->events.n; i++) {
		struct profile_event *e = &p->events.v[i];

		tree_free(&e->tree);
		vec_free(&e->rows);
		free(e->row_of);
		free(e->row_nodes);
		free(e->row_first);
		free(e->scratch);
	}
	vec_free(&p->events);
	free(p);
}
