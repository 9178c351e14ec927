/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what the virtual PMU's plugin wrote of exact counts. */
#include "pass/truth_impl.h"

bool truth_next(struct truth_sums *u, u64 *offset, struct vpmu_truth *out)
{
	while (u->size - *offset >= 8) {
		struct cursor c = cursor_over(u->records + *offset, (size_t)(u->size - *offset), false);
		u16 size;

		cursor_skip(&c, 6);
		size = cursor_u16(&c);
		if (size < 8 || size > u->size - *offset)
			break;
		c = cursor_over(u->records + *offset, size, false);
		*offset += size;
		if (!vpmu_truth_decode(c, out))
			return true;
		u->damaged++;
	}
	u->damaged += *offset < u->size;
	*offset = u->size;
	return false;
}

void truth_place(const struct truth_sums *u, const struct vpmu_truth *r, u64 time, u64 pc, struct place *out)
{
	struct thread_view view;

	procs_thread_at(u->s->procs, r->pid, r->tid, u->s->clock_is_time ? time : UINT64_MAX - 1, &view);
	place_find(u->s->dsos, &view, PERF_RECORD_MISC_USER, pc, out);
}
