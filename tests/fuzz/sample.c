/* SPDX-License-Identifier: Apache-2.0 */
/* Samples: an attr of 144 bytes, a byte (1: the sample is swapped), then the sample's record. */
#include "fuzz.h"
#include "recipe/swap.h"

static void check_core(const struct sample_layout *l, struct cursor c, const struct sample *s)
{
	struct sample_core core;

	MUST(!sample_core_decode(l, c, &core));
	MUST(core.ip == s->ip && core.time == s->time && core.period == s->period);
	MUST(core.pid == s->pid && core.tid == s->tid && core.cpu == s->cpu);
	MUST(core.chain.n == s->chain.n && core.chain.p == s->chain.p);
}

static u64 touch(const struct sample *s)
{
	const u8 *tls;
	u64 sum = 0;
	u32 n;

	for (u32 i = 0; i < s->chain.n; i++)
		sum += u64s_at(&s->chain, i);
	for (u32 i = 0; i < s->nr_branches; i++)
		sum += sample_branch(s, i).flags;
	for (u32 i = 0; i < s->branch_counters.n; i++)
		sum += u64s_at(&s->branch_counters, i);
	for (u32 i = 0; i < s->read.nr; i++)
		sum += read_value(&s->read, i) + read_id(&s->read, i) + read_lost(&s->read, i);
	for (u32 i = 0; i < s->regs_user.n; i++)
		sum += u64s_at(&s->regs_user, i);
	for (u32 i = 0; i < s->regs_intr.n; i++)
		sum += u64s_at(&s->regs_intr, i);
	for (u64 i = 0; i < s->raw_size; i++)
		sum += s->raw[i];
	for (u64 i = 0; i < s->stack_user_size; i++)
		sum += s->stack_user[i];
	for (u64 i = 0; i < s->tls_user_size; i++)
		sum += s->tls_user[i];
	for (u64 i = 0; i < s->aux_size; i++)
		sum += s->aux[i];
	tls = sample_tls(s, &n);
	for (u32 i = 0; i < n; i++)
		sum += tls[i];
	return sum;
}

/* What was decoded, encoded and decoded again is the same sample. */
static void check_round_trip(const struct sample_layout *l, const struct sample *s)
{
	struct bytes b = { 0 };
	struct sample again;

	if (!sample_encode(l, s, &b)) {
		MUST(!sample_decode(l, cursor_over(b.p, b.len, false), &again));
		MUST(touch(&again) == touch(s));
		MUST(again.ip == s->ip && again.weight == s->weight && again.code_page_size == s->code_page_size);
	}
	bytes_free(&b);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct cursor c = cursor_over(data, size, false);
	struct sample_layout l;
	struct sample s;
	struct attr a;
	int err;

	if (size < ATTR_SIZE_MAX_KNOWN + 1)
		return 0;
	memcpy(&a, data, sizeof(a));
	cursor_skip(&c, ATTR_SIZE_MAX_KNOWN);
	c.swap = cursor_u8(&c) & 1;
	err = sample_layout_init(&l, &a, NULL, NULL);
	if (!err && !sample_decode(&l, c, &s)) {
		volatile u64 sink = touch(&s);

		(void)sink;
		check_core(&l, c, &s);
		if (!c.swap)
			check_round_trip(&l, &s);
	} else if (!err) {
		struct sample_core core;

		sample_core_decode(&l, c, &core);
	}
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	for (size_t i = 0; i < r->records.n; i++) {
		const struct recipe_record *rec = &r->records.v[i];
		const size_t end = i + 1 < r->records.n ? r->records.v[i + 1].at : r->bytes.len;
		struct bytes b = { 0 };
		u32 type;

		memcpy(&type, r->bytes.p + rec->at, 4);
		if (type != PERF_RECORD_SAMPLE)
			continue;
		attr_encode(&r->events.events.v[rec->event].attr, ATTR_SIZE_MAX_KNOWN, &b);
		bytes_u8(&b, 0);
		bytes_put(&b, r->bytes.p + rec->at, end - rec->at);
		sink->give(sink->ctx, b.p, b.len);
		b.p[ATTR_SIZE_MAX_KNOWN] = 1;
		swap_record(b.p + ATTR_SIZE_MAX_KNOWN + 1, NULL, &r->events.events.v[rec->event].layout);
		sink->give(sink->ctx, b.p, b.len);
		bytes_free(&b);
	}
}
