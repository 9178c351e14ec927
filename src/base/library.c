/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

bool library_load(const char *soname, const struct library_function *functions, u32 n)
{
	void *library = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);

	for (u32 i = 0; i < n; i++) {
		void *found = library ? dlsym(library, functions[i].name) : NULL;

		if (!found)
			return false;
		memcpy(functions[i].at, &found, sizeof(found));
	}
	return true;
}
