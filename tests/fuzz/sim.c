/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual PMU's shared memory, which the program can write. The input: three times {u8 state, u8 turn, u32 used}
 * of a chunk, then what stands in all of them. The recorder passes on whole records only, and never reads beyond a
 * chunk.
 */
#include <string.h>

#include "codec/vpmu_truth.h"
#include "fuzz.h"
#include "sim/sim.h"

#define CHUNKS 3
#define HEAD_SIZE 6 /* of what the input says of a chunk */

static int check_records(void *ctx, const struct iovec *whole)
{
	const u8 *p = whole->iov_base, *end = p + whole->iov_len;
	struct perf_event_header h;

	MUST(whole->iov_len <= VPMU_CHUNK_SIZE);
	for (; p < end; p += h.size) {
		MUST((size_t)(end - p) >= sizeof(h));
		memcpy(&h, p, sizeof(h));
		MUST(h.size >= sizeof(h) && h.size <= end - p && h.type < PERF_RECORD_MAX);
	}
	*(size_t *)ctx += whole->iov_len;
	return 0;
}

static void count_totals(void *ctx, u32 pid, u32 tid, const u64 counts[NR_VPMU_COUNTS])
{
	(void)pid;
	(void)tid;
	(void)counts;
	*(size_t *)ctx += 16 + sizeof(u64) * NR_VPMU_COUNTS;
}

/* One that can be decoded is the same again when it is encoded. */
static void check_truth(void *ctx, const u8 *record, u16 size)
{
	struct vpmu_truth t;
	struct bytes again = { 0 };

	if (!vpmu_truth_decode(cursor_over(record, size, false), &t)) {
		vpmu_truth_encode(&t, &again);
		MUST(again.len == size && !memcmp(again.p, record, 4) && !memcmp(again.p + 6, record + 6, size - 6u));
		bytes_free(&again);
	}
	*(size_t *)ctx += size;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct cursor c = cursor_over(data, size, false);
	size_t head = MIN(size, (size_t)CHUNKS * HEAD_SIZE), content = MIN(size - head, (size_t)VPMU_CHUNK_SIZE);
	struct sim s = { .fd = -1, .control = mem_zalloc(sizeof(*s.control)) };
	size_t passed = 0, used = 0;
	struct sim_sink sink = {
		.records = check_records, .totals = count_totals, .truth = check_truth, .ctx = &passed
	};

	s.data = mem_zalloc((size_t)CHUNKS * VPMU_CHUNK_SIZE);
	s.opts.v.real_ids = true; /* what stands in open chunks is taken at once */
	s.control->turn = 100;
	for (u32 i = 0; i < CHUNKS; i++) {
		struct vpmu_chunk *k = &s.control->chunks[i];

		k->state = cursor_u8(&c);
		k->turn = cursor_u8(&c);
		k->used = cursor_u32(&c);
		used += MIN(k->used, VPMU_CHUNK_SIZE);
		memcpy(s.data + (size_t)i * VPMU_CHUNK_SIZE, data + head, content);
	}
	MUST(!sim_drain(&s, &sink, false));
	MUST(!sim_drain(&s, &sink, true));
	MUST(passed <= used);
	for (u32 i = 0; i < CHUNKS; i++)
		MUST(s.control->chunks[i].state != VPMU_CHUNK_CLOSED);
	free(s.control);
	free(s.data);
	bytes_free(&s.copy);
	return 0;
}

static void give(const struct seed_sink *sink, const struct bytes *records)
{
	struct bytes b = { 0 };

	for (u8 i = 0; i < CHUNKS; i++) {
		bytes_u8(&b, (u8)(VPMU_CHUNK_CLOSED - i));
		bytes_u8(&b, (u8)(i * 70));
		bytes_u32(&b, (u32)records->len);
	}
	bytes_put(&b, records->p, records->len);
	sink->give(sink->ctx, b.p, b.len);
	bytes_free(&b);
}

/* The recipe's records with private ones behind them. */
void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	struct vpmu_truth t = { .type = VPMU_RECORD_TRUTH_NODE, .pid = 1, .tid = 1, .node = 2, .parent = 1 };
	struct bytes b = { 0 };

	bytes_put(&b, r->bytes.p, r->bytes.len);
	vpmu_truth_encode(&t, &b);
	bytes_u32(&b, VPMU_RECORD_TOTALS);
	bytes_u16(&b, 0);
	bytes_u16(&b, 16 + sizeof(u64) * NR_VPMU_COUNTS);
	for (u32 i = 0; i <= NR_VPMU_COUNTS; i++)
		bytes_u64(&b, i);
	give(sink, &b);
	bytes_free(&b);
}
