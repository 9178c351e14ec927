/* SPDX-License-Identifier: Apache-2.0 */
/* A section of call frame information: the first byte says of which kind. Rows are in order, and a step from each of
 * them ends, over memory that is the input itself. An index of its functions, each compiled when it is asked for, has
 * the functions in order, and answers for any address. */
#include "codec/cfi.h"

#include "fuzz.h"

struct input {
	const u8 *data;
	size_t size;
};

static bool memory(void *ctx, u64 addr, u32 size, u64 *out)
{
	const struct input *in = ctx;
	u64 at = addr % (in->size + 16);

	*out = 0;
	MUST(size >= 1 && size <= 8);
	if (at + size > in->size)
		return false;
	memcpy(out, in->data + at, size);
	return true;
}

static bool place(void *ctx, u64 addr, u64 *out)
{
	(void)ctx;
	*out = addr & 0xffffff;
	return addr % 64 != 63;
}

static void check_index(struct cfi_section s)
{
	struct cfi_index x = { .ran = 0 };
	u8 *own = mem_alloc(s.size + 1);

	memcpy(own, s.bytes, s.size);
	s.bytes = own;
	cfi_index_add(&x, &s, place, NULL);
	cfi_index_finish(&x);
	for (size_t i = 0; i < x.functions.n; i++) {
		const struct cfi_span span = x.functions.v[i].span;
		u32 places[] = { span.start, span.start + (span.end - span.start) / 2, span.end };

		MUST(!i || x.functions.v[i - 1].span.start <= span.start);
		(void)cfi_index_find(&x, span.start, false);
		for (u32 k = 0; k < ARRAY_LEN(places); k++) {
			u32 rules = cfi_index_find(&x, places[k], i % 3);

			MUST(rules == ID_NONE || rules < x.cfi.rules.n);
		}
	}
	MUST(cfi_index_bytes(&x) >= s.size);
	cfi_index_free(&x);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	const struct cfi_machine machines[] = { { CFI_X86_SP, CFI_X86_FP, CFI_X86_PC, memory, &in },
						{ CFI_ARM64_SP, CFI_ARM64_FP, CFI_ARM64_PC, memory, &in } };
	struct cfi_section s;
	struct cfi c = { 0 };

	if (!size)
		return 0;
	s = (struct cfi_section){ .bytes = data + 1,
				  .size = size - 1,
				  .addr = 0x1000,
				  .swap = data[0] & 1,
				  .is64 = !(data[0] & 2),
				  .debug = data[0] & 4 };
	cfi_add(&c, &s, place, NULL);
	cfi_finish(&c);
	for (size_t i = 0; i < c.rows.n; i++) {
		const struct cfi_rules *r = cfi_find(&c, c.rows.v[i].start);

		MUST(!i || c.rows.v[i - 1].start <= c.rows.v[i].start);
		for (u32 m = 0; m < ARRAY_LEN(machines) && r; m++) {
			struct cfi_frame f = { .known = i % 2 ? ~0ull : 0x10080 };

			for (u32 k = 0; k < CFI_REGS; k++)
				f.reg[k] = i * 64 + k;
			(void)cfi_step(&c, r, &machines[m], &f);
		}
	}
	cfi_free(&c);
	check_index(s);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
