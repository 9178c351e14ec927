/* SPDX-License-Identifier: Apache-2.0 */
#include "state/no_file.h"

#include <string.h>
#include <sys/mman.h>

bool mapping_has_no_file(const struct rec_mmap *m)
{
	static const struct {
		const char *text;
		bool begins; /* or is the whole name */
	} names[] = {
		{ "//anon", false }, { "/dev/zero", true }, { "/anon_hugepage", true },
		{ "[stack", true },  { "/SYSV", true },	    { "[heap]", false },
	};

	for (u32 i = 0; i < ARRAY_LEN(names); i++) {
		size_t n = strlen(names[i].text);

		if (names[i].begins ? m->filename.len >= n : m->filename.len == n)
			if (!memcmp(m->filename.p, names[i].text, n))
				return true;
	}
	return m->flags & MAP_HUGETLB;
}
