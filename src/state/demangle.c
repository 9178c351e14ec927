/* SPDX-License-Identifier: Apache-2.0 */
#include "state/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#ifdef HAVE_IBERTY
#include <libiberty/demangle.h>

/* The demangler recurses over the name; names beyond this length are machine-made and unreadable either way. */
#define LONGEST_NAME (64u << 10)

static char *demangle_name(const char *name)
{
	if (name[0] != '_' || strnlen(name, LONGEST_NAME) == LONGEST_NAME)
		return NULL;
	return cplus_demangle(name, DMGL_NO_OPTS); /* auto style; no parameter list, as perf prints */
}
#else
static char *demangle_name(const char *name)
{
	(void)name;
	return NULL;
}
#endif

/* perf cuts these names here; ours are to compare equal. */
#define LONGEST_PLT_NAME 1023

char *demangle(const char *name)
{
	size_t n = strlen(name);
	char *base, *out = NULL;

	if (n < 5 || strcmp(name + n - 4, "@plt") != 0)
		return demangle_name(name);
	base = mem_strndup(name, n - 4);
	out = demangle_name(base);
	free(base);
	if (!out)
		return NULL;
	base = mem_printf("%s@plt", out);
	if (strlen(base) > LONGEST_PLT_NAME)
		base[LONGEST_PLT_NAME] = 0;
	free(out);
	return base;
}
