/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows repeat each other: the same threads run the same code, and most operations meet the same. So the values of each
 * part of the columns are kept, by what they follow from, as tuples of the writer. They are looked for again when the
 * writer drops its tuples.
 */
#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "codec/data_src.h"
#include "view/export/sample_rows_impl.h"

/* Fills words of a zeroed key. */
typedef void key_fn(struct sample_rows *r, const struct asked *a, u64 *key);

static u64 two(u32 high, u32 low)
{
	return (u64)high << 32 | low;
}

/* Of an operation: that it is one, and those of these packets that there are. */
static u64 packets(const struct asked *a, u64 bits)
{
	return a->h->operation ? 1ull << 63 | (a->h->operation->record->has & bits) : 0;
}

/* What is mapped where. */
static void maps_key(const struct asked *a, u64 *key)
{
	key[0] = (uintptr_t)a->t->maps.space;
	key[1] = (uintptr_t)a->t->kernel.space;
	key[2] = two(a->t->maps.n, a->t->kernel.n);
}

static void thread_key(struct sample_rows *r, const struct asked *a, u64 *key)
{
	(void)r;
	key[0] = two(a->h->event, a->t->comm);
	key[1] = two(a->h->s.pid, a->h->s.tid);
	key[2] = a->h->s.cpu;
	key[3] = a->h->full->has;
}

static void period_key(struct sample_rows *r, const struct asked *a, u64 *key)
{
	(void)r;
	key[0] = a->h->s.period;
}

static void accessor_key(struct sample_rows *r, const struct asked *a, u64 *key)
{
	thread_key(r, a, key);
	period_key(r, a, key + 4);
	key[5] = data_src_known(DATA_SRC_OP, a->h->full->data_src);
}

static void code_key(struct sample_rows *r, const struct asked *a, u64 *key)
{
	(void)r;
	key[0] = a->h->s.ip;
	key[1] = two(a->h->cpumode, a->h->operation ? a->h->operation->record->level : 0);
	key[2] = a->h->full->has;
	key[3] = packets(a, SPE_HAS_ADDRESS(SPE_PC));
	maps_key(a, key + 4);
}

static void datum_key(struct sample_rows *r, const struct asked *a, u64 *key)
{
	const u64 bits = SPE_HAS_ADDRESS(SPE_TARGET) | SPE_HAS_ADDRESS(SPE_VIRTUAL) | SPE_HAS_ADDRESS(SPE_PHYSICAL);

	(void)r;
	key[0] = a->h->full->addr;
	key[1] = a->h->full->phys_addr;
	key[2] = two(a->h->cpumode, a->h->operation ? a->h->operation->record->operation_class : 0);
	key[3] = a->h->full->has;
	key[4] = packets(a, bits);
	maps_key(a, key + 5);
}

static void latency_key(struct sample_rows *r, const struct asked *a, u64 *key)
{
	const u64 bits = SPE_HAS_LATENCY(SPE_TOTAL) | SPE_HAS_LATENCY(SPE_ISSUE) | SPE_HAS_LATENCY(SPE_TRANSLATION);
	const struct spe_operation *o = a->h->operation;

	(void)r;
	key[0] = a->h->full->weight;
	key[1] = o ? two(o->record->latency[SPE_ISSUE], o->record->latency[SPE_TRANSLATION]) : 0;
	key[2] = a->h->full->has;
	key[3] = packets(a, bits);
}

static void stack_key(struct sample_rows *r, const struct asked *a, u64 *key)
{
	key[1] = row_stack(r, a, &key[0]);
}

static void access_key(struct sample_rows *r, const struct asked *a, u64 *key)
{
	key[0] = a->h->full->data_src;
	key[1] = a->h->operation ? a->h->operation->record->events : 0;
	key[2] = packets(a, 0);
	stack_key(r, a, key + 3);
}

/* NULL: what is of one row is of no other. */
static key_fn *const part_keys[NR_ROW_PARTS] = {
	[PART_THREAD] = thread_key,	[PART_PERIOD] = period_key,   [PART_CODE] = code_key,
	[PART_DATUM] = datum_key,	[PART_LATENCY] = latency_key, [PART_ACCESS] = access_key,
	[PART_ACCESSOR] = accessor_key, [PART_STACK] = stack_key,
};

void row_parts_new(struct sample_rows *r)
{
	u32 before = NR_ROW_PARTS;

	for (u32 i = 0; i < r->nr_columns; i++) {
		u32 part = i < r->nr_fixed ? r->fixed[i].part : PART_WINDOW;

		if (part != before) {
			r->parts[r->nr_parts++] = (struct part){ .part = (u8)part, .first = i };
			if (part_keys[part])
				r->parts[r->nr_parts - 1].slots =
					mem_zalloc(sizeof(struct tuple_slot) << TUPLE_SLOTS_LOG);
		}
		r->parts[r->nr_parts - 1].end = i + 1;
		r->columns[i].part = (u8)(r->nr_parts - 1);
		before = part;
	}
	r->round = 1;
}

void row_parts_free(struct sample_rows *r)
{
	for (u32 i = 0; i < r->nr_parts; i++)
		free(r->parts[i].slots);
}

static u32 make_tuple(struct sample_rows *r, u32 part, struct asked *a)
{
	const struct part *p = &r->parts[part];
	u64 values[MAX_COLUMNS];
	bool missing[MAX_COLUMNS];

	if (p->part == PART_WINDOW)
		row_window(r, a->h, values, missing);
	if (p->part == PART_CODE)
		a->frame = resolver_frame(r->resolver, a->t, a->h->cpumode, a->h->s.ip, false);
	for (u32 i = p->first, at = 0; i < MIN(p->end, r->nr_fixed); i++, at++) {
		values[at] = 0;
		missing[at] = !r->fixed[i].value(r, a, &values[at]);
	}
	return row_writer_tuple(r->out, part, values, missing);
}

/* Products that do not wait for each other, without a loop. What comes of equal hashes is only that values are looked
 * for again. */
static u32 slot_of(const u64 *key)
{
	u64 hash = key[0] * 0x9e3779b97f4a7c15 + key[1] * 0xbf58476d1ce4e5b9;

	_Static_assert(TUPLE_KEY == 8, "all of them");
	hash += key[2] * 0x94d049bb133111eb + key[3] * 0xd6e8feb86659fd93;
	hash += key[4] * 0x8bb84b93962eacc9 + key[5] * 0x2d358dccaa6c78a5;
	hash += key[6] * 0xa0761d6478bd642f + key[7] * 0xe7037ed1a0b428db;
	return (u32)(hash >> (64 - TUPLE_SLOTS_LOG));
}

static u32 find_tuple(struct sample_rows *r, u32 part, struct asked *a)
{
	u64 key[TUPLE_KEY] = { 0 };
	struct tuple_slot *slot;

	part_keys[r->parts[part].part](r, a, key);
	slot = &r->parts[part].slots[slot_of(key)];
	_Static_assert(sizeof(key) == BLOCK_WORDS * sizeof(*key), "a block");
	if (slot->round == r->round && block_is(slot->key, key))
		return slot->tuple;
	memcpy(slot->key, key, sizeof(key));
	slot->round = r->round;
	return slot->tuple = make_tuple(r, part, a);
}

void row_parts_write(struct sample_rows *r, struct asked *a)
{
	u32 tuples[NR_ROW_PARTS];

	for (u32 i = 0; i < r->nr_parts; i++)
		tuples[i] = r->parts[i].slots ? find_tuple(r, i, a) : make_tuple(r, i, a);
	r->round += row_writer_row_of(r->out, tuples);
}
