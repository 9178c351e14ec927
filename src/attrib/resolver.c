/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/resolver.h"

#include <stdlib.h>
#include <string.h>

#include "attrib/chain.h"
#include "base/hash.h"
#include "base/mem.h"

#define THREAD_CACHE (1u << 10)
#define LEAST_ADDRESSES (1u << 10) /* slots for addresses, and for code */
#define MOST_ADDRESSES (1u << 16)
#define MOST_CODE (1u << 17)
#define SYMBOL_CACHE (1u << 15)
#define AHEAD 16u /* addresses of a chain: what they need comes in for all of them together */

/*
 * frame_1 is the slot's frame + 1. An empty slot is all zeros. The hash spreads what is kept over all slots, so a
 * small recording has few: each page of them is a fault to read it and one to write it.
 */
struct address_slot {
	const struct space *space;
	u64 ip;
	u32 n : 31, caller : 1;
	u32 frame_1;
};

struct code_slot {
	u64 addr;
	u32 key; /* dso << 1 | caller */
	u32 frame_1;
};

struct datum_slot {
	const struct space *space;
	u64 addr;
	u32 n, cpumode;
	u32 frame_1;
};

struct symbol_slot {
	u32 dso, sym;
	u32 frame_1;
};

struct code_cache {
	struct resolver_opts opts; /* that decide what the frames are */
	u32 mask;
	struct code_slot *code;
	struct symbol_slot symbols[SYMBOL_CACHE];
	struct address_slot *addresses; /* MOST_ADDRESSES, for whoever has the cache; NULL: not wanted yet */
};

struct resolver {
	const struct procs *procs;
	struct dsos *dsos;
	struct frames *frames;
	struct resolver_opts opts;
	struct thread_view threads[THREAD_CACHE];
	u32 mask; /* of the slots of addresses */
	struct address_slot *addresses;
	struct datum_slot *data; /* as many; NULL: nobody asked yet */
	struct code_cache *code;
	bool borrowed;					  /* the code cache, and with it the room for addresses */
	u32 nowhere_1[PERF_RECORD_MISC_CPUMODE_MASK + 1]; /* frames + 1, or 0 */
};

static struct code_cache *new_cache(u64 samples, u32 slots)
{
	struct code_cache *c = mem_zalloc(sizeof(*c));

	c->mask = slots - 1;
	c->code = hash_room(samples, slots, sizeof(*c->code));
	return c;
}

struct code_cache *code_cache_new(void)
{
	/* For who looks at few samples at a time. */
	return new_cache(UINT64_MAX - 1, MOST_ADDRESSES);
}

void code_cache_free(struct code_cache *c)
{
	if (c) {
		free(c->code);
		free(c->addresses);
	}
	free(c);
}

static bool same_frames(const struct resolver_opts *a, const struct resolver_opts *b)
{
	return a->by_address == b->by_address && a->functions == b->functions && a->every_address == b->every_address;
}

/* What is in it stays, if it is what this resolver would find. */
static void borrow_cache(struct resolver *r, struct code_cache *c)
{
	size_t size = MOST_ADDRESSES * sizeof(*c->addresses);

	if (!same_frames(&c->opts, &r->opts)) {
		memset(c->code, 0, (c->mask + (size_t)1) * sizeof(*c->code));
		memset(c->symbols, 0, sizeof(c->symbols));
	}
	c->opts = r->opts;
	if (c->addresses)
		memset(c->addresses, 0, size);
	else
		c->addresses = mem_zalloc_used(size);
	r->borrowed = true;
	r->code = c;
	r->addresses = c->addresses;
	r->mask = MOST_ADDRESSES - 1;
}

struct resolver *resolver_new(const struct procs *procs, struct dsos *dsos, struct frames *frames,
			      const struct resolver_opts *opts)
{
	struct resolver *r = mem_zalloc(sizeof(*r));
	u32 slots;

	r->procs = procs;
	r->dsos = dsos;
	r->frames = frames;
	r->opts = *opts;
	if (opts->code) {
		borrow_cache(r, opts->code);
		return r;
	}
	slots = hash_slots(opts->samples, LEAST_ADDRESSES, MOST_ADDRESSES);
	r->mask = slots - 1;
	r->addresses = hash_room(opts->samples, slots, sizeof(*r->addresses));
	r->code = new_cache(opts->samples, hash_slots(opts->samples, LEAST_ADDRESSES, MOST_CODE));
	return r;
}

void resolver_free(struct resolver *r)
{
	if (r)
		free(r->data);
	if (r && !r->borrowed) {
		free(r->addresses);
		code_cache_free(r->code);
	}
	free(r);
}

const struct thread_view *resolver_thread(struct resolver *r, u32 pid, u32 tid, u64 clock)
{
	struct thread_view *t = &r->threads[tid % THREAD_CACHE];

	/* An empty slot has until == 0 and holds for no clock. */
	if (t->tid != tid || t->pid != pid || clock < t->from || clock >= t->until)
		procs_thread_at(r->procs, pid, tid, clock, t);
	return t;
}

/* The frame of a whole symbol. */
static u32 symbol_frame(struct resolver *r, const struct frame *f)
{
	struct symbol_slot *slot = &r->code->symbols[hash_mix(f->sym, f->dso) % SYMBOL_CACHE];

	if (!slot->frame_1 || slot->dso != f->dso || slot->sym != f->sym)
		*slot = (struct symbol_slot){ f->dso, f->sym, frames_intern(r->frames, f) + 1 };
	return slot->frame_1 - 1;
}

/* The line of a call is that of the call, not of the instruction that it returns to. */
static u32 place_frame(struct resolver *r, const struct place *p, bool caller)
{
	struct frame f = { .dso = p->dso, .sym = p->sym, .level = p->level };

	if (p->sym == ID_NONE) {
		f.addr = p->addr - (caller && r->opts.every_address && p->addr);
		if (r->opts.functions)
			(void)dsos_unnamed_function(r->dsos, p->dso, p->addr, &f.addr);
	} else if (r->opts.by_address && (r->opts.every_address || dsos_has_lines(r->dsos, p->dso))) {
		f.addr = p->addr - (caller && p->addr);
	} else {
		return symbol_frame(r, &f);
	}
	return frames_intern(r->frames, &f);
}

/* The frame of an address that lies in a mapping, by way of the code cache. */
static u32 mapped_frame(struct resolver *r, const struct address_lookup *l)
{
	struct place p = { .map = l->map, .dso = l->map->dso, .addr = l->addr, .level = l->level };
	u32 key = p.dso << 1 | l->caller;
	struct code_slot *slot = &r->code->code[l->code];

	if (!slot->frame_1 || slot->addr != p.addr || slot->key != key) {
		p.sym = dsos_symbol_at(r->dsos, p.dso, p.addr);
		*slot = (struct code_slot){ p.addr, key, place_frame(r, &p, l->caller) + 1 };
	}
	return slot->frame_1 - 1;
}

/* Callers outside all mappings, which broken stacks are full of, are one frame per kind of mode, remembered. */
static u32 unmapped_frame(struct resolver *r, u32 cpumode, u64 ip, bool caller)
{
	struct place p = { .addr = caller ? 0 : ip, .sym = ID_NONE, .level = cpumode_level(cpumode) };
	u32 *nowhere_1 = &r->nowhere_1[cpumode & PERF_RECORD_MISC_CPUMODE_MASK];

	if (!caller)
		return place_frame(r, &p, false);
	if (!*nowhere_1)
		*nowhere_1 = place_frame(r, &p, false) + 1;
	return *nowhere_1 - 1;
}

static u32 address_index(const struct resolver *r, const struct maps *maps, u64 ip)
{
	return hash_mix(ip, (uintptr_t)maps->space + maps->n) & r->mask;
}

static const struct maps *maps_of(const struct thread_view *t, u32 cpumode)
{
	return cpumode == PERF_RECORD_MISC_KERNEL ? &t->kernel : &t->maps;
}

void resolver_prefetch(const struct resolver *r, const struct thread_view *t, u32 cpumode, u64 ip)
{
	__builtin_prefetch(&r->addresses[address_index(r, maps_of(t, cpumode), ip)]);
}

void resolver_begin(struct resolver *r, const struct thread_view *t, u32 cpumode, u64 ip, bool caller,
		    struct address_lookup *l)
{
	const struct maps *maps = maps_of(t, cpumode);
	const struct address_slot *slot;

	*l = (struct address_lookup){ .maps = maps, .ip = ip, .level = cpumode_level(cpumode) };
	/* Whether an address is a caller's matters only where lines do. */
	l->caller = caller && r->opts.by_address;
	if (cpumode == PERF_RECORD_MISC_KERNEL || cpumode == PERF_RECORD_MISC_USER) {
		l->address = address_index(r, maps, ip);
		slot = &r->addresses[l->address];
		if (slot->frame_1 && slot->ip == ip && slot->space == maps->space && slot->n == maps->n &&
		    slot->caller == l->caller) {
			l->frame_1 = slot->frame_1;
			return;
		}
		l->map = maps_find(maps, ip);
	}
	if (!l->map) {
		l->frame_1 = unmapped_frame(r, cpumode, ip, caller) + 1;
		return;
	}
	l->addr = vmap_addr(l->map, r->dsos, ip);
	l->code = (u32)hash_mix(l->addr, l->map->dso << 1 | l->caller) & r->code->mask;
	__builtin_prefetch(&r->code->code[l->code]);
}

u32 resolver_end(struct resolver *r, const struct address_lookup *l)
{
	u32 frame;

	if (l->frame_1)
		return l->frame_1 - 1;
	frame = mapped_frame(r, l);
	r->addresses[l->address] = (struct address_slot){ l->maps->space, l->ip, l->maps->n, l->caller, frame + 1 };
	return frame;
}

u32 resolver_frame(struct resolver *r, const struct thread_view *t, u32 cpumode, u64 ip, bool caller)
{
	struct address_lookup l;

	resolver_begin(r, t, cpumode, ip, caller, &l);
	return resolver_end(r, &l);
}

u32 resolver_datum(struct resolver *r, const struct thread_view *t, u32 cpumode, u64 addr)
{
	const struct maps *maps = maps_of(t, cpumode);
	struct datum_slot *slot;
	struct frame f;
	struct place p;

	if (!r->data)
		r->data = mem_zalloc((r->mask + (size_t)1) * sizeof(*r->data));
	slot = &r->data[address_index(r, maps, addr)];
	if (slot->frame_1 && slot->addr == addr && slot->space == maps->space && slot->n == maps->n &&
	    slot->cpumode == cpumode)
		return slot->frame_1 - 1;
	place_find(r->dsos, t, cpumode, addr, &p);
	f = (struct frame){ .dso = p.dso, .sym = p.sym, .level = p.level };
	f.addr = p.sym == ID_NONE ? addr : p.addr;
	*slot = (struct datum_slot){ maps->space, addr, maps->n, cpumode, frames_intern(r->frames, &f) + 1 };
	return slot->frame_1 - 1;
}

bool resolver_knows_symbol(const struct resolver *r, u32 frame)
{
	return frames_get(r->frames, frame)->sym != ID_NONE;
}

u32 resolver_branch_end(struct resolver *r, const struct thread_view *t, u64 addr, bool exact)
{
	u32 cpumode = place_mode(t, addr);
	struct frame f;
	struct place p;

	if (!exact && !r->opts.by_address)
		return resolver_frame(r, t, cpumode, addr, false);
	place_find(r->dsos, t, cpumode, addr, &p);
	f = (struct frame){ .dso = p.dso, .sym = p.sym, .addr = p.addr, .level = p.level };
	if (!exact && p.sym != ID_NONE)
		f.addr = 0;
	return frames_intern(r->frames, &f);
}

/* Several callers outside all mappings in a row say no more than one. Each end of a branch has a frame. */
static bool is_nowhere(const struct resolver *r, u32 frame)
{
	return frame + 1 == r->nowhere_1[PERF_RECORD_MISC_USER] || frame + 1 == r->nowhere_1[PERF_RECORD_MISC_KERNEL];
}

/* What a chain's frames are written to. */
struct frames_out {
	u32 *v, n, max;
	bool callers_only; /* the first address is a caller's already */
};

static void resolve_part(struct resolver *r, const struct thread_view *t, const struct hit *h,
			 const struct chain_part *p, struct frames_out *out)
{
	struct address_lookup ahead[AHEAD];
	u32 exact = p->origin == CHAIN_RECORDED ? h->exact_words : 0, n;

	for (u32 i = p->at; i < p->end && out->n < out->max; i += n) {
		n = MIN(p->end - i, AHEAD);
		for (u32 k = 0; k < n; k++)
			resolver_prefetch(r, t, p->cpumode, u64s_at(p->words, i + k));
		for (u32 k = 0; k < n; k++) {
			bool caller = (out->callers_only || out->n || k) && i + k >= exact;

			resolver_begin(r, t, p->cpumode, u64s_at(p->words, i + k), caller, &ahead[k]);
		}
		for (u32 k = 0; k < n && out->n < out->max; k++) {
			u32 *at = out->v + out->n;

			*at = resolver_end(r, &ahead[k]);
			out->n += !out->n || i + k < exact || at[0] != at[-1] || !is_nowhere(r, *at);
		}
	}
}

static void resolve_chain(struct resolver *r, const struct thread_view *t, const struct hit *h, u32 from,
			  struct frames_out *out)
{
	bool defers = h->e->attr.flags & ATTR_DEFER_CALLCHAIN;
	struct chain_part part;
	struct chain_walk w;

	chain_start(&w, &h->s.chain, from, h->cpumode, defers ? r->opts.deferred : NULL);
	while (out->n < out->max && chain_next(&w, &part))
		resolve_part(r, t, h, &part, out);
}

u32 resolver_stack(struct resolver *r, const struct thread_view *t, const struct hit *h, u32 out[MAX_STACK + 1])
{
	u32 leaf = resolver_frame(r, t, h->cpumode, h->s.ip, false);
	struct frames_out callers = { .v = out + 1, .max = MAX_STACK };
	u32 n;

	resolve_chain(r, t, h, 0, &callers);
	n = callers.n;

	/*
	 * The chain normally starts at the sample's own ip. It does not when only callers in user space were asked for
	 * (the ip goes on top), or when the ip is the precise one of a PMU record (it replaces the imprecise start of
	 * the chain).
	 */
	out[0] = leaf;
	if (n && (out[1] == leaf || frames_get(r->frames, out[1])->level == frames_get(r->frames, leaf)->level)) {
		for (u32 i = 1; i < n; i++)
			out[i] = out[i + 1];
		return n;
	}
	return n + 1;
}

u32 resolver_callers(struct resolver *r, const struct thread_view *t, const struct hit *h, u32 *out)
{
	struct frames_out callers = { .v = out, .max = MAX_STACK - 1, .callers_only = true };

	resolve_chain(r, t, h, 2, &callers);
	return callers.n;
}
