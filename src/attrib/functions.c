/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/functions.h"

#include <stdlib.h>
#include <string.h>

#include "attrib/place.h"
#include "base/hash.h"

#define THREADS 64u
#define ADDRESSES 8192u
#define PLT "@plt"

struct answer {
	u64 key;	  /* hash of process and address; 0: empty */
	struct maps maps; /* what was mapped then */
	struct function function;
};

struct functions {
	const struct procs *procs;
	struct dsos *dsos;
	struct thread_view threads[THREADS];
	struct answer answers[ADDRESSES];
};

struct functions *functions_new(const struct procs *procs, struct dsos *dsos)
{
	struct functions *f = mem_zalloc(sizeof(*f));

	f->procs = procs;
	f->dsos = dsos;
	return f;
}

void functions_free(struct functions *f)
{
	free(f);
}

static const struct thread_view *view_of(struct functions *f, const struct asker *who)
{
	struct thread_view *t = &f->threads[who->tid % THREADS];

	/* An empty slot has until == 0 and holds for no clock. */
	if (t->tid != who->tid || t->pid != who->pid || who->clock < t->from || who->clock >= t->until)
		procs_thread_at(f->procs, who->pid, who->tid, who->clock, t);
	return t;
}

struct maps functions_maps(struct functions *f, const struct asker *who)
{
	return view_of(f, who)->maps;
}

static struct function look_up(struct functions *f, const struct thread_view *t, u64 addr)
{
	struct function found = { 0 };
	const char *name;
	struct place at;
	u64 start;
	size_t n;

	place_find(f->dsos, t, PERF_RECORD_MISC_USER, addr, &at);
	found.dso = at.dso;
	if (at.sym == ID_NONE) {
		if (at.map && dsos_unnamed_function(f->dsos, at.dso, at.addr, &start))
			found.name = found.entry = hash_finish(hash_finish(at.dso) ^ start) | 1;
		return found;
	}
	found.named = true;
	name = dsos_symbol_name(f->dsos, at.dso, at.sym);
	n = strlen(name);
	if (n > strlen(PLT) && !strcmp(name + n - strlen(PLT), PLT))
		n -= strlen(PLT);
	else
		found.entry = hash_finish(((u64)at.dso << 32) + at.sym) | 1;
	found.name = hash_stable(name, n) | 1;
	return found;
}

struct function function_at(struct functions *f, const struct asker *who, u64 addr)
{
	const struct thread_view *t = view_of(f, who);
	u64 key = hash_mix_by(0, hash_mix_by(0, 0, who->pid), addr) | 1;
	struct answer *a = &f->answers[key / 2 % ADDRESSES];

	if (a->key != key || a->maps.space != t->maps.space || a->maps.n != t->maps.n)
		*a = (struct answer){ key, t->maps, look_up(f, t, addr) };
	return a->function;
}
