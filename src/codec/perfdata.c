/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/perfdata.h"

#include "codec/features.h"

#define MAGIC 0x32454c4946524550ull    /* "PERFILE2" where bytes go up */
#define MAGIC_V1 0x454c494646524550ull /* "PERFFILE": the same layout, byte order told by the size field alone */
#define SIZE_WITHOUT_FEATURES 72       /* files older than the feature bitmap */

static bool find_order(u64 magic, u64 size, bool *swap)
{
	*swap = false;
	if (magic == MAGIC)
		return true;
	if (magic == MAGIC_V1) {
		*swap = size > UINT32_MAX;
		return true;
	}
	*swap = magic == __builtin_bswap64(MAGIC);
	return *swap;
}

static struct section read_section(struct cursor *c)
{
	u64 offset = cursor_u64(c);

	return (struct section){ offset, cursor_u64(c) };
}

/*
 * The bitmap is an array of longs. A 32-bit machine of the other byte order wrote its first 32 bits first, which
 * reading them as one u64 puts into the upper half. Every writer sets HOSTNAME, so that bit tells which it was.
 */
static void read_features(struct cursor *c, u64 features[4])
{
	const u64 hostname = 1ull << FEAT_HOSTNAME;

	for (int i = 0; i < 4; i++)
		features[i] = cursor_u64(c);
	if (!c->swap || features[0] & hostname || !(features[0] >> 32 & hostname))
		return;
	for (int i = 0; i < 4; i++)
		features[i] = features[i] >> 32 | features[i] << 32;
}

int perfdata_header_decode(struct cursor file, struct perfdata_header *out)
{
	u64 magic;

	*out = (struct perfdata_header){ 0 };
	file.swap = false;
	magic = cursor_u64(&file);
	if (file.bad)
		return ERR_TRUNCATED;
	out->size = cursor_u64(&file);
	if (!find_order(magic, out->size, &out->swap))
		return ERR_FORMAT;
	if (file.bad)
		return ERR_TRUNCATED;
	file.swap = out->swap;
	if (out->swap)
		out->size = __builtin_bswap64(out->size);
	if (out->size == PERFDATA_PIPE_HEADER_SIZE) {
		out->pipe = true;
		return 0;
	}
	if (out->size != SIZE_WITHOUT_FEATURES && out->size < PERFDATA_HEADER_SIZE)
		return ERR_FORMAT;
	out->attr_size = cursor_u64(&file);
	out->attrs = read_section(&file);
	out->data = read_section(&file);
	out->event_types = read_section(&file);
	if (out->size >= PERFDATA_HEADER_SIZE)
		read_features(&file, out->features);
	return file.bad ? ERR_TRUNCATED : 0;
}

static void put_section(struct bytes *out, const struct section *s)
{
	bytes_u64(out, s->offset);
	bytes_u64(out, s->size);
}

void perfdata_header_encode(const struct perfdata_header *h, struct bytes *out)
{
	bytes_u64(out, MAGIC);
	if (h->pipe) {
		bytes_u64(out, PERFDATA_PIPE_HEADER_SIZE);
		return;
	}
	bytes_u64(out, PERFDATA_HEADER_SIZE);
	bytes_u64(out, h->attr_size);
	put_section(out, &h->attrs);
	put_section(out, &h->data);
	put_section(out, &h->event_types);
	for (int i = 0; i < 4; i++)
		bytes_u64(out, h->features[i]);
}
