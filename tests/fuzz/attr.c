/* SPDX-License-Identifier: Apache-2.0 */
/* Attrs: a byte (1: swapped), a byte (the size of the attr entry, in units of 8; 0: none), then the attr. */
#include "fuzz.h"

static void check_attr(const struct attr *a)
{
	struct bytes b = { 0 }, text = { 0 };
	struct sample_layout l;
	struct attr again;
	struct cursor c;
	char *name = attr_name(a);

	MUST(*name);
	free(name);
	attr_print(a, ": ", &text);
	attr_print_json(a, &(struct json){ .out = &text });
	sample_layout_init(&l, a, NULL, NULL);
	MUST(l.fixed_end <= 8 + 9 * 8);
	attr_encode(a, a->size, &b);
	MUST(b.len == a->size);
	c = cursor_over(b.p, b.len, false);
	MUST(!attr_decode(&c, 0, &again, NULL));
	MUST(!memcmp(a, &again, sizeof(again)));
	bytes_free(&b);
	bytes_free(&text);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct cursor c;
	struct attr a;
	bool unknown;

	if (size < 2)
		return 0;
	c = cursor_over(data + 2, size - 2, data[0] & 1);
	if (!attr_decode(&c, data[1] * 8u, &a, &unknown))
		check_attr(&a);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	for (size_t i = 0; i < r->events.events.n; i++) {
		const struct attr *a = &r->events.events.v[i].attr;
		struct bytes b = { 0 };

		bytes_u8(&b, r->big);
		bytes_u8(&b, 0);
		attr_encode(a, a->size, &b);
		sink->give(sink->ctx, b.p, b.len);
		bytes_free(&b);
	}
}
