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

static void describe_unwound(void *ctx, struct features *f, struct arena *arena)
{
	unwinding_describe(ctx, f, arena);
}

static void sum_up_unwound(void *ctx, struct features *f)
{
	unwinding_sum_up(ctx, f);
}

struct record_unwind record_unwind_by(struct unwinding *u)
{
	return (struct record_unwind){ begin_unwinding, unwind_record, describe_unwound, sum_up_unwound, u };
}

static double share(u64 part, u64 of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

void record_print_unwound(const char *command, const struct unwinding *u, u32 copied)
{
	const struct stack_counts *c = unwinding_counts(u);
	struct bytes out = { 0 };

	if (unwinding_dropped(u))
		fprintf(stderr, "[ reticle %s: %llu samples left out: damaged, or of an unknown event ]\n", command,
			(unsigned long long)unwinding_dropped(u));
	if (!c->stacks)
		return;
	bytes_printf(&out, "[ reticle %s: stacks: %.1f%% whole", command, share(c->ends[STACK_WHOLE], c->stacks));
	for (u32 i = STACK_WHOLE + 1; i < STACK_ENDS; i++)
		if (c->ends[i]) {
			bytes_printf(&out, ", %.1f%% cut (%s", share(c->ends[i], c->stacks), stack_end_text(i));
			if (i == STACK_SHORT && copied < UNWIND_MOST_COPIED)
				bytes_printf(&out, ": --call-graph unwind,%u",
					     MIN(copied * 2, (u32)UNWIND_MOST_COPIED));
			bytes_char(&out, ')');
		}
	if (c->guessed)
		bytes_printf(&out, "; %.1f%% of frames by frame pointers alone", share(c->guessed, c->frames));
	bytes_str(&out, " ]\n");
	fwrite(out.p, 1, out.len, stderr);
	bytes_free(&out);
}
