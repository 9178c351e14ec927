/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling: C++ (Itanium ABI) and Rust (legacy and v0) names made readable. It is libiberty that does it, so that
 * only the process apart may (state/apart.h); all others ask by state/readable.h. */
#ifndef STATE_DEMANGLE_H
#define STATE_DEMANGLE_H

#include "base/types.h"

/* The readable form of a linker name, malloc'ed, or NULL when the name is not mangled, or stands for more text than
 * any person would read. Thread-safe. */
char *demangle(const char *name);

/* Is it worth asking? False where demangle is sure to give NULL. */
bool demangle_is_mangled(const char *name);

/* Names that stand for more bytes than this are not demangled. */
#define DEMANGLE_LONGEST (64u << 10)

#endif
