/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/record_unwind.h"

#include <stdio.h>

static void begin_unwinding(void *ctx, const struct evlist *kernel, const struct evlist *recorded)
{
	unwinding_begin(ctx, kernel, recorded);
}

static void unwind_record(void *ctx, const u8 *record, u16 size, struct bytes *out)
{
	unwinding_take(ctx, record, size, out);
}

struct record_unwind record_unwind_by(struct unwinding *u)
{
	return (struct record_unwind){ begin_unwinding, unwind_record, u };
}

static double share(u64 part, u64 of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

void record_print_unwound(const char *command, const struct unwinding *u, u32 copied)
{
	const struct unwind_counts *c = unwinding_counts(u);

	if (unwinding_dropped(u))
		fprintf(stderr, "[ reticle %s: %llu samples left out: damaged, or of an unknown event ]\n", command,
			(unsigned long long)unwinding_dropped(u));
	if (!c->stacks)
		return;
	fprintf(stderr, "[ reticle %s: stacks: %.1f%% whole", command, share(c->ends[UNWIND_WHOLE], c->stacks));
	for (u32 i = UNWIND_WHOLE + 1; i < UNWIND_ENDS; i++)
		if (c->ends[i]) {
			fprintf(stderr, ", %.1f%% cut (%s", share(c->ends[i], c->stacks), unwind_end_text(i));
			if (i == UNWIND_SHORT && copied < UNWIND_MOST_COPIED)
				fprintf(stderr, ": --call-graph unwind,%u", MIN(copied * 2, (u32)UNWIND_MOST_COPIED));
			fputc(')', stderr);
		}
	if (c->guessed)
		fprintf(stderr, "; %.1f%% of frames by frame pointers alone", share(c->guessed, c->frames));
	fprintf(stderr, " ]\n");
}
