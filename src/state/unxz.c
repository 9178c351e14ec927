/* SPDX-License-Identifier: Apache-2.0 */
#include "state/unxz.h"

#include <lzma.h>

#define STEP (64u << 10)

bool unxz(const u8 *packed, size_t n, struct bytes *out)
{
	lzma_stream s = LZMA_STREAM_INIT;
	size_t before = out->len, most = (size_t)unxz_most(n);
	lzma_ret ret = lzma_stream_decoder(&s, UNXZ_MEMORY, 0);

	s.next_in = packed;
	s.avail_in = n;
	while (ret == LZMA_OK && out->len - before <= most) {
		bytes_grow(out, STEP);
		s.next_out = out->p + out->len;
		s.avail_out = STEP;
		ret = lzma_code(&s, LZMA_FINISH);
		out->len += STEP - s.avail_out;
	}
	lzma_end(&s);
	return ret == LZMA_STREAM_END && out->len - before <= most;
}
