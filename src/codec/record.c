/* SPDX-License-Identifier: Apache-2.0 */
/* Common to all records: the header, the id trailer, and the look-up of the record's row in the table. */
#include "codec/record.h"

#include "codec/record_kinds.h"

#define TRAILER_FIELDS                                                                                                \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |              \
	 PERF_SAMPLE_IDENTIFIER)

#define RECORD_MAX 65535

struct trailer_layout trailer_layout(const struct attr *a)
{
	u64 fields = a->flags & ATTR_SAMPLE_ID_ALL ? a->sample_type & TRAILER_FIELDS : 0;

	return (struct trailer_layout){ fields, 8 * (u32)__builtin_popcountll(fields) };
}

int record_header_decode(struct cursor *c, struct record_header *out)
{
	out->type = cursor_u32(c);
	out->misc = cursor_u16(c);
	out->size = cursor_u16(c);
	if (c->bad)
		return ERR_TRUNCATED;
	return out->size < 8 ? ERR_FORMAT : 0;
}

const struct record_kind *record_kind(u32 type)
{
	const struct record_kind *kinds = kernel_kinds;
	u32 n = nr_kernel_kinds, i;

	if (type >= PERF_RECORD_SIMPLEPERF_KERNEL_SYMBOL) {
		kinds = simpleperf_kinds;
		n = nr_simpleperf_kinds;
	} else if (type >= PERF_RECORD_USER_TYPE_START) {
		kinds = user_kinds;
		n = nr_user_kinds;
	}
	i = type - kinds[0].type;
	/* Each part of the table has a row for every type of its range; the second test keeps a slip there harmless.
	 */
	return i < n && kinds[i].type == type ? &kinds[i] : NULL;
}

const struct record_kind *record_kind_at(u32 i)
{
	if (i < nr_kernel_kinds)
		return &kernel_kinds[i];
	i -= nr_kernel_kinds;
	if (i < nr_user_kinds)
		return &user_kinds[i];
	i -= nr_user_kinds;
	return i < nr_simpleperf_kinds ? &simpleperf_kinds[i] : NULL;
}

static void trailer_read(struct cursor *c, u64 fields, struct sample_id *out)
{
	out->has = fields;
	if (fields & PERF_SAMPLE_TID) {
		out->pid = cursor_u32(c);
		out->tid = cursor_u32(c);
	}
	if (fields & PERF_SAMPLE_TIME)
		out->time = cursor_u64(c);
	if (fields & PERF_SAMPLE_ID)
		out->id = cursor_u64(c);
	if (fields & PERF_SAMPLE_STREAM_ID)
		out->stream_id = cursor_u64(c);
	if (fields & PERF_SAMPLE_CPU) {
		out->cpu = cursor_u32(c);
		cursor_skip(c, 4);
	}
	if (fields & PERF_SAMPLE_IDENTIFIER)
		out->id = cursor_u64(c);
}

static void trailer_write(const struct sample_id *sid, u64 fields, struct bytes *out)
{
	if (fields & PERF_SAMPLE_TID) {
		bytes_u32(out, sid->pid);
		bytes_u32(out, sid->tid);
	}
	if (fields & PERF_SAMPLE_TIME)
		bytes_u64(out, sid->time);
	if (fields & PERF_SAMPLE_ID)
		bytes_u64(out, sid->id);
	if (fields & PERF_SAMPLE_STREAM_ID)
		bytes_u64(out, sid->stream_id);
	if (fields & PERF_SAMPLE_CPU) {
		bytes_u32(out, sid->cpu);
		bytes_u32(out, 0);
	}
	if (fields & PERF_SAMPLE_IDENTIFIER)
		bytes_u64(out, sid->id);
}

/* Takes the trailer off the end of body. */
static int trailer_cut(struct cursor *body, const struct trailer_layout *trailer, struct sample_id *out)
{
	struct cursor at;

	if (!trailer || !trailer->fields)
		return 0;
	if (trailer->size > cursor_left(body))
		return ERR_TRUNCATED;
	body->end -= trailer->size;
	at = (struct cursor){ body->end, body->end + trailer->size, body->swap, false };
	trailer_read(&at, trailer->fields, out);
	return 0;
}

int record_trailer_decode(struct cursor c, const struct trailer_layout *trailer, struct sample_id *out)
{
	struct record_header h;
	const struct record_kind *kind;
	int err = record_header_decode(&c, &h);

	*out = (struct sample_id){ 0 };
	if (err)
		return err;
	kind = record_kind(h.type);
	return kind && kind->has_trailer ? trailer_cut(&c, trailer, out) : 0;
}

int record_decode(struct cursor c, u64 offset, const struct trailer_layout *trailer, struct record *out)
{
	const struct record_kind *kind;
	struct cursor body;
	int err;

	*out = (struct record){ .offset = offset };
	err = record_header_decode(&c, &out->h);
	if (err)
		return err;
	if (out->h.size - 8u > cursor_left(&c))
		return ERR_TRUNCATED;
	c.end = c.p + (out->h.size - 8u);
	out->body = body = c;
	kind = record_kind(out->h.type);
	if (!kind)
		return 0;
	if (kind->has_trailer) {
		err = trailer_cut(&body, trailer, &out->sid);
		if (err)
			return err;
	}
	if (kind->decode)
		kind->decode(&body, out);
	return body.bad ? ERR_TRUNCATED : 0;
}

/* Some members of the union stand for a misc bit that tells readers how to decode the body. */
static u16 misc_of(const struct record *r)
{
	if (r->h.type == PERF_RECORD_COMM && r->comm.exec)
		return r->h.misc | PERF_RECORD_MISC_COMM_EXEC;
	if (r->h.type == PERF_RECORD_MMAP2 && r->mmap.build_id_size)
		return r->h.misc | PERF_RECORD_MISC_MMAP_BUILD_ID;
	if (r->h.type == PERF_RECORD_HEADER_BUILD_ID && r->build_id.size)
		return r->h.misc | PERF_RECORD_MISC_BUILD_ID_SIZE;
	return r->h.misc;
}

int record_encode(const struct record *r, const struct trailer_layout *trailer, struct bytes *out)
{
	const struct record_kind *kind = record_kind(r->h.type);
	struct bytes body = { 0 };
	size_t size;

	if (!kind || kind->type == PERF_RECORD_SAMPLE)
		return ERR_UNSUPPORTED;
	if (kind->encode)
		kind->encode(r, &body);
	if (!kind->unpadded)
		bytes_zero(&body, -body.len & 7);
	if (kind->has_trailer && trailer)
		trailer_write(&r->sid, trailer->fields, &body);
	size = body.len + 8;
	if (size <= RECORD_MAX) {
		bytes_u32(out, r->h.type);
		bytes_u16(out, misc_of(r));
		bytes_u16(out, (u16)size);
		bytes_put(out, body.p, body.len);
	}
	bytes_free(&body);
	return size <= RECORD_MAX ? 0 : ERR_LIMIT;
}
