/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/functions.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "attrib/place.h"
#include "base/hash.h"

#define THREADS 64u
#define ADDRESSES 8192u
#define JUMPS 1024u
#define LARGEST_CODE (1u << 20) /* of a function that is looked through for jumps */
#define PLT "@plt"
#define PLT_ENTRY 16 /* bytes; the first one has twice as many on aarch64 */

struct answer {
	u64 key;	  /* hash of process and address; 0: empty */
	struct maps maps; /* what was mapped then */
	struct function function;
};

/* May the function of one address jump into that of another? */
struct jump {
	u64 key; /* hash of process and addresses; 0: empty */
	struct maps maps;
	bool may;
};

struct functions {
	const struct procs *procs;
	struct dsos *dsos;
	struct thread_view threads[THREADS];
	struct answer answers[ADDRESSES];
	struct jump jumps[JUMPS];
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

/* A direct jump at p, of which there are n bytes: where to, counted from p. 0: none. */
static s64 jump_at(const u8 *p, u32 n)
{
	s32 far;

	if (n >= 2 && (p[0] == 0xeb || (p[0] & 0xf0) == 0x70))
		return 2 + (signed char)p[1];
	if (n >= 5 && p[0] == 0xe9) {
		memcpy(&far, p + 1, sizeof(far));
		return 5 + (s64)far;
	}
	if (n >= 6 && p[0] == 0x0f && (p[1] & 0xf0) == 0x80) {
		memcpy(&far, p + 2, sizeof(far));
		return 6 + (s64)far;
	}
	return 0;
}

/* Does an address of g's file lead into `in`: does it lie there, or in the PLT's entry for it? */
static bool leads_to(struct functions *f, const struct place *g, u64 addr, const struct place *in)
{
	u32 sym = dsos_symbol_at(f->dsos, g->dso, addr);
	const char *name;
	size_t n;

	if (sym == ID_NONE)
		return false;
	if (g->dso == in->dso && sym == in->sym)
		return true;
	name = dsos_symbol_name(f->dsos, g->dso, sym);
	n = strlen(name);
	return is_plt(name, n) && !strncmp(name, dsos_symbol_name(f->dsos, in->dso, in->sym), n - strlen(PLT));
}

/* Instructions are not told apart: bytes that look like a jump there are taken for one, which is rare. */
static bool code_jumps(struct functions *f, const struct place *g, const struct place *in)
{
	const struct symbol *s = dsos_symbol(f->dsos, g->dso, g->sym);
	u64 start = s->start, size = s->end - s->start;
	bool may = false, other_file = g->dso != in->dso;
	u8 *code;
	u16 machine = 0;
	u32 n;

	if (!size || size > LARGEST_CODE)
		return true;
	code = mem_alloc(size);
	n = dsos_code_at(f->dsos, g->dso, start, code, (u32)size, &machine);
	if (!n || machine != EM_X86_64)
		may = true;
	/* It may run on into what follows it, as parts of hand-written functions do. */
	may |= !other_file && dsos_symbol(f->dsos, in->dso, in->sym)->start - s->end < PLT_ENTRY;
	for (u32 i = 0; i < n && !may; i++) {
		s64 to = jump_at(code + i, n - i);
		u64 addr = start + i + (u64)to;

		/* By the table of addresses that the dynamic linker fills. */
		may = other_file && n - i >= 6 && code[i] == 0xff && code[i + 1] == 0x25;
		if (to && (addr < start || addr >= start + size))
			may |= leads_to(f, g, addr, in);
	}
	free(code);
	return may;
}

/* The PLT leads to a function of that name, or to a variant, whose name has it as a part: __memcpy_avx_unaligned. */
static bool plt_leads_to(const char *plt, const char *name)
{
	size_t n = strlen(plt) - strlen(PLT);
	char part[128];

	for (; n && *plt == '_'; n--)
		plt++;
	n = MIN(n, strcspn(plt, "@"));
	if (n >= sizeof(part))
		return true;
	memcpy(part, plt, n);
	part[n] = 0;
	return strstr(name, part) != NULL;
}

bool function_may_jump(struct functions *f, const struct asker *who, u64 to, u64 in)
{
	const struct thread_view *t = view_of(f, who);
	u64 key = hash_mix(hash_mix(hash_mix(0, who->pid), to), in) | 1;
	struct jump *j = &f->jumps[key / 2 % JUMPS];
	struct place g, h;

	if (j->key == key && j->maps.space == t->maps.space && j->maps.n == t->maps.n)
		return j->may;
	*j = (struct jump){ key, t->maps, true };
	place_find(f->dsos, t, PERF_RECORD_MISC_USER, to, &g);
	place_find(f->dsos, t, PERF_RECORD_MISC_USER, in, &h);
	/* The dynamic linker jumps by addresses that it has worked out. */
	if (g.sym != ID_NONE && h.sym != ID_NONE && !is_linker(f, g.dso) && !is_linker(f, h.dso)) {
		const char *name = dsos_symbol_name(f->dsos, g.dso, g.sym);

		j->may = is_plt(name, strlen(name)) ? plt_leads_to(name, dsos_symbol_name(f->dsos, h.dso, h.sym)) :
						      code_jumps(f, &g, &h);
	}
	return j->may;
}
