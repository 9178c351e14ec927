/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame graph is laid out in one walk: a kid starts where its older sibling ends, and boxes that are too narrow to
 * be seen are skipped with everything on top of them, so the work after the walk is limited by the picture's area and
 * not by the number of stacks. The height follows from the deepest box that was kept.
 *
 * Positions are absolute and final in the file; the script reads them from there and needs no other data.
 */
#include "view/export/flamegraph.h"

#include <string.h>

#include "base/hash.h"
#include "view/export/stacks.h"

#define MARGIN 10
#define TOP 56
#define BOTTOM 34
#define LINE 16	       /* height of a box, with its gap */
#define CHAR_WIDTH 7.2 /* of the monospace font at 12 px */
#define MAX_DEPTH 2048 /* boxes above are left out: no screen is that high */

struct box {
	u32 node; /* 0: the whole */
	u32 depth;
	double x, width;
};

struct layout {
	struct stacks stacks;
	const struct flamegraph_opts *o;
	double scale; /* pixels per unit */
	u64 whole;
	u32 depth;
	VEC(struct box) boxes;
	struct bytes *out;
};

/* Hues in degrees, from and how far, of user and kernel frames; saturation in percent. */
static const struct palette {
	u16 user, user_span, kernel, kernel_span;
	u8 saturation;
} palettes[] = {
	{ 6, 44, 190, 34, 80 },
	{ 170, 50, 8, 40, 55 },
	{ 0, 0, 0, 0, 0 },
};
const char *const flamegraph_palette_names[] = { "hot", "cool", "gray", NULL };

u32 flamegraph_palette(const char *name)
{
	for (u32 i = 0; flamegraph_palette_names[i]; i++)
		if (!strcmp(flamegraph_palette_names[i], name))
			return i;
	return ID_NONE;
}

static void lay_out(struct layout *l, u32 node, double x, u32 depth)
{
	size_t first;
	u32 n;

	vec_push(&l->boxes, (struct box){ node, depth, x, (double)stacks_total(&l->stacks, node) * l->scale });
	l->depth = MAX(l->depth, depth);
	if (depth == MAX_DEPTH)
		return;
	n = stacks_kids(&l->stacks, node, &first);
	for (u32 i = 0; i < n; i++) {
		u32 kid = l->stacks.pending.v[first + i].node;
		double width = (double)stacks_total(&l->stacks, kid) * l->scale;

		if (width >= l->o->min_width)
			lay_out(l, kid, x, depth + 1);
		x += width;
	}
	l->stacks.pending.n = first;
}

/* One of the three channels of a hue, 0..1, at full saturation. */
static double channel(double hue)
{
	hue -= hue >= 360 ? 360 : 0;
	return hue < 60 ? hue / 60 : hue < 180 ? 1 : hue < 240 ? (240 - hue) / 60 : 0;
}

static u32 mix(double pure, double saturation, double light)
{
	return (u32)(255 * (light + saturation * (pure - 0.5) * (1 - 2 * (light > 0.5 ? light - 0.5 : 0.5 - light))));
}

/* The same name has the same colour in every picture. */
static u32 color_of(const struct layout *l, u32 node)
{
	const struct palette *p = &palettes[l->o->palette];
	const char *name = node ? stacks_name(&l->stacks, node) : "";
	u64 h = hash_stable(name, strlen(name));
	double spread = (double)(h & 0xffff) / 65536, light = 0.62 + (double)(h >> 16 & 0xff) / 255 * 0.12, hue;
	double saturation = p->saturation / 100.0;
	bool kernel = false, known = false;

	if (node && !stacks_is_group(&l->stacks, node)) {
		const struct frame *f =
			frames_get(l->stacks.profile->frames, l->stacks.event->tree.nodes.v[node].frame);

		kernel = f->level == 'k' || f->level == 'g';
		known = f->sym != ID_NONE || f->inlined;
	}
	if (!known) /* the whole, threads, and what has no name */
		saturation = 0;
	hue = kernel ? p->kernel + spread * p->kernel_span : p->user + spread * p->user_span;
	return mix(channel(hue + 120), saturation, light) << 16 | mix(channel(hue), saturation, light) << 8 |
	       mix(channel(hue + 240), saturation, light);
}

static double box_top(const struct layout *l, const struct box *b)
{
	return TOP + LINE * (double)(l->o->icicle ? b->depth : l->depth - b->depth);
}

/* As many characters as fit, or nothing when that would be less than three. */
static void put_label(struct layout *l, const struct box *b, const char *name)
{
	size_t fit = b->width < 3 * CHAR_WIDTH + 6 ? 0 : (size_t)((b->width - 6) / CHAR_WIDTH), n = 0, chars = 0;

	if (!fit)
		return;
	for (; name[n] && chars <= fit; n++)
		chars += ((u8)name[n + 1] & 0xc0) != 0x80;
	bytes_printf(l->out, "<text x=\"%.2f\" y=\"%g\">", b->x + 3, box_top(l, b) + 11.5);
	if (name[n] || chars > fit) { /* too long: two characters give way to dots */
		for (chars = n = 0; name[n] && chars < fit - 2; n++)
			chars += ((u8)name[n + 1] & 0xc0) != 0x80;
		bytes_xml(l->out, name, n);
		bytes_str(l->out, "..");
	} else {
		bytes_xml(l->out, name, n);
	}
	bytes_str(l->out, "</text>");
}

static void put_box(struct layout *l, const struct box *b)
{
	const char *name = b->node ? stacks_name(&l->stacks, b->node) : "all";
	u64 total = stacks_total(&l->stacks, b->node);

	bytes_str(l->out, "<g class=\"f\"><title>");
	bytes_xml(l->out, name, strlen(name));
	bytes_str(l->out, " (");
	if (!l->o->samples)
		bytes_printf(l->out, "%u samples, ", l->stacks.event->tree.nodes.v[b->node].total_samples);
	bytes_dec(l->out, total);
	bytes_printf(l->out, "%s, %.2f%%)</title>", l->o->samples ? " samples" : " in all",
		     l->whole ? 100.0 * (double)total / (double)l->whole : 0);
	bytes_printf(l->out, "<rect x=\"%.2f\" y=\"%g\" width=\"%.2f\" height=\"%d\" fill=\"#%06x\"/>", b->x,
		     box_top(l, b), b->width, LINE - 1, color_of(l, b->node));
	put_label(l, b, name);
	bytes_str(l->out, "</g>\n");
}

static void put_text(struct layout *l, double x, double y, const char *anchor, const char *id, const char *text)
{
	bytes_printf(l->out, "<text id=\"%s\" class=\"ui\" x=\"%g\" y=\"%g\" text-anchor=\"%s\">", id, x, y, anchor);
	bytes_xml(l->out, text, strlen(text));
	bytes_str(l->out, "</text>\n");
}

static double percent(u64 part, u64 whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* The line below the title: what the numbers are worth, as in every report. */
static void put_tally(struct layout *l, double x)
{
	const struct tally *t = &l->stacks.profile->tally;
	const struct str core = l->stacks.profile->simulated;
	char *line = mem_printf(
		"%s%.*s%s%llu samples, %llu lost, %llu throttled; unresolved: %.2f%% of frames, broken: "
		"%.2f%% of user stacks",
		core.len ? "simulated (" : "", (int)core.len, core.p, core.len ? "); " : "",
		(unsigned long long)l->stacks.event->samples, (unsigned long long)tally_lost(t),
		(unsigned long long)t->throttled, percent(t->unresolved, t->frames), percent(t->broken, t->stacks));

	put_text(l, x, 40, "middle", "tally", line);
	free(line);
}

static void put_frame(struct layout *l, u32 width, double height)
{
	const char *event = l->stacks.profile->evlist->events.v[l->stacks.event->event].name;
	char *made_up = mem_printf("Flame graph of %s", event);

	bytes_printf(l->out,
		     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		     "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%u\" height=\"%g\" "
		     "viewBox=\"0 0 %u %g\" data-margin=\"%d\" data-down=\"%d\">\n",
		     width, height, width, height, MARGIN, l->o->icicle);
	bytes_str(l->out, "<style>\n"
			  "text { font: 12px ui-monospace, \"DejaVu Sans Mono\", monospace; fill: #111; }\n"
			  "#title { font-size: 17px; }\n"
			  ".f { cursor: pointer; } .f text { pointer-events: none; }\n"
			  ".f:hover rect { stroke: #000; stroke-width: 0.8; }\n"
			  ".hide { display: none; } .above { opacity: 0.5; } .hit rect { fill: #9b6bff; }\n"
			  "#reset, #find { cursor: pointer; } .off { visibility: hidden; }\n"
			  "</style>\n");
	bytes_printf(l->out, "<rect width=\"100%%\" height=\"100%%\" fill=\"#fbfaf7\"/>\n");
	put_text(l, width / 2.0, 22, "middle", "title", l->o->title ? l->o->title : made_up);
	put_tally(l, width / 2.0);
	put_text(l, MARGIN, 22, "start", "reset", "");
	put_text(l, (double)width - MARGIN, 22, "end", "find", "");
	put_text(l, MARGIN, height - 12, "start", "details", "");
	put_text(l, (double)width - MARGIN, height - 12, "end", "matched", "");
	free(made_up);
}

void view_flamegraph(const struct profile *p, const struct profile_event *e, const struct flamegraph_opts *o,
		     struct bytes *out)
{
	struct layout l = { .o = o, .out = out };
	u32 width = MAX(o->width, 200u);

	stacks_init(&l.stacks, p, e, o->samples);
	if (e->tree.nodes.n) {
		l.whole = stacks_total(&l.stacks, 0);
		l.scale = l.whole ? ((double)width - 2 * MARGIN) / (double)l.whole : 0;
		lay_out(&l, 0, MARGIN, 0);
	}
	put_frame(&l, width, TOP + LINE * ((double)l.depth + 1) + BOTTOM);
	for (size_t i = 0; i < l.boxes.n; i++)
		put_box(&l, &l.boxes.v[i]);
	bytes_str(out, "<script><![CDATA[\n");
	bytes_str(out, flamegraph_script);
	bytes_str(out, "]]></script>\n</svg>\n");
	vec_free(&l.boxes);
	stacks_free(&l.stacks);
}
