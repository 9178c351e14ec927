/* SPDX-License-Identifier: Apache-2.0 */
#include "state/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#ifdef HAVE_IBERTY
#include <libiberty/demangle.h>
#include <setjmp.h>

#include "base/bytes.h"

/* The demangler recurses over the name; names beyond this length are machine-made and unreadable either way. */
#define LONGEST_NAME (64u << 10)
/*
 * A mangled name may refer back to its own parts, so each few bytes more can double what it stands for: 250 bytes make
 * a gigabyte. The demangler takes a callback but no "enough", so the callback jumps out. Nothing is lost by that: with
 * a callback the demangler keeps its state on the stack (but for a few bytes while it decodes a Rust name in
 * punycode).
 */
#define LONGEST_SHOWN DEMANGLE_LONGEST

struct shown {
	struct bytes text;
	jmp_buf enough;
};

static void add_piece(const char *piece, size_t n, void *opaque)
{
	struct shown *s = opaque;

	if (n > LONGEST_SHOWN - s->text.len)
		longjmp(s->enough, 1);
	bytes_put(&s->text, piece, n);
}

/* Rust first, as its older names are C++ names too. No parameter lists, as perf prints. */
static bool demangle_into(struct shown *s, const char *name)
{
	if (setjmp(s->enough))
		return false;
	if (rust_demangle_callback(name, DMGL_AUTO, add_piece, s))
		return true;
	s->text.len = 0;
	return cplus_demangle_v3_callback(name, DMGL_AUTO, add_piece, s);
}

static char *demangle_name(const char *name)
{
	struct shown s = { 0 };

	if (name[0] != '_' || strnlen(name, LONGEST_NAME) == LONGEST_NAME)
		return NULL;
	if (!demangle_into(&s, name)) {
		bytes_free(&s.text);
		return NULL;
	}
	bytes_char(&s.text, 0);
	return (char *)s.text.p; /* the buffer itself: one heap block that the caller frees */
}
#else
static char *demangle_name(const char *name)
{
	(void)name;
	return NULL;
}
#endif

bool demangle_is_mangled(const char *name)
{
#ifdef HAVE_IBERTY
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || !strncmp(name, "_GLOBAL_", 8)) &&
	       strnlen(name, LONGEST_NAME) < LONGEST_NAME;
#else
	(void)name;
	return false;
#endif
}

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
