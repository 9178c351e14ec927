/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One zstd stream for the whole recording, cut into PERF_RECORD_COMPRESSED. A reader unpacks each record into a buffer
 * of the length that the COMPRESSED feature states, so the input is taken in pieces of at most that length, and each
 * piece is flushed.
 */
#include <stdlib.h>
#include <zstd.h>

#include "codec/record.h"
#include "record/writer.h"

#define PIECE (256u << 10)
#define PAYLOAD_MAX (65535 - sizeof(struct perf_event_header))

struct packer {
	ZSTD_CStream *stream;
	size_t piece;
};

struct packer *packer_open(u32 level, u64 window)
{
	struct packer *p = mem_zalloc(sizeof(*p));

	p->stream = ZSTD_createCStream();
	p->piece = MIN(window, (u64)PIECE);
	if (p->stream && !ZSTD_isError(ZSTD_initCStream(p->stream, (int)level)))
		return p;
	packer_close(p);
	return NULL;
}

void packer_close(struct packer *p)
{
	if (!p)
		return;
	ZSTD_freeCStream(p->stream);
	free(p);
}

/* Compresses until the input is taken and flushed; each turn makes one record. */
static int pack_piece(struct packer *p, const void *data, size_t n, struct bytes *out)
{
	ZSTD_inBuffer in = { data, n, 0 };
	size_t left;

	do {
		size_t start = out->len;
		ZSTD_outBuffer to = { .size = PAYLOAD_MAX };

		bytes_grow(out, sizeof(struct perf_event_header) + PAYLOAD_MAX);
		to.dst = out->p + start + sizeof(struct perf_event_header);
		left = ZSTD_compressStream2(p->stream, &to, &in, ZSTD_e_flush);
		if (ZSTD_isError(left))
			return ERR_LIMIT;
		if (!to.pos)
			continue;
		bytes_u32(out, PERF_RECORD_COMPRESSED);
		bytes_u16(out, 0);
		bytes_u16(out, (u16)(to.pos + sizeof(struct perf_event_header)));
		out->len += to.pos;
	} while (left || in.pos < in.size);
	return 0;
}

int packer_pack(struct packer *p, const struct iovec *part, int nr, struct bytes *out)
{
	int err = 0;

	for (int i = 0; i < nr; i++)
		for (size_t at = 0; at < part[i].iov_len && !err; at += p->piece)
			err = pack_piece(p, (const u8 *)part[i].iov_base + at, MIN(p->piece, part[i].iov_len - at),
					 out);
	return err;
}
