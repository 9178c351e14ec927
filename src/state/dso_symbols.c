/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol tables of DSOs: read when somebody asks, and anew when what the cache had of one is damaged. */
#include "state/dso_table.h"

struct symtab *dso_get_table(struct dsos *d, u32 dso)
{
	struct dso_slot *s = d->slots.v[dso];
	struct symtab *t = __atomic_load_n(&s->pub.symtab, __ATOMIC_ACQUIRE);

	if (LIKELY(t != NULL))
		return t;
	pthread_mutex_lock(&s->lock);
	t = s->pub.symtab;
	if (!t) {
		t = dso_load(d, s);
		__atomic_store_n(&s->whose, s->lender ? s->lender : s, __ATOMIC_RELEASE);
		__atomic_store_n(&s->pub.symtab, t, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&s->lock);
	return t;
}

/* The slot's table, as dso_load makes it without the cache, if its source is what it was: numbers of symbols that were
 * given have to hold. Else `old`, in which nothing more is found where it is damaged. With the lock. */
static struct symtab *load_again(struct dsos *d, struct dso_slot *s, struct symtab *old)
{
	u64 made_from = s->made_from;
	struct symtab *t;

	s->damaged = old;
	t = dso_load(d, s);
	if (s->lender) {
		s->lender = NULL; /* another file is there now, which somebody else has */
		return old;
	}
	if (s->made_from == made_from && symtab_count(t) == symtab_count(old))
		return t;
	symtab_free(t);
	return old;
}

/* Names that were given stay where they are. s is loaded; its lender is not asked for, because load_again() sets that
 * for a while. */
static struct symtab *made_anew(struct dsos *d, struct dso_slot *s)
{
	struct dso_slot *whose = __atomic_load_n(&s->whose, __ATOMIC_ACQUIRE);
	struct symtab *t;

	if (whose != s) {
		t = made_anew(d, whose);
		__atomic_store_n(&s->pub.symtab, t, __ATOMIC_RELEASE);
		return t;
	}
	pthread_mutex_lock(&s->lock);
	t = s->pub.symtab;
	if (!s->damaged) {
		t = load_again(d, s, t);
		__atomic_store_n(&s->pub.symtab, t, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&s->lock);
	return t;
}

/* A lender stays one: only slots without one are loaded again, and they get none then (load_again). So the lock is
 * needed only to wait for who loads it right now. */
struct dso_slot *dso_slot_of_file(const struct dsos *d, u32 dso)
{
	struct dso_slot *s = d->slots.v[dso], *whose = __atomic_load_n(&s->whose, __ATOMIC_ACQUIRE);

	if (LIKELY(whose != NULL))
		return whose;
	pthread_mutex_lock(&s->lock);
	whose = s->lender;
	pthread_mutex_unlock(&s->lock);
	return whose ? whose : s;
}

u32 dsos_symbol_at(struct dsos *d, u32 dso, u64 addr)
{
	u32 sym = symtab_find(dso_get_table(d, dso), addr);
	struct dso_slot *s = d->slots.v[dso];

	if (sym == STORED_DAMAGED)
		sym = symtab_find(made_anew(d, s), addr);
	if (sym == STORED_DAMAGED)
		sym = ID_NONE;
	if (sym == ID_NONE && !__atomic_load_n(&s->has_unnamed, __ATOMIC_RELAXED))
		__atomic_store_n(&s->has_unnamed, true, __ATOMIC_RELAXED);
	return sym;
}

const struct symbol *dsos_symbol(const struct dsos *d, u32 dso, u32 sym)
{
	return symtab_at(__atomic_load_n(&d->slots.v[dso]->pub.symtab, __ATOMIC_ACQUIRE), sym);
}

const char *dsos_symbol_name(struct dsos *d, u32 dso, u32 sym)
{
	return symtab_shown_name(__atomic_load_n(&d->slots.v[dso]->pub.symtab, __ATOMIC_ACQUIRE), sym);
}
