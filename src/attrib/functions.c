/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/functions.h"

#include <stdlib.h>
#include <string.h>

#include "attrib/place.h"
#include "base/hash.h"

#define THREADS 64u
#define ADDRESSES 8192u
#define PLT "@plt"
#define PLT_ENTRY 16 /* bytes; the first one has twice as many on aarch64 */

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

static bool is_plt(const char *name, size_t n)
{
	return n > strlen(PLT) && !strcmp(name + n - strlen(PLT), PLT);
}

/* What the file says of the PLT is true of all of it, and its first entry has no name: that is where the others go
 * until they are bound, and belongs to none of them. */
static bool begins_plt(struct functions *f, u32 dso, u64 start)
{
	for (u32 i = 1; i <= 2; i++) {
		u32 sym = dsos_symbol_at(f->dsos, dso, start + (u64)i * PLT_ENTRY);
		const char *name = sym == ID_NONE ? "" : dsos_symbol_name(f->dsos, dso, sym);

		if (is_plt(name, strlen(name)))
			return true;
	}
	return false;
}

static bool is_linker(struct functions *f, u32 dso)
{
	const char *name = dsos_at(f->dsos, dso)->short_name;

	return !strncmp(name, "ld-", 3) || !strncmp(name, "ld.so", 5);
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
		found.binds = at.map && is_linker(f, at.dso);
		if (at.map && dsos_unnamed_function(f->dsos, at.dso, at.addr, &start) && !begins_plt(f, at.dso, start))
			found.name = found.entry = hash_finish(hash_finish(at.dso) ^ start) | 1;
		return found;
	}
	found.named = true;
	name = dsos_symbol_name(f->dsos, at.dso, at.sym);
	n = strlen(name);
	if (is_plt(name, n))
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
