/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other files that DWARF names. libdw opens them by itself, whatever they are: so they are looked at first, and where
 * one is a FIFO, a device or the like, libdw is not asked.
 */
#ifndef STATE_DWARF_OTHERS_H
#define STATE_DWARF_OTHERS_H

#include <elfutils/libdw.h>

#include "base/bytes.h"
#include "base/types.h"

/* Where a file of DWARF is, and whether it may lead to others at all. */
struct dwarf_home {
	char dir[4096]; /* with a slash at the end; empty: not known */
	bool alone; /* no other file may be opened: the files of another machine are looked at, or those below --symfs
		     */
};

/* path: of the file fd, or NULL to find that out. */
void dwarf_home_of(struct dwarf_home *h, int fd, const struct str *path, bool alone);
/* May libdw follow the file's .gnu_debugaltlink? True when there is none. */
bool dwarf_alternate_is_fine(const struct dwarf_home *h, Elf *elf);
/* May libdw look for the split unit that this one is the skeleton of? True when it is no skeleton. */
bool dwarf_split_is_fine(const struct dwarf_home *h, Dwarf_Die *unit);

#endif
