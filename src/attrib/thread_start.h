/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the C library begins threads: in functions whose names a program may give to its own, too (clone,
 * start_thread). What is in a file of the C library is what it is called. In a program that holds the C library itself
 * (a static one), the function that begins a thread is known by what it does: it asks the kernel, for the thread or
 * for its end.
 */
#ifndef ATTRIB_THREAD_START_H
#define ATTRIB_THREAD_START_H

#include "state/dso.h"

/* Is this, by its name, a function in which threads begin, and may a program have another one of that name? */
bool thread_start_named(const char *name);

/* Does the function of such a name begin threads? Also true where nobody can tell: its code is not there, or is not
 * x86-64's or aarch64's. Thread-safe. */
bool thread_start_is(struct dsos *d, u32 dso, u32 sym);

#endif
