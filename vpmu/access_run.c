/* SPDX-License-Identifier: Apache-2.0 */
#include "vpmu/access_run.h"

#include "vpmu/cache.h"
#include "vpmu/operands.h"

#define SPAN 64 /* bytes: of two lines at most */

/* The run that is being found. */
struct finder {
	struct op *first;  /* NULL: none */
	bool fixed, store; /* it is at a fixed address; it begins with a store */
	s64 at, low, high; /* of the first one; of all, relative to that */
	s64 stack;	   /* what was added to the stack pointer since the block began */
};

/*
 * An access that faults has not happened, and those before it have. Where that cannot be known beforehand there are no
 * runs: behind other pointers, on two pages, or in a store to what was only read so far. (On the stack it is its
 * overflow.)
 */
static bool may_fault(const struct finder *f, const struct operands *o, s64 low, s64 high)
{
	return f->fixed && ((o->store && !f->store) || (f->at + low) >> PAGE_SHIFT != (f->at + high) >> PAGE_SHIFT);
}

static bool join(struct finder *f, struct op *op, const struct operands *o, s64 at)
{
	s64 low = MIN(at - f->at, f->low), high = MAX(at - f->at + (1 << o->shift) - 1, f->high);

	if (f->fixed != (o->where == AT_FIXED) || high - low >= SPAN || f->first->followers == RUN_MAX ||
	    may_fault(f, o, low, high))
		return false;
	f->low = low;
	f->high = high;
	f->first->followers++;
	op->after = (int8_t)(at - f->at);
	op->access |= OP_FOLLOWS;
	return true;
}

static void add_access(struct finder *f, struct op *op, const struct operands *o)
{
	s64 at = o->at + (o->where == AT_STACK ? f->stack : 0);

	op->access = (u8)(OP_KNOWN | o->shift | (o->store ? OP_STORE : 0));
	if (f->first && o->where != AT_ANY && join(f, op, o, at))
		return;
	f->first = o->where == AT_ANY ? NULL : op;
	f->fixed = o->where == AT_FIXED;
	f->store = o->store;
	f->at = at;
	f->low = 0;
	f->high = (1 << o->shift) - 1;
}

void access_runs_find(struct block *b, const u8 *bytes)
{
	struct finder f = { 0 };

	if (b->nr > RUN_OPS_MAX)
		return;
	for (u32 i = 0; i < b->nr; bytes += b->ops[i++].size) {
		struct op *op = &b->ops[i];
		struct operands o = x86_operands(bytes, op->size, op->pc);

		/* What lies across a page may be here without being run. */
		if (!o.known || (op->pc + op->size - 1) >> PAGE_SHIFT != b->pc >> PAGE_SHIFT) {
			f.first = NULL;
			continue;
		}
		if (o.access)
			add_access(&f, op, &o);
		f.stack += o.moves;
	}
}

/* What tells of the access of operation i. */
static u64 op_told(const struct block *b, u32 i)
{
	u8 access = b->ops[i].access;

	return (u64)i << TOLD_OP | (access & OP_SHIFT) << INFO_SIZE_SHIFT |
	       (access & OP_STORE ? INFO_STORE : INFO_LOAD);
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
	return run_pack(op_told(b, i), low, high, last, loads, stores);
}

u32 access_run_fill(const struct block *b, struct access *first)
{
	u32 op = told_op(first->told), n = 0, wanted = op < b->nr ? b->ops[op].followers : 0;

	for (u32 i = op + 1; n < wanted; i++) {
		if (!(b->ops[i].access & OP_FOLLOWS))
			continue;
		first[++n] = (struct access){ first->addr + (u64)(s64)b->ops[i].after, op_told(b, i) };
	}
	return n;
}
