/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/equal_operations.h"

#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "base/hash.h"
#include "base/set.h"
#include "codec/perf_abi.h"
#include "pass/operation_hits.h"

#define WAYS 8		     /* slots of a set: a word has a byte for each */
#define WORDS BLOCK_WORDS    /* of a record; longer ones are not counted */
#define LEAST_SETS (1u << 4) /* powers of two */
#define FIRST_SETS (1u << 10)
#define MOST_SETS (1u << 13)
#define GROWTH 4 /* so many operations for each that had no room: more room would be of use */
#define BATCH 16 /* operations whose slots are fetched at the same time */
#define STAYS 64u
#define MOST_TIMES (1u << 30) /* trees count samples in 32 bits */

#define MOST_OWNERS (1u << 16)

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

/* An operation as it is met. */
struct met {
	u64 words[WORDS]; /* the bits that matter */
	u32 owner, shape;
	u64 time, offset; /* in source.data */
	u64 hash;	  /* of words, owner and shape */
};

/* It is in two lines of the cache, as memory of tables begins within the first 24 bytes of one. */
struct equal {
	u64 n, first, last; /* times */
	u64 offset;	    /* of the first */
	u32 owner, shape;
	u64 words[WORDS];
	u64 unused[3];
};
_Static_assert(sizeof(struct equal) == 128, "two lines");

struct equal_operations {
	const struct procs *procs;
	struct operation_wants wants;
	u32 nr_uses;
	struct shape_use uses[SPE_SHAPES]; /* by the number of the feed's shape */
	struct stay stays[STAYS];
	VEC(struct instance) owners;
	struct set owner_ids;
	u32 sets, most_sets; /* powers of two */
	u32 shift;	     /* a hash's bits above it are the number of its set */
	u32 turn;	     /* which of a full set goes next */
	u64 *tags;	     /* by set, a byte for each slot: some bits of the hash; 0: empty */
	struct equal *slots;
	u64 seen, left; /* operations since the table got this size, and those of them for which others had to leave */
	struct met batch[BATCH];
	u32 nr_batch;
};

/* Where hits go. */
struct receiver {
	const struct feed *f;
	hit_fn take;
	void *ctx;
};

static void make_table(struct equal_operations *q, u32 sets)
{
	q->sets = sets;
	q->shift = 64 - (u32)__builtin_ctz(sets);
	q->tags = mem_zalloc(sets * sizeof(*q->tags));
	q->slots = mem_zalloc((size_t)sets * WAYS * sizeof(*q->slots));
}

struct equal_operations *equal_operations_new(const struct procs *procs, const struct operation_wants *wants,
					      u64 bytes)
{
	struct equal_operations *q = mem_zalloc(sizeof(*q));

	q->procs = procs;
	q->wants = *wants;
	/* Records on hardware have 64 bytes; short ones are half as long. */
	q->most_sets = hash_slots(bytes / 32 / WAYS, LEAST_SETS, MOST_SETS);
	make_table(q, MIN(q->most_sets, FIRST_SETS));
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
	struct spe_wanted wanted = spe_wanted(f->spe);
	struct shape_use *u = &q->uses[q->nr_uses++];
	u8 mask[8 * WORDS] = { 0 };
	bool accesses = s->has & SPE_HAS(SPE_OPERATION) && s->operation_class == SPE_LOAD_STORE;

	*u = (struct shape_use){ .timed = s->has & SPE_HAS(SPE_TIMESTAMP) && f->spe->aux->has_conversion,
				 .says_tid = s->has & SPE_HAS(SPE_CONTEXT) };
	u->counted = s->words <= WORDS;
	if (!u->counted)
		return;
	u->events = wanted.events;
	u->always = wanted.all || (accesses && wanted.accesses);
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
static const struct stay *stay_of(struct equal_operations *q, const struct feed *f, const struct aux_buffer *b,
				  const u32 *context, u64 time, u64 clock)
{
	struct stay who = { .cpu = b->cpu }, *s;

	if (context)
		who.tid = *context;
	else
		spe_thread(f->spe, b, time, &who.pid, &who.tid);
	s = &q->stays[who.tid % STAYS];
	if (context)
		who.pid = aux_process(f->spe->aux, who.tid);
	if (f->timelines)
		who.activity = timelines_at(f->timelines, who.pid, who.tid, clock);
	if (clock - s->from >= s->until - s->from || s->tid != who.tid || s->pid != who.pid || s->cpu != who.cpu ||
	    s->activity != who.activity)
		*s = look_up(q, f, &who, clock);
	return s;
}

/* --- the table --- */

static void hand_out(const struct equal_operations *q, const struct equal *e, const struct receiver *to)
{
	const struct instance *who = &q->owners.v[e->owner];
	struct sample_core core = { .pid = who->pid, .tid = who->tid, .cpu = who->cpu, .time = e->first };
	struct spe_record r = { 0 };
	const struct spe_operation o = { &r, who->owner.midr, e->n - 1, e->last };
	u8 bytes[8 * WORDS + SPE_SHAPE_SPARE] = { 0 };
	struct sample full;
	struct hit h;

	if (to->f->full)
		full = (struct sample){ 0 };
	memcpy(bytes, e->words, sizeof(e->words));
	spe_shape_read(&to->f->shapes.v[e->shape], bytes, &r);
	spe_hit_of(&o, e->offset, &core, &h, to->f->full ? &full : NULL);
	h.clock = who->clock;
	h.activity = to->f->timelines ? who->owner.activity : TIMELINE_UNKNOWN;
	operation_hits(to->f, &h, &r, to->take, to->ctx);
}

static void empty_table(struct equal_operations *q, const struct receiver *to)
{
	for (u32 set = 0; set < q->sets; set++) {
		for (u32 way = 0; way < WAYS; way++)
			if (q->tags[set] >> 8 * way & 0xff)
				hand_out(q, &q->slots[set * WAYS + way], to);
		q->tags[set] = 0;
	}
}

static u64 turned(u64 x)
{
	return x << 29 | x >> 35;
}

/* Products of pairs, which do not wait for each other. */
static inline u64 hash_of(const u64 *w, u32 owner, u32 shape)
{
	u64 h = hash_seed() ^ ((u64)owner << 32 | shape) * 0x8bb84b93962eacc9u;

	_Static_assert(WORDS == 8, "all of them");
	h += (w[0] ^ turned(w[4])) * 0x9e3779b97f4a7c15u;
	h += (w[1] ^ turned(w[5])) * 0xbf58476d1ce4e5b9u;
	h += (w[2] ^ turned(w[6])) * 0x94d049bb133111ebu;
	h += (w[3] ^ turned(w[7])) * 0xd6e8feb86659fd93u;
	h ^= h >> 32;
	return h * 0x9e3779b97f4a7c15u;
}

static bool is_equal(const struct equal *e, const struct met *m)
{
	return block_is(e->words, m->words) && e->owner == m->owner && e->shape == m->shape;
}

/* The tags of a set are the bytes of a word, and the slots that may have the tag are the highest bits of bytes: that
 * of the lowest such slot, and perhaps others. */
static u64 tagged(u64 tags, u8 tag)
{
	const u64 each = 0x0101010101010101u;
	u64 other = tags ^ tag * each;

	return (other - each) & ~other & each << 7;
}

static u32 first_of(u64 found)
{
	return (u32)__builtin_ctzll(found) / 8;
}

static void set_tag(u64 *tags, u32 way, u8 tag)
{
	*tags = (*tags & ~(0xffull << 8 * way)) | (u64)tag << 8 * way;
}

static u8 tag_of(u64 hash)
{
	return (u8)(hash >> 16) | 1;
}

/* It is the first of its kind in the table. */
static void add(struct equal_operations *q, const struct equal *new, u64 hash, const struct receiver *to)
{
	u32 set = (u32)(hash >> q->shift);
	u64 empty = tagged(q->tags[set], 0);
	u32 way = empty ? first_of(empty) : q->turn++ % WAYS;
	struct equal *e = &q->slots[set * WAYS + way];

	if (!empty) {
		hand_out(q, e, to);
		q->left++;
	}
	*e = *new;
	set_tag(&q->tags[set], way, tag_of(hash));
}

static void grow(struct equal_operations *q, const struct receiver *to)
{
	struct equal *slots = q->slots;
	u64 *tags = q->tags;
	u32 sets = q->sets;

	make_table(q, 2 * sets);
	for (u32 i = 0; i < sets * WAYS; i++)
		if (tags[i / WAYS] >> 8 * (i % WAYS) & 0xff)
			add(q, &slots[i], hash_of(slots[i].words, slots[i].owner, slots[i].shape), to);
	free(tags);
	free(slots);
}

/* More room is of use where many operations are equal to one that had to leave. */
static void maybe_grow(struct equal_operations *q, const struct receiver *to)
{
	if (q->left < (u64)q->sets * WAYS)
		return;
	if (q->sets < q->most_sets && q->seen >= GROWTH * q->left)
		grow(q, to);
	q->seen = q->left = 0;
}

static void count(struct equal_operations *q, const struct met *m, const struct receiver *to)
{
	u32 set = (u32)(m->hash >> q->shift);
	struct equal new;

	for (u64 found = tagged(q->tags[set], tag_of(m->hash)); found; found &= found - 1) {
		struct equal *e = &q->slots[set * WAYS + first_of(found)];

		if (!is_equal(e, m))
			continue;
		e->n++;
		e->first = MIN(e->first, m->time);
		e->last = MAX(e->last, m->time);
		if (e->n == MOST_TIMES) {
			hand_out(q, e, to);
			set_tag(&q->tags[set], first_of(found), 0);
		}
		return;
	}
	new = (struct equal){ 1, m->time, m->time, m->offset, m->owner, m->shape, { 0 }, { 0 } };
	memcpy(new.words, m->words, sizeof(new.words));
	add(q, &new, m->hash, to);
}

static void finish_batch(struct equal_operations *q, const struct receiver *to)
{
	for (u32 i = 0; i < q->nr_batch; i++)
		count(q, &q->batch[i], to);
	q->seen += q->nr_batch;
	q->nr_batch = 0;
	maybe_grow(q, to);
}

/* Takes it into the batch; the slot where it may be comes in meanwhile. */
static void meet(struct equal_operations *q, struct met *m, const struct receiver *to)
{
	u32 set;
	u64 found;

	m->hash = hash_of(m->words, m->owner, m->shape);
	set = (u32)(m->hash >> q->shift);
	found = tagged(q->tags[set], tag_of(m->hash));
	if (found) {
		const struct equal *e = &q->slots[set * WAYS + first_of(found)];

		__builtin_prefetch(e, 1);
		__builtin_prefetch((const char *)e->unused - 1);
	}
	if (++q->nr_batch == BATCH)
		finish_batch(q, to);
}

void equal_operations_flush(struct equal_operations *q, const struct feed *f, hit_fn take, void *ctx)
{
	const struct receiver to = { f, take, ctx };

	finish_batch(q, &to);
	empty_table(q, &to);
}

/* Hands out what there is, and forgets of whom it was: a hostile recording names another thread with each operation.
 * Returns where the operation stands that is being met. */
static struct met *forget_owners(struct equal_operations *q, const struct met *m, const struct receiver *to)
{
	struct met met = *m;

	finish_batch(q, to);
	empty_table(q, to);
	set_free(&q->owner_ids);
	q->owner_ids = (struct set){ 0 };
	q->owners.n = 0;
	memset(q->stays, 0, sizeof(q->stays));
	q->batch[0] = met;
	return &q->batch[0];
}

/* Who it was, if it says so, and is the same as before it. */
static bool is_of_last(const struct stay *last, const struct shape_use *u, u32 context, u64 clock)
{
	return u->says_tid && context == last->tid && clock - last->from < last->until - last->from;
}

u64 equal_operations_take(struct equal_operations *q, const struct feed *f, const struct aux_buffer *b,
			  struct spe_reader *r, u64 *time, hit_fn take, void *ctx)
{
	bool has_time = f->src->events.has_time, timed = false;
	struct spe_shapes *shapes = r->shapes;
	const struct receiver to = { f, take, ctx };
	struct stay last = { 0 };
	u64 n = 0, ticks = 0, at = r->at, now = *time;

	while (q->nr_uses < shapes->n)
		use_shape(q, f, &shapes->v[q->nr_uses]);
	for (;; n++) {
		struct met *m = &q->batch[q->nr_batch];
		const struct spe_shape *s;
		const struct shape_use *u;
		const u8 *p;
		u32 context;
		u64 clock;

		while (at < r->len && !r->data[at])
			at++;
		p = r->data + at;
		s = spe_shape_of(shapes, p, r->len - at, r->spare);
		if (!s)
			break;
		m->shape = (u32)(s - shapes->v);
		u = &q->uses[m->shape];
		if (!u->counted)
			break;
		if (u->timed) {
			ticks = spe_shape_payload(s, SPE_FIELD_TIME, p);
			timed = true;
		}
		m->offset = b->at + at;
		at += s->size;
		if (!u->always && !(spe_shape_payload(s, SPE_FIELD_EVENTS, p) & u->events))
			continue;
		if (timed)
			now = aux_time(f->spe->aux, ticks);
		clock = has_time ? now : m->offset;
		context = (u32)spe_shape_payload(s, SPE_FIELD_CONTEXT, p);
		if (!is_of_last(&last, u, context, clock)) {
			if (q->owners.n >= MOST_OWNERS)
				m = forget_owners(q, m, &to);
			last = *stay_of(q, f, b, u->says_tid ? &context : NULL, now, clock);
			/* Activities change in between, and packets may know another process than switches. */
			if (f->timelines || !u->says_tid)
				last.until = last.from;
		}
		m->owner = last.owner;
		m->time = now;
		block_mask(m->words, p, u->mask);
		meet(q, m, &to);
	}
	r->at = at;
	*time = timed ? aux_time(f->spe->aux, ticks) : now;
	return n;
}
