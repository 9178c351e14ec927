/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/gzip.h"

#include <zlib.h>

#define PIECE (64u << 10) /* of output */
#define INPUT (1u << 30)  /* at most, at a time: zlib counts in 32 bits */
#define GZIP 16		  /* added to the bits of the window: gzip's header, not zlib's */

bool gzip_pack(const struct bytes *in, struct bytes *out)
{
	z_stream z = { 0 };
	size_t at = 0;
	int state = Z_OK;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return false;
	while (state != Z_STREAM_END) {
		if (!z.avail_in && at < in->len) {
			z.next_in = in->p + at;
			z.avail_in = (uInt)MIN(in->len - at, (size_t)INPUT);
			at += z.avail_in;
		}
		bytes_grow(out, PIECE);
		z.next_out = out->p + out->len;
		z.avail_out = PIECE;
		state = deflate(&z, at == in->len ? Z_FINISH : Z_NO_FLUSH);
		if (state != Z_OK && state != Z_STREAM_END)
			break;
		out->len += PIECE - z.avail_out;
	}
	deflateEnd(&z);
	return state == Z_STREAM_END;
}
