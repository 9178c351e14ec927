/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COMPRESSED records, unpacked.
 *
 * Problem: `perf record -z` runs everything that the kernel hands it through one zstd stream and cuts the result into
 * COMPRESSED records of at most 64 KB. The cut ignores the records inside: one may begin in the bytes of one COMPRESSED
 * record and end in those of the next, with plain records (FINISHED_ROUND) standing between the two.
 *
 * Design: a copy of the data is spooled, plain records as they are and packed ones unpacked. What is unpacked goes out
 * in whole records only; an incomplete tail waits in memory (it is under 64 KB) for the rest of its bytes, so a plain
 * record never lands inside another.
 *
 * Edge cases. What cannot be unpacked ends the copy: behind a hole in the stream nothing can be trusted. Everything
 * before it stays, and the note says how much is missing. A small file can claim to unpack to anything; real recordings
 * shrink some ten- to fiftyfold, so 4096 times their size (and some) is where we stop. Records that carry a payload
 * (AUXTRACE) are never packed, as their payload would have no frame inside the stream.
 */
#include <string.h>
#include <zstd.h>

#include "io/source_impl.h"
#include "io/spool.h"

#define MAX_EXPANSION 4096
#define FREE_EXPANSION (64ull << 20)
#define TAIL_MAX 65536
#define CHUNK (128u << 10)

struct unpack {
	struct source *s;
	struct spool spool;
	ZSTD_DCtx *zstd;
	u8 *buf;     /* TAIL_MAX + CHUNK */
	size_t tail; /* bytes at its start that are an incomplete record */
};

static int fail(const struct unpack *u, int err, u64 at, const char *what)
{
	return notify_at(u->s->notify, NOTE_WARNING, err, u->s->path, u->s->data_offset + at,
			 "compressed record: %s; leaving out the %llu bytes from here on", what,
			 (unsigned long long)(u->s->size - at));
}

/* Writes the whole records among the first n bytes of buf and moves the rest to its start. */
static int put_records(struct unpack *u, size_t n, u64 at)
{
	size_t done = 0;

	while (n - done >= 8) {
		struct cursor c = cursor_over(u->buf + done, n - done, u->s->swap);
		struct record_header h;

		if (record_header_decode(&c, &h))
			return fail(u, ERR_FORMAT, at, "what it unpacks to is no record");
		if (h.type == PERF_RECORD_AUXTRACE || h.type == PERF_RECORD_HEADER_TRACING_DATA)
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
			return fail(u, ERR_LIMIT, sr->offset, "it unpacks to more than 4096 times its size");
		err = put_records(u, u->tail + out.pos, sr->offset);
		if (err)
			return err;
		if (!out.pos && in.pos == before)
			break;
	} while (in.pos < in.size || out.pos == out.size);
	return 0;
}

static int copy_records(struct unpack *u, u64 at)
{
	struct source_record sr;
	u64 bad = NO_OFFSET;
	int err = 0;

	spool_put(&u->spool, u->s->data, at);
	while (!err && source_next(u->s, &at, &sr, &bad)) {
		if (sr.h.type == PERF_RECORD_COMPRESSED || sr.h.type == PERF_RECORD_COMPRESSED2)
			err = unpack_record(u, &sr);
		else
			spool_put(&u->spool, sr.p, sr.h.size + sr.payload_size);
		if (!err)
			err = spool_check(&u->spool, u->s->notify);
	}
	if (err) {
		u->s->left_out += u->s->size - sr.offset;
		return err == ERR_IO ? err : 0;
	}
	if (bad != NO_OFFSET) {
		u->s->left_out += u->s->size - bad;
		(void)notify_at(u->s->notify, NOTE_WARNING, ERR_TRUNCATED, u->s->path, u->s->data_offset + bad,
				"the last %llu bytes are no whole record; left out",
				(unsigned long long)(u->s->size - bad));
	}
	if (u->tail)
		(void)notify_at(u->s->notify, NOTE_WARNING, ERR_TRUNCATED, u->s->path, NO_OFFSET,
				"the compressed records end inside a record; %zu bytes left out", u->tail);
	u->s->left_out += u->tail;
	return 0;
}

static int run(struct unpack *u, u64 first)
{
	struct source *s = u->s;
	int err = copy_records(u, first);

	if (err)
		return err;
	err = spool_map(&u->spool, &s->maps[1].p, s->notify);
	s->maps[1].size = u->spool.size;
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
	struct unpack u = { .s = s };
	int err = spool_open(&u.spool, s->path, s->notify);

	if (err)
		return err;
	u.zstd = ZSTD_createDCtx();
	u.buf = mem_alloc(TAIL_MAX + CHUNK);
	err = u.zstd ? run(&u, first) : ERR_IO;
	ZSTD_freeDCtx(u.zstd);
	free(u.buf);
	spool_close(&u.spool);
	return err;
}
