/* SPDX-License-Identifier: Apache-2.0 */
/* The one way to open a file that others may have made, or put in the place of another. */
#ifndef BASE_REGULAR_H
#define BASE_REGULAR_H

#include "base/types.h"

/*
 * Opens a regular file for reading: never waits (FIFOs), never touches a device, whose mere opening may do something,
 * and takes no terminal. What the path names is looked at first and opened then, and both are the same file. Returns a
 * descriptor, or a negative errno; -EINVAL when it is no regular file.
 */
int regular_open(const char *path);
/*
 * The same of a path as it is seen from the directory root, like chroot(): no "..", no link and no mount of /proc
 * leads out of it. root may be a link itself (/proc/PID/root). NULL or "": regular_open(path).
 */
int regular_open_in(const char *root, const char *path);
int regular_open_itself_in(const char *root, const char *path);
/* The same of a name in an open directory; like regular_open_itself, it follows no link at the path's end. */
int regular_open_at(int dir, const char *name);
/* The same of the very file: a symbolic link at the end of the path is not followed (-ELOOP). */
int regular_open_itself(const char *path);

#endif
