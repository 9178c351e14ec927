/* SPDX-License-Identifier: Apache-2.0 */
#include "vpmu/access_run.h"

#include "vpmu/cache.h"
#include "vpmu/operands.h"

#define SPAN 64 /* bytes: of two lines at most */

/* The run that is being found. */
struct finder {
	struct op *first; /* NULL: none */
	struct place place;
	s64 at, low, high; /* of the first one; of all, relative to that */
	s64 stack;	   /* what was added to the stack pointer since the block began */
};

static bool same_place(struct place a, struct place b)
{
	return a.base == b.base && a.index == b.index && a.scale == b.scale;
}

static bool reads(struct place p, u32 registers)
{
	return (p.base < PLACE_FIXED && registers >> p.base & 1) || (p.index < PLACE_FIXED && registers >> p.index & 1);
}

static bool join(struct finder *f, struct op *op, const struct operands *o, s64 at)
{
	s64 low = at - f->at, high = low + (1 << o->shift) - 1;

	low = MIN(low, f->low);
	high = MAX(high, f->high);
	if (!same_place(o->place, f->place) || high - low >= SPAN || f->first->followers == RUN_MAX)
		return false;
	f->low = low;
	f->high = high;
	f->first->followers++;
	op->after = (int8_t)(at - f->at);
	op->access |= OP_FOLLOWS;
	return true;
}

static void take(struct finder *f, struct op *op, const struct operands *o)
{
	s64 at = o->at + (o->place.base == PLACE_STACK ? f->stack : 0);

	op->access = (u8)(OP_KNOWN | o->shift | (o->store ? OP_STORE : 0));
	if (f->first && join(f, op, o, at))
		return;
	f->first = op;
	f->place = o->place;
	f->at = at;
	f->low = 0;
	f->high = (1 << o->shift) - 1;
}

void access_runs_find(struct block *b, const u8 *bytes)
{
	struct finder f = { 0 };

	for (u32 i = 0; i < b->nr; bytes += b->ops[i++].size) {
		struct op *op = &b->ops[i];
		struct operands o = x86_operands(bytes, op->size, op->pc);

		/* What lies across a page may be here without being run. */
		if (!o.known || (op->pc + op->size - 1) >> PAGE_SHIFT != b->pc >> PAGE_SHIFT) {
			f.first = NULL;
			continue;
		}
		if (o.access)
			take(&f, op, &o);
		f.stack += o.moves;
		if (f.first && reads(f.place, o.writes))
			f.first = NULL;
	}
}

u64 access_run(const struct block *b, u32 i)
{
	u32 wanted = b->ops[i].followers + 1u;
	s64 low = 0, high = 0, last = 0;
	u64 loads = 0, stores = 0;

	if ((b->ops[i].access & (OP_KNOWN | OP_FOLLOWS)) != OP_KNOWN)
		return 0;
	for (u32 k = i; loads + stores < wanted; k++) {
		const struct op *op = &b->ops[k];

		if (k != i && !(op->access & OP_FOLLOWS))
			continue;
		last = op->after + (1 << (op->access & OP_SHIFT)) - 1;
		low = MIN(low, (s64)op->after);
		high = MAX(high, last);
		stores += op->access & OP_STORE ? 1 : 0;
		loads += op->access & OP_STORE ? 0 : 1;
	}
	return i | (u64)(u8)low << 16 | (u64)(u8)high << 24 | loads << 32 | (u64)(u8)last << 48 |
	       stores << (32 + RUN_STORES);
}

u32 access_run_fill(const struct block *b, struct access *first)
{
	u32 n = 0, wanted = first->op < b->nr ? b->ops[first->op].followers : 0;

	for (u32 i = first->op + 1; n < wanted; i++) {
		const struct op *op = &b->ops[i];

		if (!(op->access & OP_FOLLOWS))
			continue;
		first[++n] = (struct access){ .addr = first->addr + (u64)(s64)op->after,
					      .info = (u32)(op->access & OP_SHIFT) << INFO_SIZE_SHIFT |
						      (op->access & OP_STORE ? INFO_STORE : INFO_LOAD),
					      .op = i };
	}
	return n;
}
