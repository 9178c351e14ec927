/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/equal_operations.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/set.h"
#include "codec/perf_abi.h"
#include "pass/feed_aux.h"

#define WAYS 8		     /* slots of a set */
#define WORDS 8		     /* of a record; longer ones are not counted */
#define LEAST_SETS (1u << 4) /* powers of two */
#define MOST_SETS (1u << 12)
#define STAYS 64u
#define MOST_TIMES (1u << 30) /* trees count samples in 32 bits */

/* What holds for a thread for some time: operations of equal owners can be equal. There is no padding, so owners are
 * compared as bytes. */
struct owner {
	u64 midr;
	const struct space *maps, *kernel;
	u32 nr_maps, nr_kernel;
	u32 pid, tid, cpu; /* 0 where only what holds for them matters */
	u32 comm, cgroup_ns, activity;
};
_Static_assert(sizeof(struct owner) == 3 * 8 + 8 * 4, "no padding");

/* One that is the owner, and when. */
struct instance {
	struct owner owner;
	u32 pid, tid, cpu;
	u64 clock;
};

/* A thread on a CPU is of the same owner for that long. */
struct stay {
	u64 from, until; /* 0: empty, as it holds for no clock */
	u32 pid, tid, cpu, activity;
	u32 owner;
};

/* What matters of the records of a shape. */
struct shape_use {
	bool counted; /* else its records are too long */
	bool timed;   /* its time is known */
	bool says_tid;
	bool always; /* each is a sample of some event, */
	u64 events;  /* or those are that have one of these events */
	u64 mask[WORDS];
};

struct equal {
	u64 n, first, last; /* times */
	u64 offset;	    /* of the first, in source.data */
	u32 owner, shape;
	u64 words[WORDS]; /* the bits that matter */
};

struct equal_operations {
	const struct procs *procs;
	struct operation_wants wants;
	u32 nr_uses;
	struct shape_use uses[SPE_SHAPES]; /* by the number of the feed's shape */
	struct stay stays[STAYS];
	VEC(struct instance) owners;
	struct set owner_ids;
	u32 shift; /* a hash's bits above it are the number of its set */
	u32 turn;  /* which of a full set goes next */
	u32 *tags; /* by slot: some bits of the hash; 0: empty */
	struct equal *slots;
};

/* A record begins where its headers do, so its size tells how many can be different. */
static u32 sets_of(u64 bytes)
{
	return hash_slots(bytes / 64 / WAYS, LEAST_SETS, MOST_SETS);
}

struct equal_operations *equal_operations_new(const struct procs *procs, const struct operation_wants *wants,
					      u64 bytes)
{
	struct equal_operations *q = mem_zalloc(sizeof(*q));
	u32 sets = sets_of(bytes);

	q->procs = procs;
	q->wants = *wants;
	q->shift = 64 - (u32)__builtin_ctz(sets);
	q->tags = mem_zalloc((size_t)sets * WAYS * sizeof(*q->tags));
	q->slots = mem_zalloc((size_t)sets * WAYS * sizeof(*q->slots));
	return q;
}

void equal_operations_free(struct equal_operations *q)
{
	if (!q)
		return;
	vec_free(&q->owners);
	set_free(&q->owner_ids);
	free(q->tags);
	free(q->slots);
	free(q);
}

/* --- shapes --- */

static u64 wanted_bits(const struct equal_operations *q, const struct spe_shape *s, u32 field)
{
	return q->wants.bits[field] & s->payload[field];
}

static void use_shape(struct equal_operations *q, const struct feed *f, const struct spe_shape *s)
{
	struct shape_use *u = &q->uses[q->nr_uses++];
	u8 mask[8 * WORDS] = { 0 };
	bool accesses = s->has & SPE_HAS(SPE_OPERATION) && s->operation_class == SPE_LOAD_STORE;

	*u = (struct shape_use){ .timed = s->has & SPE_HAS(SPE_TIMESTAMP) && f->spe->aux->has_conversion,
				 .says_tid = s->has & SPE_HAS(SPE_CONTEXT) };
	u->counted = s->words <= WORDS;
	if (!u->counted)
		return;
	for (u32 i = 0; i < SPE_NR_EVENTS; i++)
		u->events |= f->spe->of[i] == ID_NONE ? 0 : spe_event_bits(i);
	u->always =
		f->spe->of[SPE_EVENT_INSTRUCTIONS] != ID_NONE || (accesses && f->spe->of[SPE_EVENT_MEMORY] != ID_NONE);
	for (u32 field = 0; field < SPE_NR_FIELDS; field++)
		for (u64 left = wanted_bits(q, s, field), at = s->at[field]; left; left >>= 8)
			mask[at++] |= (u8)left;
	memcpy(u->mask, mask, sizeof(mask));
}

/* --- owners --- */

static u32 owner_id(struct equal_operations *q, const struct instance *who)
{
	u64 hash = hash_bytes(&who->owner, sizeof(who->owner));
	u32 id, at;

	SET_FIND(id, &q->owner_ids, hash, at, !memcmp(&q->owners.v[id].owner, &who->owner, sizeof(who->owner)));
	if (id != ID_NONE)
		return id;
	id = (u32)q->owners.n;
	vec_push(&q->owners, *who);
	set_add(&q->owner_ids, hash, id);
	return id;
}

/* A thread without a name is shown by its number. */
static struct stay look_up(struct equal_operations *q, const struct feed *f, const struct stay *who, u64 clock)
{
	struct stay s = *who;
	struct instance instance = { .pid = s.pid, .tid = s.tid, .cpu = s.cpu, .clock = clock };
	struct thread_view t;

	procs_thread_at(q->procs, s.pid, s.tid, clock, &t);
	instance.owner = (struct owner){ .midr = aux_midr(f->spe->aux, s.cpu),
					 .maps = t.maps.space,
					 .kernel = t.kernel.space,
					 .nr_maps = t.maps.n,
					 .nr_kernel = t.kernel.n,
					 .pid = s.pid,
					 .tid = q->wants.thread || t.comm == ID_NONE ? s.tid : 0,
					 .cpu = q->wants.cpu ? s.cpu : 0,
					 .comm = t.comm,
					 .cgroup_ns = t.cgroup_ns,
					 .activity = s.activity };
	s.from = t.from;
	s.until = t.until;
	s.owner = owner_id(q, &instance);
	return s;
}

/* Whose the operation is. */
static u32 owner_of(struct equal_operations *q, const struct feed *f, const struct aux_buffer *b, const u32 *context,
		    u64 time, u64 clock)
{
	struct stay who = { .cpu = b->cpu }, *s;

	if (context)
		who.tid = *context;
	else
		spe_thread(f->spe, b, time, &who.pid, &who.tid);
	if (f->timelines)
		who.activity = timelines_at(f->timelines, who.tid, clock);
	s = &q->stays[who.tid % STAYS];
	if (context)
		who.pid = s->tid == who.tid && s->until ? s->pid : aux_process(f->spe->aux, who.tid);
	if (clock < s->from || clock >= s->until || s->tid != who.tid || s->pid != who.pid || s->cpu != who.cpu ||
	    s->activity != who.activity)
		*s = look_up(q, f, &who, clock);
	return s->owner;
}

/* --- the table --- */

static void hand_out(const struct equal_operations *q, const struct feed *f, const struct equal *e, hit_fn take,
		     void *ctx)
{
	const struct instance *who = &q->owners.v[e->owner];
	struct sample_core core = { .pid = who->pid, .tid = who->tid, .cpu = who->cpu, .time = e->first };
	struct spe_record r = { 0 };
	const struct spe_operation o = { &r, who->owner.midr, e->n - 1, e->last };
	u8 bytes[8 * WORDS + SPE_SHAPE_SPARE] = { 0 };
	struct sample full;
	struct hit h;

	memcpy(bytes, e->words, sizeof(e->words));
	spe_shape_read(&f->shapes.v[e->shape], bytes, &r);
	spe_hit_of(&o, e->offset, &core, &h, f->full ? &full : NULL);
	h.clock = who->clock;
	h.activity = f->timelines ? who->owner.activity : TIMELINE_UNKNOWN;
	feed_aux_events(f, &h, &r, take, ctx);
}

void equal_operations_flush(struct equal_operations *q, const struct feed *f, hit_fn take, void *ctx)
{
	u32 slots = WAYS << (64 - q->shift);

	for (u32 i = 0; i < slots; i++) {
		if (!q->tags[i])
			continue;
		hand_out(q, f, &q->slots[i], take, ctx);
		q->tags[i] = 0;
	}
}

static u64 word_at(const u8 *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The bits that matter, times odd numbers, added up: the products do not wait for each other. Words behind the record
 * have no such bits. */
static u64 hash_words(u64 h, const u64 *mask, const u8 *p)
{
	static const u64 odd[WORDS] = { 0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu,
					0xd6e8feb86659fd93u, 0x8bb84b93962eacc9u, 0x2d358dccaa6c78a5u,
					0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u };

	for (u32 i = 0; i < WORDS; i++) {
		u64 w = word_at(p + 8 * i) & mask[i];

		h += (w ^ w >> 32) * odd[i];
	}
	return hash_finish(h);
}

static bool is_equal(const struct equal *e, u32 owner, u32 shape, const u64 *mask, const u8 *p)
{
	u64 other = (e->owner ^ owner) | (e->shape ^ shape);

	for (u32 i = 0; i < WORDS; i++)
		other |= (word_at(p + 8 * i) & mask[i]) ^ e->words[i];
	return !other;
}

/* Bits of the slots of a set that have the tag. */
static u32 tagged(const u32 *tags, u32 tag)
{
	u32 found = 0;

	for (u32 i = 0; i < WAYS; i++)
		found |= (u32)(tags[i] == tag) << i;
	return found;
}

/* An operation as it is met. */
struct met {
	const u8 *p;
	u32 owner, shape;
	u64 time, offset;
};

/* It is the first of its kind in the table, whose set is that one. */
static void add(struct equal_operations *q, const struct met *m, u32 set, u32 tag, const struct feed *f, hit_fn take,
		void *ctx)
{
	const u64 *mask = q->uses[m->shape].mask;
	u32 empty = tagged(q->tags + set, 0), slot = set + (empty ? (u32)__builtin_ctz(empty) : q->turn++ % WAYS);
	struct equal *e = &q->slots[slot];

	if (!empty)
		hand_out(q, f, e, take, ctx);
	*e = (struct equal){ 1, m->time, m->time, m->offset, m->owner, m->shape, { 0 } };
	for (u32 i = 0; i < WORDS; i++)
		e->words[i] = word_at(m->p + 8 * i) & mask[i];
	q->tags[slot] = tag;
}

static void count(struct equal_operations *q, const struct met *m, const struct feed *f, hit_fn take, void *ctx)
{
	const u64 *mask = q->uses[m->shape].mask;
	u64 hash = hash_words(hash_u64((u64)m->owner << 32 | m->shape), mask, m->p);
	u32 set = (u32)(hash >> q->shift) * WAYS, tag = (u32)hash | 1;

	for (u32 found = tagged(q->tags + set, tag); found; found &= found - 1) {
		u32 slot = set + (u32)__builtin_ctz(found);
		struct equal *e = &q->slots[slot];

		if (!is_equal(e, m->owner, m->shape, mask, m->p))
			continue;
		e->n++;
		e->first = MIN(e->first, m->time);
		e->last = MAX(e->last, m->time);
		if (e->n == MOST_TIMES) {
			hand_out(q, f, e, take, ctx);
			q->tags[slot] = 0;
		}
		return;
	}
	add(q, m, set, tag, f, take, ctx);
}

u64 equal_operations_take(struct equal_operations *q, const struct feed *f, const struct aux_buffer *b,
			  struct spe_reader *r, u64 *time, hit_fn take, void *ctx)
{
	bool has_time = f->src->events.has_time, timed = false;
	struct spe_shapes *shapes = r->shapes;
	struct met m = { .time = *time };
	u64 n = 0, ticks = 0;

	for (;; n++) {
		const struct spe_shape *s;
		const struct shape_use *u;
		u32 context;

		while (r->at < r->len && !r->data[r->at])
			r->at++;
		m.p = r->data + r->at;
		s = spe_shape_of(shapes, m.p, r->len - r->at, r->spare);
		if (!s)
			break;
		m.shape = (u32)(s - shapes->v);
		while (q->nr_uses <= m.shape)
			use_shape(q, f, &f->shapes.v[q->nr_uses]);
		u = &q->uses[m.shape];
		if (!u->counted)
			break;
		if (u->timed) {
			ticks = spe_shape_payload(s, SPE_FIELD_TIME, m.p);
			timed = true;
		}
		m.offset = b->at + r->at;
		r->at += s->size;
		if (!u->always && !(spe_shape_payload(s, SPE_FIELD_EVENTS, m.p) & u->events))
			continue;
		if (timed)
			m.time = aux_time(f->spe->aux, ticks);
		context = (u32)spe_shape_payload(s, SPE_FIELD_CONTEXT, m.p);
		m.owner = owner_of(q, f, b, u->says_tid ? &context : NULL, m.time, has_time ? m.time : m.offset);
		count(q, &m, f, take, ctx);
	}
	*time = timed ? aux_time(f->spe->aux, ticks) : m.time;
	return n;
}
