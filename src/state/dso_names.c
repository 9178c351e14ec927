/* SPDX-License-Identifier: Apache-2.0 */
#include "state/dso_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "state/apart.h"
#include "state/dso_answers.h"
#include "state/dso_table.h"
#include "state/readable.h"

struct dso_names {
	struct name_maker maker; /* first */
	struct dsos *d;
	const struct dso_slot *s;
	pthread_mutex_t lock;
	struct bytes key;	 /* empty: nothing is kept */
	struct answers *answers; /* a frame of each symbol, with its readable name; NULL: nobody asked for one */
	bool failed;
};

_Static_assert(offsetof(struct dso_names, maker) == 0, "dso_names_of casts");

struct dso_names *dso_names_of(struct name_maker *m)
{
	return (struct dso_names *)m;
}

struct name_maker *dso_names_maker(struct dso_names *n)
{
	return n ? &n->maker : NULL;
}

static const char *maker_kept(struct name_maker *m, u32 sym)
{
	return dso_names_kept(dso_names_of(m), sym);
}

static bool maker_ask(struct name_maker *m, const struct bytes *names, const u32 *syms, struct bytes *reply)
{
	return dso_names_ask(dso_names_of(m), names, syms, reply);
}

static void maker_keep(struct name_maker *m)
{
	dso_names_keep(dso_names_of(m));
}

static void maker_free(struct name_maker *m)
{
	dso_names_free(dso_names_of(m));
}

struct dso_names *dso_names_new(struct dsos *d, const struct dso_slot *s)
{
	struct dso_names *n = mem_zalloc(sizeof(*n));

	n->maker = (struct name_maker){ maker_kept, maker_ask, maker_keep, maker_free };
	n->d = d;
	n->s = s;
	pthread_mutex_init(&n->lock, NULL);
	return n;
}

void dso_names_free(struct dso_names *n)
{
	if (!n)
		return;
	answers_free(n->answers, n->d->cache);
	bytes_free(&n->key);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

void dso_names_keep(struct dso_names *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	answers_keep(n->answers, n->d->cache);
	pthread_mutex_unlock(&n->lock);
}

void dso_names_key(struct dso_names *n, const struct bytes *key)
{
	if (!n->d->cache || !key->len)
		return;
	bytes_str(&n->key, "names of ");
	bytes_put(&n->key, key->p, key->len);
}

/* With the lock held. */
static struct answers *get_answers(struct dso_names *n)
{
	if (!n->answers)
		n->answers = n->key.len ? answers_new(n->d->cache, &n->key) : answers_new(NULL, NULL);
	return n->answers;
}

const char *dso_names_kept(struct dso_names *n, u32 sym)
{
	struct source_frame f = { 0 };
	u32 nr = 0;
	bool there;

	pthread_mutex_lock(&n->lock);
	there = answers_find(get_answers(n), sym, &f, 1, &nr) && nr && f.function;
	pthread_mutex_unlock(&n->lock);
	return there ? f.function : NULL;
}

static void keep(struct dso_names *n, const u32 *syms, const struct bytes *reply)
{
	const char *p = (const char *)reply->p, *end = p + reply->len;

	for (; p < end; p += strlen(p) + 1) {
		struct source_frame f = { .function = p };

		answers_add(get_answers(n), *syms++, &f, 1);
	}
}

/* Of the file that the names are from, as long as it is not replaced. */
static u64 identity(const struct dso_slot *s)
{
	const struct dso *dso = &s->pub;
	u64 file = hash_pair(hash_bytes(dso->path, strlen(dso->path)), s->mount_ns);

	return hash_pair(file, hash_pair(dso->pid, hash_bytes(dso->build_id, dso->build_id_size)));
}

bool dso_names_ask(struct dso_names *n, const struct bytes *names, const u32 *syms, struct bytes *reply)
{
	const char *why = "there is no process that would read them";
	int err = ERR_LIMIT;

	pthread_mutex_lock(&n->lock);
	if (!n->failed) {
		struct apart *a = n->d->names_apart ? n->d->names_apart : dsos_get_parser(n->d);

		err = a ? apart_names(a, identity(n->s), names, reply, &why) : ERR_LIMIT;
		n->failed = err < 0;
		if (n->failed && why)
			(void)notify_at(n->d->notify, NOTE_WARNING, ERR_LIMIT, n->s->pub.path, NO_OFFSET,
					"names of it are shown as linked: %s", why);
	}
	if (!err && syms) {
		keep(n, syms, reply);
		atomic_fetch_add_explicit(&n->d->names_asked, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&n->lock);
	return !err;
}

u32 dsos_names_asked(const struct dsos *d)
{
	return atomic_load_explicit(&d->names_asked, memory_order_relaxed);
}

bool dso_names_failed(struct dso_names *n)
{
	bool failed;

	pthread_mutex_lock(&n->lock);
	failed = n->failed;
	pthread_mutex_unlock(&n->lock);
	return failed;
}
