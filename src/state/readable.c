/* SPDX-License-Identifier: Apache-2.0 */
#include "state/readable.h"

#include <stdlib.h>
#include <string.h>

#include "state/apart.h"
#include "state/demangle.h"
#include "state/symtab.h"

#define MADE_FREE (4u << 20) /* for nothing */
#define MADE_TIMES 32	     /* for each byte of linked names */

u64 readable_most(u64 names)
{
	return MADE_FREE + names * MADE_TIMES;
}

/* A question in the making. */
struct question {
	struct bytes names, reply;
	u32 ids[APART_BATCH], n; /* of symbols */
};

static void question_free(struct question *q)
{
	bytes_free(&q->names);
	bytes_free(&q->reply);
}

static bool has_room(const struct question *q, size_t len)
{
	return q->n < APART_BATCH && q->names.len + len < APART_NAMES_BYTES;
}

static void add(struct question *q, u32 id, const char *name, size_t len)
{
	q->ids[q->n++] = id;
	bytes_put(&q->names, name, len + 1);
}

/* A name of which nothing readable came may have cost as much as the longest. */
static u64 cost(const char *shown)
{
	return *shown ? strlen(shown) : DEMANGLE_LONGEST;
}

/* --- of a table that is there --- */

void readable_init(struct readable *r, struct name_maker *names, linked_name_of *linked, u32 n, u64 most)
{
	*r = (struct readable){ .names = names, .linked = linked, .n = n, .left = most };
	if (names)
		r->found = mem_zalloc((n / 64 + 1) * sizeof(*r->found));
	r->seen = names ? mem_zalloc((n / 64 + 1) * sizeof(*r->seen)) : NULL;
	pthread_mutex_init(&r->lock, NULL);
}

void readable_keep(const struct readable *r)
{
	if (r->names)
		r->names->keep(r->names);
}

void readable_free(struct readable *r)
{
	if (r->names)
		r->names->free(r->names);
	pthread_mutex_destroy(&r->lock);
	arena_free(&r->arena);
	free(r->found);
	free(r->seen);
	free(r->shown);
}

static void set_shown(struct readable *r, u32 sym, const char *name)
{
	__atomic_store_n(&r->shown[sym], name, __ATOMIC_RELEASE);
}

/* Sets what is known without asking. */
static bool settle(struct readable *r, const char *linked, u32 sym)
{
	const char *kept;

	if (!demangle_is_mangled(linked)) {
		set_shown(r, sym, "");
		return true;
	}
	kept = r->names->kept(r->names, sym);
	if (!kept && r->left)
		return false;
	set_shown(r, sym, kept ? kept : "");
	return true;
}

/* Others that were found go along, beginning behind sym. */
static void add_found(struct readable *r, const struct symtab *t, u32 sym, struct question *q)
{
	u32 words = r->n / 64 + 1;

	for (u32 k = 0; k <= words; k++) {
		u32 word = (sym / 64 + k) % words;
		u64 bits = __atomic_load_n(&r->found[word], __ATOMIC_RELAXED) & ~r->seen[word];

		for (; bits; bits &= bits - 1) {
			u32 other = word * 64 + (u32)__builtin_ctzll(bits);
			const char *linked;
			size_t len;

			if (!r->shown[other] && other != sym && !settle(r, linked = r->linked(t, other), other)) {
				len = strlen(linked);
				if (!has_room(q, len))
					return;
				add(q, other, linked, len);
			}
			r->seen[word] |= bits & -bits;
		}
	}
}

/* Asked for, all that stand in q; when nobody tells, or nothing is left, they are as linked. */
static void ask(struct readable *r, struct question *q)
{
	bool good = r->names->ask(r->names, &q->names, q->ids, &q->reply);
	const char *p = (const char *)q->reply.p;

	for (u32 i = 0; i < q->n; i++) {
		size_t len = good ? strlen(p) : 0;

		set_shown(r, q->ids[i], len && r->left ? arena_strndup(&r->arena, p, len) : "");
		if (!good)
			continue;
		r->left -= MIN(r->left, cost(p));
		p += len + 1;
	}
}

static const char *make_name(struct readable *r, const struct symtab *t, u32 sym)
{
	const char *linked = r->linked(t, sym);
	struct question q = { .n = 0 };

	if (!r->shown)
		__atomic_store_n(&r->shown, mem_zalloc(sizeof(*r->shown) * r->n), __ATOMIC_RELEASE);
	if (!r->shown[sym] && !settle(r, linked, sym)) {
		add(&q, sym, linked, strlen(linked));
		add_found(r, t, sym, &q);
		ask(r, &q);
		question_free(&q);
	}
	return r->shown[sym];
}

const char *readable_name(struct readable *r, const struct symtab *t, u32 sym)
{
	const char **shown = __atomic_load_n(&r->shown, __ATOMIC_ACQUIRE);
	const char *name = shown ? __atomic_load_n(&shown[sym], __ATOMIC_ACQUIRE) : NULL;

	if (!r->names)
		return NULL;
	if (!name) {
		pthread_mutex_lock(&r->lock);
		name = make_name(r, t, sym);
		pthread_mutex_unlock(&r->lock);
	}
	return *name ? name : NULL;
}

/* --- of one that is being made --- */

/* False: no more is to be asked. */
static bool ask_aliases(struct aliases *a, const struct symtab_build *b, struct question *q, u64 *left)
{
	bool good = q->n && b->readable->ask(b->readable, &q->names, NULL, &q->reply);
	const char *p = (const char *)q->reply.p;

	for (u32 i = 0; good && *left && i < q->n; i++, p += strlen(p) + 1) {
		*left -= MIN(*left, cost(p));
		if (!*p)
			continue;
		a->at[q->ids[i]] = (u32)a->text.len + 1;
		bytes_put(&a->text, p, strlen(p) + 1);
	}
	q->n = 0;
	q->names.len = 0;
	return good && *left && a->text.len < UINT32_MAX / 2;
}

/* Symbols of one address, of each kind of name the first one. */
#define MOST_KINDS 4u

struct kinds {
	u32 ids[MOST_KINDS], n;
};

static const char *linked_name(const struct symtab_build *b, u32 id)
{
	return (const char *)b->names.p + b->syms.v[id].name;
}

/*
 * A constructor and a destructor have several names, "C1" and "C2" or "D0" to "D2", of one readable name: most names
 * of C++ that share an address are such. Should these letters be part of something else, the names are as long as each
 * other all the same, and what they begin with is too, which is what decides. But for one prefix (better_name).
 */
static bool same_kind(const char *a, const char *b)
{
	const char *from = a;

	for (; *a == *b || (a > from && (a[-1] == 'C' || a[-1] == 'D') && *a >= '0' && *a <= '5' && *b >= '0' &&
			    *b <= '5' && (a[1] == 'E' || a[1] == 'I'));
	     a++, b++)
		if (!*a)
			return !strstr(from, "SyS");
	return false;
}

/* The symbol whose readable name this one has, too, or itself. */
static u32 kind_of(struct kinds *k, const struct symtab_build *b, u32 id)
{
	const char *name = linked_name(b, id);

	for (u32 i = 0; i < k->n; i++)
		if (same_kind(linked_name(b, k->ids[i]), name))
			return k->ids[i];
	if (k->n < MOST_KINDS)
		k->ids[k->n++] = id;
	return id;
}

/* Of n symbols at one address. False: no more is to be asked. */
static bool read_group(struct aliases *a, const struct symtab_build *b, const u32 *ids, size_t n, struct question *q,
		       u64 *left)
{
	struct kinds kinds = { .n = 0 };
	bool more = true;

	for (size_t i = 0; i < n && kinds.n < 2; i++)
		(void)kind_of(&kinds, b, ids[i]);
	if (kinds.n < 2)
		return true;
	kinds.n = 0;
	for (size_t i = 0; i < n && more; i++) {
		const char *name = linked_name(b, ids[i]);
		u32 kind = kind_of(&kinds, b, ids[i]);
		size_t len = strlen(name);

		if (!demangle_is_mangled(name))
			continue;
		if (!a->at)
			a->at = mem_zalloc(b->syms.n * sizeof(*a->at));
		if (kind != ids[i] && kind < ALIASES_AS) {
			a->at[ids[i]] = ALIASES_AS | kind;
			continue;
		}
		if (!has_room(q, len))
			more = ask_aliases(a, b, q, left);
		add(q, ids[i], name, len);
	}
	return more;
}

void aliases_read(struct aliases *a, const struct symtab_build *b, const u32 *ids, size_t n)
{
	u64 left = readable_most(b->names.len);
	struct question q = { .n = 0 };
	bool more = true;
	size_t end;

	for (size_t i = 0; i < n && more; i = end) {
		for (end = i + 1; end < n && b->syms.v[ids[end]].start == b->syms.v[ids[i]].start;)
			end++;
		if (end - i > 1)
			more = read_group(a, b, ids + i, end - i, &q, &left);
	}
	if (more)
		(void)ask_aliases(a, b, &q, &left);
	question_free(&q);
}

void aliases_free(struct aliases *a)
{
	free(a->at);
	bytes_free(&a->text);
}
