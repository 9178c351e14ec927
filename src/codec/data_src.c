/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/data_src.h"

#define BITS(shift, bits) (((1ull << (bits)) - 1) << (shift))
#define SRC_FIELD(v, shift, bits) ((u32)((v) >> (shift) & ((1u << (bits)) - 1)))

static const char *const mem_ops[] = { "N/A", "LOAD", "STORE", "PFETCH", "EXEC" };
static const char *const mem_levels[] = { "N/A",
					  "HIT",
					  "MISS",
					  "L1",
					  "LFB/MAB",
					  "L2",
					  "L3",
					  "Local RAM",
					  "Remote RAM (1 hop)",
					  "Remote RAM (2 hops)",
					  "Remote Cache (1 hop)",
					  "Remote Cache (2 hops)",
					  "I/O",
					  "Uncached" };
static const char *const mem_level_numbers[] = {
	[9] = "CXL", [10] = "I/O", [11] = "Any cache", [12] = "LFB/MAB", [13] = "RAM", [14] = "PMEM", [15] = "N/A"
};
static const char *const mem_hops[] = { "N/A", "core, same node", "node, same socket", "socket, same board", "board" };
static const char *const mem_snoops[] = { "N/A", "None", "Hit", "Miss", "HitM" };
static const char *const mem_snoops_more[] = { "Fwd", "Peer" };
static const char *const mem_tlbs[] = { "N/A", "HIT", "MISS", "L1", "L2", "Walker", "Fault" };
#define HIT_AND_MISS 6u /* bits of both mem_levels and mem_tlbs */

/* "A or B"; true: something was written since start. */
static void put_bits(u32 bits, const char *const *names, u32 n, size_t start, struct bytes *out)
{
	for (u32 i = 0; i < n; i++) {
		if (!(bits >> i & 1))
			continue;
		if (out->len != start)
			bytes_str(out, " or ");
		bytes_str(out, names[i]);
	}
}

static void put_hit_miss(u32 bits, size_t start, struct bytes *out)
{
	if (out->len == start)
		bytes_str(out, "N/A");
	if (bits & 2)
		bytes_str(out, " hit");
	if (bits & 4)
		bytes_str(out, " miss");
}

static void put_level(u64 v, struct bytes *out)
{
	u32 bits = SRC_FIELD(v, 5, 14), number = SRC_FIELD(v, 33, 4), hops = SRC_FIELD(v, 43, 3);
	size_t start = out->len;
	bool printed = false;

	if (SRC_FIELD(v, 37, 1))
		bytes_str(out, "Remote ");
	if (hops) {
		bytes_str(out, hops < ARRAY_LEN(mem_hops) ? mem_hops[hops] : "N/A");
		bytes_char(out, ' ');
	} else {
		size_t names = out->len;

		put_bits(bits & ~HIT_AND_MISS, mem_levels, ARRAY_LEN(mem_levels), names, out);
		printed = out->len != names;
	}
	if (number) {
		if (printed)
			bytes_str(out, " or ");
		if (mem_level_numbers[number])
			bytes_str(out, mem_level_numbers[number]);
		else
			bytes_printf(out, "L%u", number);
	}
	put_hit_miss(bits, start, out);
}

static void put_op(u64 v, struct bytes *out)
{
	u32 op = SRC_FIELD(v, 0, 5);

	bytes_str(out, op ? mem_ops[__builtin_ctz(op)] : "No");
}

static void put_snoop(u64 v, struct bytes *out)
{
	size_t start = out->len;

	put_bits(SRC_FIELD(v, 19, 5), mem_snoops, ARRAY_LEN(mem_snoops), start, out);
	put_bits(SRC_FIELD(v, 38, 2), mem_snoops_more, ARRAY_LEN(mem_snoops_more), start, out);
	put_hit_miss(0, start, out);
}

static void put_tlb(u64 v, struct bytes *out)
{
	size_t start = out->len;

	put_bits(SRC_FIELD(v, 26, 7) & ~HIT_AND_MISS, mem_tlbs, ARRAY_LEN(mem_tlbs), start, out);
	put_hit_miss(SRC_FIELD(v, 26, 7), start, out);
}

static void put_locked(u64 v, struct bytes *out)
{
	u32 lock = SRC_FIELD(v, 24, 2);

	bytes_str(out, lock & 1 ? "N/A" : lock & 2 ? "Yes" : "No");
}

static void put_blocked(u64 v, struct bytes *out)
{
	u32 block = SRC_FIELD(v, 40, 3);

	if (!block || block & 1) {
		bytes_str(out, " N/A");
		return;
	}
	bytes_str(out, block & 2 ? " Data" : "");
	bytes_str(out, block & 4 ? " Addr" : "");
}

/* Bits of the word, which of them says that it is not available, and how they read. */
static const struct part {
	u64 bits, none;
	void (*put)(u64 v, struct bytes *out);
} parts[] = {
	[DATA_SRC_OP] = { BITS(0, 5), BITS(0, 1), put_op },
	[DATA_SRC_LEVEL] = { BITS(5, 14) | BITS(33, 4) | BITS(37, 1) | BITS(43, 3), BITS(5, 1), put_level },
	[DATA_SRC_SNOOP] = { BITS(19, 5) | BITS(38, 2), BITS(19, 1), put_snoop },
	[DATA_SRC_TLB] = { BITS(26, 7), BITS(26, 1), put_tlb },
	[DATA_SRC_LOCKED] = { BITS(24, 2), BITS(24, 1), put_locked },
	[DATA_SRC_BLOCKED] = { BITS(40, 3), BITS(40, 1), put_blocked },
};

u64 data_src_part(enum data_src_part part, u64 v)
{
	return v & parts[part].bits;
}

u64 data_src_known(enum data_src_part part, u64 v)
{
	const u64 number = BITS(33, 4); /* of a level; all ones: none */

	v = data_src_part(part, v) & ~parts[part].none;
	return part == DATA_SRC_LEVEL && (v & number) == number ? v & ~number : v;
}

void data_src_put(enum data_src_part part, u64 v, struct bytes *out)
{
	parts[part].put(v, out);
}
