/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COMPRESSED records, unpacked.
 *
 * Problem: `perf record -z` runs everything that the kernel hands it through one zstd stream and cuts the result into
 * COMPRESSED records of at most 64 KB. The cut ignores the records inside: one may begin in the bytes of one
 * COMPRESSED record and end in those of the next, with plain records (FINISHED_ROUND) standing between the two.
 *
 * Design: a copy of the data is spooled, plain records as they are and packed ones unpacked. What is unpacked goes out
 * in whole records only; an incomplete tail waits in memory (it is under 64 KB) for the rest of its bytes, so a plain
 * record never lands inside another.
 *
 * Edge cases. What cannot be unpacked ends the copy: behind a hole in the stream nothing can be trusted. Everything
 * before it stays, and the note says how much is missing. A small file can claim to unpack to anything; real
 * recordings shrink some ten- to fiftyfold, so 128 times their size (and some) is where we stop: the copy takes room
 * on a disk. Records that carry a
 * payload (AUXTRACE) are never packed, as their payload would have no frame inside the stream.
 */
#include <string.h>
#include <zstd.h>

#include "read/source_impl.h"
#include "read/spool.h"
#include "read/unpack.h"

#define MAX_EXPANSION 128
#define FREE_EXPANSION (16ull << 20)
#define TAIL_MAX 65536
#define CHUNK (128u << 10)

struct unpack {
	struct source *s;	 /* what the result is for */
	const struct source *in; /* the piece being added */
	struct spool spool;
	ZSTD_DCtx *zstd;
	u8 *buf;     /* TAIL_MAX + CHUNK */
	size_t tail; /* bytes at its start that are an incomplete record */
};

static int fail(const struct unpack *u, int err, u64 at, const char *what)
{
	return notify_at(u->s->notify, NOTE_WARNING, err, u->in->path, u->in->data_offset + at,
			 "compressed record: %s; leaving out the %llu bytes from here on", what,
			 (unsigned long long)(u->in->size - at));
}

/* Writes the whole records among the first n bytes of buf and moves the rest to its start. */
static int put_records(struct unpack *u, size_t n, u64 at)
{
	size_t done = 0;

	while (n - done >= 8) {
		struct cursor c = cursor_over(u->buf + done, n - done, u->s->swap);
		struct record_header h;

		if (record_header_decode(&c, &h))
			return fail(u, ERR_FORMAT, at, "its contents are not a record");
		if (h.type == PERF_RECORD_AUXTRACE || (h.type == PERF_RECORD_HEADER_TRACING_DATA && h.size <= 12))
			return fail(u, ERR_UNSUPPORTED, at, "it holds a record with a payload");
		if (h.size > n - done)
			break;
		done += h.size;
	}
	spool_put(&u->spool, u->buf, done);
	memmove(u->buf, u->buf + done, n - done);
	u->tail = n - done;
	return spool_check(&u->spool, u->s->notify);
}

static int unpack_record(struct unpack *u, const struct source_record *sr)
{
	struct source *s = u->s;
	ZSTD_inBuffer in;
	ZSTD_outBuffer out;
	struct record r;
	int err = record_decode(cursor_over(sr->p, sr->h.size, s->swap), sr->offset, NULL, &r);

	if (err)
		return fail(u, err, sr->offset, "it does not hold what it claims");
	s->compressed_records++;
	s->compressed_bytes += r.compressed.size;
	in = (ZSTD_inBuffer){ r.compressed.data, r.compressed.size, 0 };
	do {
		size_t before = in.pos, rc;

		out = (ZSTD_outBuffer){ u->buf + u->tail, CHUNK, 0 };
		rc = ZSTD_decompressStream(u->zstd, &out, &in);
		if (ZSTD_isError(rc))
			return fail(u, ERR_FORMAT, sr->offset, ZSTD_getErrorName(rc));
		s->decompressed_bytes += out.pos;
		if (s->decompressed_bytes > s->compressed_bytes * MAX_EXPANSION + FREE_EXPANSION)
			return fail(u, ERR_LIMIT, sr->offset, "it unpacks to more than 128 times its size");
		err = put_records(u, u->tail + out.pos, sr->offset);
		if (err)
			return err;
		if (!out.pos && in.pos == before)
			break;
	} while (in.pos < in.size || out.pos == out.size);
	return 0;
}

static void leave_out(struct unpack *u, u64 offset, u64 n, const char *what)
{
	u->s->left_out += n;
	(void)notify_at(u->s->notify, NOTE_WARNING, ERR_TRUNCATED, u->in->path, offset, "%s; %llu bytes left out",
			what, (unsigned long long)n);
}

int unpack_add(struct unpack *u, const struct source *in, u64 plain)
{
	struct source_record sr = { .offset = plain };
	u64 at = plain, bad = NO_OFFSET;
	int err = 0;

	u->in = in;
	u->tail = 0;
	ZSTD_DCtx_reset(u->zstd, ZSTD_reset_session_only);
	spool_put(&u->spool, in->data, plain);
	while (!err && source_next(in, &at, &sr, &bad)) {
		if (sr.h.type == PERF_RECORD_COMPRESSED || sr.h.type == PERF_RECORD_COMPRESSED2)
			err = unpack_record(u, &sr);
		else
			spool_put(&u->spool, sr.p, sr.h.size + sr.payload_size);
		if (!err)
			err = spool_check(&u->spool, u->s->notify);
	}
	if (err) {
		u->s->left_out += in->size - sr.offset;
		return err == ERR_IO ? err : 0;
	}
	if (bad != NO_OFFSET)
		leave_out(u, in->data_offset + bad, in->size - bad, "the last bytes are not a whole record");
	if (u->tail)
		leave_out(u, NO_OFFSET, u->tail, "the compressed records end inside a record");
	return spool_check(&u->spool, u->s->notify);
}

int unpack_begin(struct unpack **out, struct source *s)
{
	struct unpack *u = mem_zalloc(sizeof(*u));
	int err = spool_open(&u->spool, s->path, s->notify);

	u->s = s;
	u->zstd = ZSTD_createDCtx();
	u->buf = mem_alloc(TAIL_MAX + CHUNK);
	if (!err && !u->zstd)
		err = notify_at(s->notify, NOTE_ERROR, ERR_UNSUPPORTED, s->path, NO_OFFSET, "zstd does not start");
	if (err) {
		unpack_free(u);
		u = NULL;
	}
	*out = u;
	return err;
}

void unpack_free(struct unpack *u)
{
	ZSTD_freeDCtx(u->zstd);
	free(u->buf);
	spool_close(&u->spool);
	free(u);
}

int unpack_end(struct unpack *u)
{
	struct source *s = u->s;
	int err = spool_map(&u->spool, &s->maps[1].p, s->notify);

	s->maps[1].size = u->spool.size;
	unpack_free(u);
	if (err)
		return err;
	s->map_bytes += s->maps[1].size;
	s->data = s->maps[1].p;
	s->size = s->maps[1].size;
	s->data_offset = 0;
	s->spooled = true;
	return 0;
}

int source_unpack(struct source *s, u64 first)
{
	const struct source in = *s;
	struct unpack *u;
	int err = unpack_begin(&u, s);

	if (err)
		return err;
	err = unpack_add(u, &in, first);
	if (!err)
		return unpack_end(u);
	unpack_free(u);
	return err;
}
