/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file header and its features: a byte (1: swapped), a byte (which feature; 255: the file header), then the
 * section. A feature that was read is printed, and written again when we can.
 */
#include "codec/features.h"

#include "codec/perfdata.h"
#include "fuzz.h"

static void check_header(struct cursor c)
{
	struct perfdata_header h, again;
	struct bytes b = { 0 };

	if (perfdata_header_decode(c, &h))
		return;
	features_print_missing(h.features, &b);
	b.len = 0;
	perfdata_header_encode(&h, &b);
	MUST(!perfdata_header_decode(cursor_over(b.p, b.len, false), &again));
	MUST(again.pipe == h.pipe && again.data.size == h.data.size && again.attrs.offset == h.attrs.offset);
	bytes_free(&b);
}

static void check_feature(enum feature id, struct cursor c)
{
	struct features f = { 0 };
	struct arena arena = { 0 };
	struct bytes b = { 0 };

	if (!feature_decode(&f, id, c, &arena)) {
		features_print(&f, &b);
		features_print_all(&f, &b);
		b.len = 0;
		if (!feature_encode(&f, id, &b)) {
			struct features again = { 0 };

			MUST(!feature_decode(&again, id, cursor_over(b.p, b.len, false), &arena));
			features_free(&again);
		}
	}
	bytes_free(&b);
	features_free(&f);
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct cursor c;

	if (size < 2)
		return 0;
	c = cursor_over(data + 2, size - 2, data[0] & 1);
	if (data[1] == 255)
		check_header(c);
	else
		check_feature((enum feature)data[1], c);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	struct bytes file = { 0 }, header = { 0 };
	struct perfdata_header h;
	struct cursor table;

	if (recipe_write(r, &file) || perfdata_header_decode(cursor_over(file.p, file.len, false), &h))
		goto out;
	bytes_put(&header, "\0\xff", 2);
	bytes_put(&header, file.p, MIN(file.len, (size_t)PERFDATA_HEADER_SIZE));
	sink->give(sink->ctx, header.p, header.len);
	if (h.pipe)
		goto out;
	table = cursor_over(file.p, file.len, h.swap);
	cursor_skip(&table, h.data.offset + h.data.size);
	for (u32 id = 0; id < FEAT_MAX; id++) {
		struct bytes b = { 0 };
		u64 offset, size;

		if (!(h.features[0] >> id & 1))
			continue;
		offset = cursor_u64(&table);
		size = cursor_u64(&table);
		if (table.bad || offset + size > file.len)
			break;
		bytes_u8(&b, h.swap);
		bytes_u8(&b, (u8)id);
		bytes_put(&b, file.p + offset, size);
		sink->give(sink->ctx, b.p, b.len);
		bytes_free(&b);
	}
out:
	bytes_free(&header);
	bytes_free(&file);
}
