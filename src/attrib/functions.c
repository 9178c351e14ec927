/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/functions.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "attrib/jumps.h"
#include "attrib/place.h"
#include "attrib/thread_start.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "state/entered.h"

#define THREADS 64u
#define ADDRESSES 8192u
#define LARGEST_CODE (256u << 10) /* of a function that is looked through for jumps */
#define ALL_CODE (8u << 20)	  /* of all functions together */
#define LEAST_COST 64u		  /* of a function, in bytes of code */
#define WAYS 16u		  /* functions that a chain of jumps may lead through */
#define PAIRS 4096u
#define LONGEST_NAME 1024u /* that is compared */
#define PLT "@plt"
#define PLT_ENTRY 16 /* bytes; the first one has twice as many on aarch64 */

struct answer {
	u64 key;	  /* hash of process and address; 0: empty */
	struct maps maps; /* what was mapped then */
	struct function function;
};

/* Where a function's jumps lead, out of it. */
struct leads {
	bool plt, anywhere, runs_on;
	u32 n, syms[JUMPS_OUT]; /* of its file, each once */
};

/* May one function jump into another one? */
struct pair {
	u64 key; /* of both functions' DSOs and symbols; 0: empty */
	bool may;
};

/* What was said of a call. */
struct told_call {
	u64 key; /* hash of process, function's address and site; 0: empty */
	struct maps maps;
	enum called called;
};

struct functions {
	const struct procs *procs;
	struct dsos *dsos;
	struct thread_view threads[THREADS];
	struct answer answers[ADDRESSES];
	struct pair pairs[PAIRS];
	struct told_call told_calls[PAIRS];
	struct map code; /* DSO and symbol -> index in leads; each function is looked through once */
	VEC(struct leads) leads;
	u32 code_left; /* bytes that may still be looked through */
};

struct functions *functions_new(const struct procs *procs, struct dsos *dsos)
{
	struct functions *f = mem_zalloc(sizeof(*f));

	f->procs = procs;
	f->dsos = dsos;
	f->code_left = ALL_CODE;
	return f;
}

void functions_free(struct functions *f)
{
	if (!f)
		return;
	map_free(&f->code);
	vec_free(&f->leads);
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

/* --- jumps into other functions --- */

static void add_lead(struct leads *l, u32 sym)
{
	for (u32 i = 0; i < l->n; i++)
		if (l->syms[i] == sym)
			return;
	l->syms[l->n++] = sym;
}

/* Reads a function's code. Where that is not there, or not x86-64's, nobody can tell where it leads. */
static void read_leads(struct functions *f, u32 dso, const struct symbol *s, struct leads *l)
{
	u32 size = (u32)(s->end - s->start), n;
	u8 *code = mem_alloc(size);
	struct jumps j = { .anywhere = true };
	u16 machine = 0;

	n = dsos_code_at(f->dsos, dso, s->start, code, size, &machine);
	if (n == size && machine == EM_X86_64)
		jumps_find(code, n, s->start, &j);
	free(code);
	l->anywhere = j.anywhere;
	l->runs_on = j.runs_on;
	for (u32 i = 0; i < j.n; i++) {
		u32 sym = dsos_symbol_at(f->dsos, dso, j.to[i]);

		if (sym != ID_NONE)
			add_lead(l, sym);
	}
}

/* Valid until the next call. Of a function that is too long, or comes after too many, nothing is kept. */
static const struct leads *leads_of(struct functions *f, u32 dso, u32 sym)
{
	static const struct leads nobody_knows = { .anywhere = true };
	const struct symbol *s = dsos_symbol(f->dsos, dso, sym);
	u64 key = (u64)dso << 32 | sym, cost = s->end - s->start + LEAST_COST;
	u32 at = map_get(&f->code, key);
	struct leads l = { 0 };
	const char *name;

	if (at != ID_NONE)
		return &f->leads.v[at];
	if (s->end <= s->start || s->end - s->start > LARGEST_CODE || cost > f->code_left)
		return &nobody_knows;
	f->code_left -= (u32)cost;
	name = dsos_symbol_name(f->dsos, dso, sym);
	l.plt = is_plt(name, strlen(name));
	if (!l.plt)
		read_leads(f, dso, s, &l);
	map_set(&f->code, key, (u32)f->leads.n);
	vec_push(&f->leads, l);
	return &f->leads.v[f->leads.n - 1];
}

/* Does one of these names begin that of the PLT's entry? */
static bool begins_with(const char *name, size_t n, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (n >= strlen(list[i]) && !memcmp(name, list[i], strlen(list[i])))
			return true;
	return false;
}

/* Functions of memory and strings have variants under each other's names (memcpy is __memmove_avx_unaligned_erms), and
 * call nothing. */
static bool is_of_memory(const char *plt, size_t n, const char *name, size_t size)
{
	static const char *const called[] = { "mem",   "str",	"wcs",	 "wmem",   "stp",   "bcmp",
					      "bcopy", "bzero", "index", "rindex", "rawmem" };
	static const char *const found[] = { "mem", "str", "wcs", "stp", "bzero" };

	if (!begins_with(plt, n, called, ARRAY_LEN(called)))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(found); i++)
		if (memmem(name, size, found[i], strlen(found[i])))
			return true;
	return false;
}

/*
 * An entry of the PLT leads to a function whose name has a part in common with its own. That it is in another file
 * says too little: raise() has a signal's handler run, whose return takes a call away, and the thread goes on in what
 * raise() called as if that entry had led there.
 */
static bool plt_leads_to(struct functions *f, const char *plt, const struct place *in)
{
	const char *name = dsos_symbol_name(f->dsos, in->dso, in->sym);
	size_t n = strnlen(plt, LONGEST_NAME) - strlen(PLT), size = strnlen(name, LONGEST_NAME);

	if (n + strlen(PLT) == LONGEST_NAME)
		return true;
	for (; n && *plt == '_'; n--)
		plt++;
	for (size_t i = 0; i < n; i++)
		if (plt[i] == '@')
			n = i;
	for (; size && *name == '_'; size--)
		name++;
	return memmem(name, size, plt, n) || (size && memmem(plt, n, name, size)) || is_of_memory(plt, n, name, size);
}

static bool follows(struct functions *f, u32 dso, u32 sym, const struct place *in)
{
	return dso == in->dso &&
	       dsos_symbol(f->dsos, dso, in->sym)->start - dsos_symbol(f->dsos, dso, sym)->end < PLT_ENTRY;
}

/* Functions of one file, each once, of which the first was called, and each other one is jumped to from one before. */
struct ways {
	u32 dso, n, sym[WAYS];
};

static bool add_way(struct ways *w, u32 sym)
{
	for (u32 i = 0; i < w->n; i++)
		if (w->sym[i] == sym)
			return true;
	if (w->n == WAYS)
		return false;
	w->sym[w->n++] = sym;
	return true;
}

/* Adds where one function jumps to. True: that is, or may be, `in`. */
static bool follow(struct functions *f, struct ways *w, u32 sym, const struct place *in)
{
	const struct leads *l = leads_of(f, w->dso, sym);

	if (l->plt)
		return plt_leads_to(f, dsos_symbol_name(f->dsos, w->dso, sym), in);
	if (l->anywhere || (l->runs_on && follows(f, w->dso, sym, in)))
		return true;
	for (u32 i = 0; i < l->n; i++)
		if ((w->dso == in->dso && l->syms[i] == in->sym) || !add_way(w, l->syms[i]))
			return true;
	return false;
}

static bool leads_to(struct functions *f, const struct place *from, const struct place *in)
{
	struct ways w = { .dso = from->dso, .n = 1, .sym = { from->sym } };

	for (u32 i = 0; i < w.n; i++)
		if (follow(f, &w, w.sym[i], in))
			return true;
	return false;
}

bool function_may_jump(struct functions *f, const struct asker *who, u64 to, u64 in)
{
	const struct thread_view *t = view_of(f, who);
	struct place g, h;
	struct pair *p;
	u64 key;

	place_find(f->dsos, t, PERF_RECORD_MISC_USER, to, &g);
	place_find(f->dsos, t, PERF_RECORD_MISC_USER, in, &h);
	/* The dynamic linker jumps by addresses that it has worked out. */
	if (g.sym == ID_NONE || h.sym == ID_NONE || is_linker(f, g.dso) || is_linker(f, h.dso))
		return true;
	key = hash_pair((u64)g.dso << 32 | g.sym, (u64)h.dso << 32 | h.sym) | 1;
	p = &f->pairs[key / 2 % PAIRS];
	if (p->key != key)
		*p = (struct pair){ key, leads_to(f, &g, &h) };
	return p->may;
}

/* --- the only call of a function --- */

/*
 * Code in which the C library begins a process or a thread: it calls the function that was given to it (main, what a
 * thread is made for) by its address, and that once.
 */
static bool is_start(struct functions *f, const struct place *at)
{
	static const char *const starts[] = {
		"_start",  "_dl_start", "_dl_sysdep_start", "__libc_start_call_main", "start_thread", "clone",
		"__clone", "clone3",	"__clone3",
	};
	const char *name = dsos_symbol_name(f->dsos, at->dso, at->sym);

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (!strcmp(name, starts[i]))
			return !thread_start_named(name) || thread_start_is(f->dsos, at->dso, at->sym);
	return false;
}

static enum called called_at(struct functions *f, const struct thread_view *t, u64 in, u64 site)
{
	struct ways w = { .n = 1 };
	bool called = false;
	struct place g, h;

	place_find(f->dsos, t, PERF_RECORD_MISC_USER, in, &g);
	place_find(f->dsos, t, PERF_RECORD_MISC_USER, site, &h);
	if (g.sym == ID_NONE || h.sym == ID_NONE)
		return CALLED_UNKNOWN;
	w.sym[0] = g.sym;
	for (u32 i = 0; i < w.n; i++) {
		struct entered e;

		if (!dsos_entered(f->dsos, g.dso, w.sym[i], &e) || (!i && !e.site && is_start(f, &h)))
			return CALLED_UNKNOWN;
		if (e.anywhere || e.several || (e.site && (called || g.dso != h.dso || e.site != h.addr)))
			return CALLED_ELSEWHERE;
		called |= e.site != 0;
		if (e.jumped_from != ID_NONE && !add_way(&w, e.jumped_from))
			return CALLED_ELSEWHERE;
	}
	return called ? CALLED_ONLY_THERE : CALLED_ELSEWHERE;
}

/* False: nobody can tell. */
static bool entered_at(struct functions *f, const struct thread_view *t, u64 addr, struct entered *out)
{
	struct place at;

	place_find(f->dsos, t, PERF_RECORD_MISC_USER, addr, &at);
	return at.sym != ID_NONE && dsos_entered(f->dsos, at.dso, at.sym, out);
}

bool function_comes_back(struct functions *f, const struct asker *who, u64 addr)
{
	struct entered e;

	return entered_at(f, view_of(f, who), addr, &e) && e.comes_back;
}

static bool calls_itself(struct functions *f, const struct thread_view *t, u64 addr)
{
	struct entered e;

	return entered_at(f, t, addr, &e) && e.by_itself;
}

/* What was said, or is to be, if *found is false. site: 0: of calls of itself, for which CALLED_ELSEWHERE stands. */
static struct told_call *told_call(struct functions *f, const struct asker *who, u64 in, u64 site, bool *found)
{
	const struct thread_view *t = view_of(f, who);
	u64 key = hash_mix_by(0, hash_mix_by(0, hash_mix_by(0, 0, who->pid), in), site) | 1;
	struct told_call *c = &f->told_calls[key / 2 % PAIRS];

	*found = c->key == key && c->maps.space == t->maps.space && c->maps.n == t->maps.n;
	if (!*found)
		*c = (struct told_call){ .key = key, .maps = t->maps };
	return c;
}

bool function_calls_itself(struct functions *f, const struct asker *who, u64 addr)
{
	bool found;
	struct told_call *c = told_call(f, who, addr, 0, &found);

	if (!found && calls_itself(f, view_of(f, who), addr))
		c->called = CALLED_ELSEWHERE;
	return c->called == CALLED_ELSEWHERE;
}

enum called function_called_at(struct functions *f, const struct asker *who, u64 in, u64 site)
{
	bool found;
	struct told_call *c = told_call(f, who, in, site, &found);

	if (!found)
		c->called = called_at(f, view_of(f, who), in, site);
	return c->called;
}
