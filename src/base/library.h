/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared libraries that few runs need. Loading one with all that it needs in turn can take ten times as long as this
 * program does to start, so it is loaded when it is first called; it then stays.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include "base/types.h"

struct library_function {
	const char *name;
	void *at; /* a pointer to a function pointer: where the function's address goes */
};

/* Loads it by its soname and finds all n functions. False: it is not installed, or lacks one of them. */
bool library_load(const char *soname, const struct library_function *functions, u32 n);

#endif
