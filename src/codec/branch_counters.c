/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/branch_counters.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64
#define LETTERS 26

/* Of the first PMU that says so: no machine has two kinds. */
static u32 width_of(const struct features *f)
{
	for (size_t i = 0; i < f->caps.n; i++)
		for (u32 k = 0; k < f->caps.v[i].nr; k++)
			if (!strcmp(f->caps.v[i].names[k], "branch_counter_width"))
				return (u32)MIN(strtoul(f->caps.v[i].values[k], NULL, 10), (unsigned long)WORD_BITS);
	return 0;
}

/* Of the group that ends with counter `last`; members of one that stand apart from each other are taken for two. */
static void close_group(struct branch_counters *c, u32 last)
{
	u32 first = last - c->v.v[last].nth, room = WORD_BITS / MAX(c->width, 1u);

	for (u32 i = first; i <= last; i++)
		c->groups.v[c->v.v[i].event] = (struct branch_counter_group){ first, MIN(last - first + 1, room) };
}

void branch_counters_init(struct branch_counters *c, const struct evlist *events, const struct features *f)
{
	*c = (struct branch_counters){ .width = width_of(f) };
	for (u32 i = 0; i < events->events.n; i++) {
		const struct event *e = &events->events.v[i];
		const struct branch_counter *before = c->v.n ? &c->v.v[c->v.n - 1] : NULL;
		u32 nth = before && before->leader == e->leader ? before->nth + 1 : 0;

		vec_push(&c->groups, (struct branch_counter_group){ 0 });
		if (e->attr.branch_sample_type & BRANCH_COUNTERS)
			vec_push(&c->v, (struct branch_counter){ i, e->leader, nth });
	}
	for (u32 i = 0; i < c->v.n; i++)
		if (i + 1 == c->v.n || !c->v.v[i + 1].nth)
			close_group(c, i);
}

void branch_counters_free(struct branch_counters *c)
{
	vec_free(&c->v);
	vec_free(&c->groups);
}

u32 branch_counters_of(const struct branch_counters *c, u32 event, u32 *n)
{
	const struct branch_counter_group *g = &c->groups.v[event];

	*n = g->n;
	return g->first;
}

u64 branch_counter_most(const struct branch_counters *c)
{
	return c->width >= WORD_BITS ? UINT64_MAX : (1ull << c->width) - 1;
}

u64 branch_counter_value(const struct branch_counters *c, u32 counter, u64 word)
{
	u64 shift = (u64)c->v.v[counter].nth * c->width;

	if (!c->width || shift + c->width > WORD_BITS)
		return UINT64_MAX;
	return word >> shift & branch_counter_most(c);
}

void branch_counter_name(u32 counter, struct bytes *out)
{
	bytes_char(out, (char)('A' + counter % LETTERS));
	if (counter >= LETTERS)
		bytes_dec(out, counter / LETTERS);
}

void branch_counters_legend(const struct branch_counters *c, const struct evlist *events, struct bytes *out)
{
	bytes_str(out, "# Branch counter abbr list:\n");
	for (u32 i = 0; i < c->v.n; i++) {
		const char *name = events->events.v[c->v.v[i].event].name;

		bytes_str(out, "# ");
		bytes_plain(out, name ? name : "[unknown]", strlen(name ? name : "[unknown]"));
		bytes_str(out, " = ");
		branch_counter_name(i, out);
		bytes_char(out, '\n');
	}
	bytes_str(out, "# '-' No event occurs\n"
		       "# '+' Event occurrences may be lost due to branch counter saturated\n");
	if (!c->width)
		bytes_str(out, "# The recording does not say how many bits a counter has: words are shown as they "
			       "are\n");
}
