/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/gzip.h"

#include <libdeflate.h>

#define LEVEL 6 /* gzip's own */

bool gzip_pack(const struct bytes *in, struct bytes *out)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(LEVEL);
	size_t most, size;

	if (!c)
		return false;
	most = libdeflate_gzip_compress_bound(c, in->len);
	bytes_grow(out, most);
	size = libdeflate_gzip_compress(c, in->p, in->len, out->p + out->len, most);
	out->len += size;
	libdeflate_free_compressor(c);
	return size != 0;
}
