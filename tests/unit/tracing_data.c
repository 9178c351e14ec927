/* SPDX-License-Identifier: Apache-2.0 */
#include "tracing_data.h"

#include <string.h>

static void put_file(struct bytes *b, const char *text)
{
	bytes_u64(b, strlen(text));
	bytes_str(b, text);
}

struct bytes tracing_data(const char *const *formats, u32 n)
{
	struct bytes b = { 0 };

	bytes_str(&b, "\x17\x08\x44tracing");
	bytes_put(&b, "0.6", 4);
	bytes_u8(&b, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	bytes_u8(&b, 8);
	bytes_u32(&b, 4096);
	bytes_put(&b, "header_page", 12);
	put_file(&b, "page");
	bytes_put(&b, "header_event", 13);
	put_file(&b, "event");
	bytes_u32(&b, 0);
	bytes_u32(&b, 1);
	bytes_put(&b, "sys", 4);
	bytes_u32(&b, n);
	for (u32 i = 0; i < n; i++)
		put_file(&b, formats[i]);
	bytes_u32(&b, 0);
	bytes_u32(&b, 4);
	bytes_str(&b, "text");
	return b;
}
