/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of user space: how many reach the function in which their thread began, why the others do not, and in which
 * files they end. */
#include <stdlib.h>

#include "attrib/unwind.h"
#include "view/names.h"
#include "view/report.h"

#define NARROWEST 100000 /* of all stacks: of fewer no line is printed */

/* What --call-graph takes for fewer of these ends: more bytes, or another mode. */
static void write_way_out(const struct profile *p, enum stack_end end, struct bytes *out)
{
	const char *mode = p->stacks_told ? "unwind" : "dwarf";
	u32 copied = p->stack_bytes;

	if (stack_end_way_out(end))
		bytes_printf(out, ": %s", stack_end_way_out(end));
	if (end == STACK_SHORT && copied && copied < UNWIND_MOST_COPIED)
		bytes_printf(out, ": --call-graph %s,%u", mode, MIN(copied * 2, (u32)UNWIND_MOST_COPIED));
}

void report_stack_ends(const struct profile *p, struct bytes *out)
{
	const struct stack_counts *c = &p->tally.ends;

	if (!c->stacks)
		return;
	bytes_printf(out, "# Stacks: %llu%s, %.1f%% whole", (unsigned long long)c->stacks,
		     p->stacks_told ? " unwound while recording" : "", share_of(c->ends[STACK_WHOLE], c->stacks));
	for (u32 i = STACK_WHOLE + 1; i < STACK_ENDS; i++) {
		if (!c->ends[i])
			continue;
		bytes_printf(out, ", %.1f%% cut (%s", share_of(c->ends[i], c->stacks), stack_end_text(i));
		write_way_out(p, i, out);
		bytes_char(out, ')');
	}
	if (c->guessed)
		bytes_printf(out, "; %.1f%% of frames by frame pointers alone", share_of(c->guessed, c->frames));
	bytes_char(out, '\n');
}

static const char *file_of(const struct profile *p, const struct stack_cut *c)
{
	const char *path =
		c->file & CUT_IN_DSO ? dsos_at(p->dsos, c->file & ~CUT_IN_DSO)->path : strtab_get(p->strings, c->file);

	return *path ? path : "[unknown]";
}

static int more_first(const void *x, const void *y, void *profile)
{
	const struct stack_cut *a = x, *b = y;
	int by_name;

	if (a->stacks != b->stacks)
		return a->stacks < b->stacks ? 1 : -1;
	by_name = strcmp(file_of(profile, a), file_of(profile, b));
	return by_name ? by_name : (int)a->end - (int)b->end;
}

/* The cuts, those with most stacks first; the caller frees them. */
static struct stack_cut *sorted(const struct profile *p)
{
	struct stack_cut *v = mem_zalloc((p->cuts.v.n + 1) * sizeof(*v));

	for (size_t i = 0; i < p->cuts.v.n; i++)
		v[i] = p->cuts.v.v[i];
	qsort_r(v, p->cuts.v.n, sizeof(*v), more_first, (void *)p);
	return v;
}

void report_stack_cuts(const struct profile *p, struct bytes *out)
{
	u64 all = p->tally.ends.stacks;
	struct stack_cut *v;

	if (!p->cuts.v.n)
		return;
	v = sorted(p);
	bytes_str(out, "#\n# Cut stacks, by the file in which they end:\n");
	for (size_t i = 0; i < p->cuts.v.n && v[i].stacks >= all / NARROWEST; i++) {
		const char *file = file_of(p, &v[i]);

		bytes_printf(out, "# %7.3f%% %10llu  ", share_of(v[i].stacks, all), (unsigned long long)v[i].stacks);
		bytes_plain(out, file, strlen(file));
		bytes_printf(out, "  (%s)\n", stack_end_text(v[i].end));
	}
	free(v);
}

void report_stacks_json(const struct profile *p, struct json *j)
{
	const struct stack_counts *c = &p->tally.ends;
	struct stack_cut *v;

	if (!c->stacks)
		return;
	json_set_object(j, "stacks");
	json_set_u64(j, "stacks", c->stacks);
	json_set_u64(j, "frames", c->frames);
	json_set_u64(j, "frames_by_frame_pointers", c->guessed);
	for (u32 i = 0; i < STACK_ENDS; i++)
		json_set_u64(j, stack_end_name(i), c->ends[i]);
	json_set_list(j, "cut");
	v = sorted(p);
	for (size_t i = 0; i < p->cuts.v.n; i++) {
		json_object(j);
		json_set_text(j, "file", file_of(p, &v[i]));
		json_set_text(j, "why", stack_end_name(v[i].end));
		json_set_u64(j, "stacks", v[i].stacks);
		json_object_end(j);
	}
	json_list_end(j);
	json_object_end(j);
	free(v);
}
