/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/autofdo.h"

#include <stdlib.h>
#include <string.h>

/* Everything in the order in which it is written, by index. */
struct order {
	const struct sample_profile *p;
	u32 *functions, *bodies, *targets;
};

static int compare(u64 x, u64 y)
{
	return x < y ? -1 : x > y;
}

static int compare_places(const struct profile_place *x, const struct profile_place *y)
{
	return x->line != y->line ? compare(x->line, y->line) : compare(x->discriminator, y->discriminator);
}

static int compare_names(const struct sample_profile *p, u32 x, u32 y)
{
	return x == y ? 0 : strcmp(strtab_get(&p->names, x), strtab_get(&p->names, y));
}

/* Those of one parent stand together, by place and name; outer ones come last, by total. */
static int by_parent(const void *a, const void *b, void *ctx)
{
	const struct sample_profile *p = ctx;
	const struct profile_function *x = &p->functions.v[*(const u32 *)a], *y = &p->functions.v[*(const u32 *)b];
	int is = compare(x->parent, y->parent);

	if (!is)
		is = x->parent == ID_NONE ? compare(y->total, x->total) : compare_places(&x->at, &y->at);
	return is ? is : compare_names(p, x->name, y->name);
}

static int by_function(const void *a, const void *b, void *ctx)
{
	const struct sample_profile *p = ctx;
	const struct profile_body *x = &p->bodies.v[*(const u32 *)a], *y = &p->bodies.v[*(const u32 *)b];

	return x->function != y->function ? compare(x->function, y->function) : compare_places(&x->at, &y->at);
}

static int by_body(const void *a, const void *b, void *ctx)
{
	const struct sample_profile *p = ctx;
	const struct profile_target *x = &p->targets.v[*(const u32 *)a], *y = &p->targets.v[*(const u32 *)b];

	if (x->body != y->body)
		return compare(x->body, y->body);
	return x->count != y->count ? compare(y->count, x->count) : compare_names(p, x->name, y->name);
}

static u32 *in_order(const struct sample_profile *p, size_t n, int (*by)(const void *, const void *, void *))
{
	u32 *v = mem_alloc((n + 1) * sizeof(*v));

	for (u32 i = 0; i < n; i++)
		v[i] = i;
	qsort_r(v, n, sizeof(*v), by, (void *)p);
	return v;
}

/* The first index for which what it belongs to is not below `whose`. */
#define FIRST_OF(order, n, things, field, whose, first)                                                               \
	do {                                                                                                          \
		size_t high_ = (n);                                                                                   \
		for ((first) = 0; (first) < high_;) {                                                                 \
			size_t middle_ = (first) + (high_ - (first)) / 2;                                             \
			if ((things)[(order)[middle_]].field < (whose))                                               \
				(first) = middle_ + 1;                                                                \
			else                                                                                          \
				high_ = middle_;                                                                      \
		}                                                                                                     \
	} while (0)

static void put_place(const struct profile_place *at, int indent, struct bytes *out)
{
	bytes_repeat(out, ' ', indent);
	bytes_dec(out, at->line);
	if (at->discriminator) {
		bytes_char(out, '.');
		bytes_dec(out, at->discriminator);
	}
	bytes_str(out, ": ");
}

static void put_name_count(const struct sample_profile *p, u32 name, u64 count, struct bytes *out)
{
	bytes_str(out, strtab_get(&p->names, name));
	bytes_char(out, ':');
	bytes_dec(out, count);
}

static void put_bodies(const struct order *o, u32 function, int indent, struct bytes *out)
{
	const struct sample_profile *p = o->p;
	size_t i, k;

	FIRST_OF(o->bodies, p->bodies.n, p->bodies.v, function, function, i);
	for (; i < p->bodies.n && p->bodies.v[o->bodies[i]].function == function; i++) {
		const struct profile_body *b = &p->bodies.v[o->bodies[i]];

		put_place(&b->at, indent, out);
		bytes_dec(out, b->count);
		FIRST_OF(o->targets, p->targets.n, p->targets.v, body, o->bodies[i], k);
		for (; k < p->targets.n && p->targets.v[o->targets[k]].body == o->bodies[i]; k++) {
			const struct profile_target *t = &p->targets.v[o->targets[k]];

			bytes_char(out, ' ');
			put_name_count(p, t->name, t->count, out);
		}
		bytes_char(out, '\n');
	}
}

/* As deep as calls are inlined, of which DWARF readers limit the number. */
static void put_function(const struct order *o, u32 function, int indent, struct bytes *out)
{
	const struct sample_profile *p = o->p;
	const struct profile_function *f = &p->functions.v[function];
	size_t i;

	put_name_count(p, f->name, f->total, out);
	if (f->parent == ID_NONE) {
		bytes_char(out, ':');
		bytes_dec(out, f->head);
	}
	bytes_char(out, '\n');
	put_bodies(o, function, indent + 1, out);
	FIRST_OF(o->functions, p->functions.n, p->functions.v, parent, function, i);
	for (; i < p->functions.n && p->functions.v[o->functions[i]].parent == function; i++) {
		put_place(&p->functions.v[o->functions[i]].at, indent + 1, out);
		put_function(o, o->functions[i], indent + 1, out);
	}
}

void view_autofdo(const struct sample_profile *p, struct bytes *out)
{
	struct order o = { p, in_order(p, p->functions.n, by_parent), in_order(p, p->bodies.n, by_function),
			   in_order(p, p->targets.n, by_body) };
	size_t i;

	FIRST_OF(o.functions, p->functions.n, p->functions.v, parent, ID_NONE, i);
	for (; i < p->functions.n; i++)
		put_function(&o, o.functions[i], 0, out);
	free(o.functions);
	free(o.bodies);
	free(o.targets);
}
