/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared libraries that few runs need. Loading one, with all its own dependencies, can take ten times as long as
 * starting this program, so it is loaded when it is first needed; it then stays loaded.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include "base/types.h"

struct library_function {
	const char *name;
	void *at; /* a pointer to a function pointer: where the function's address goes */
};

/* Loads the library by its soname and finds all n functions. False: it is not installed, or lacks one of them. */
bool library_load(const char *soname, const struct library_function *functions, u32 n);

#endif
