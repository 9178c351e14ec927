/* SPDX-License-Identifier: Apache-2.0 */
/* Small text files of symbols: what kallsyms and perf maps have in common. */
#ifndef STATE_TEXT_H
#define STATE_TEXT_H

#include "base/bytes.h"

/* Reads to the end; for files whose size is not known beforehand. 0, ERR_IO, or ERR_LIMIT beyond 256 MB. */
int text_read_fd(int fd, struct bytes *out);
/* Likewise by path: also ERR_NOTFOUND, ERR_PERM. Never blocks. */
int text_read(const char *path, struct bytes *out);

/* The hexadecimal number at p; returns the first byte after it, p itself when there is none. */
static inline const char *text_hex(const char *p, const char *end, u64 *out)
{
	u64 v = 0;

	for (; p < end; p++) {
		u8 c = (u8)*p, digit = (u8)(c - '0');

		if (digit > 9) {
			digit = (u8)((c | 0x20) - 'a');
			if (digit > 5)
				break;
			digit = (u8)(digit + 10);
		}
		v = v << 4 | digit;
	}
	*out = v;
	return p;
}

#endif
