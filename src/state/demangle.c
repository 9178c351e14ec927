/* SPDX-License-Identifier: Apache-2.0 */
#include "state/demangle.h"

#include <string.h>

#ifdef HAVE_IBERTY
#include <libiberty/demangle.h>

/* The demangler recurses over the name; names beyond this length are machine-made and unreadable either way. */
#define LONGEST_NAME (64u << 10)

char *demangle(const char *name)
{
	if (name[0] != '_' || strnlen(name, LONGEST_NAME) == LONGEST_NAME)
		return NULL;
	return cplus_demangle(name, DMGL_NO_OPTS); /* auto style; no parameter list, as perf prints */
}
#else
char *demangle(const char *name)
{
	(void)name;
	return NULL;
}
#endif
