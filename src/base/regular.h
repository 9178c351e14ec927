/* SPDX-License-Identifier: Apache-2.0 */
/* The only way to open a file that others may have made, or put in the place of another file. */
#ifndef BASE_REGULAR_H
#define BASE_REGULAR_H

#include "base/types.h"

/*
 * Opens a regular file for reading. It never waits (FIFOs), never opens a device, because opening alone may have an
 * effect, and never acquires a terminal. The file is first examined and then opened, and it is certain that both are
 * the same file. Returns a descriptor, or a negative errno; -EINVAL if it is not a regular file.
 */
int regular_open(const char *path);
/*
 * The same for a path as it is seen from the directory root, as with chroot(): no "..", no link and no mount of /proc
 * leads out of it. root may be a link itself (/proc/PID/root). NULL or "": regular_open(path).
 */
int regular_open_in(const char *root, const char *path);
int regular_open_itself_in(const char *root, const char *path);
/* The same for a name in an open directory; like regular_open_itself, it does not follow a link at the end of the
 * path. */
int regular_open_at(int dir, const char *name);
/* The same, but a symbolic link at the end of the path is not followed (-ELOOP). */
int regular_open_itself(const char *path);

#endif
