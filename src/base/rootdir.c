/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rootdir.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/hash.h"

u32 rootdir_of(u32 pid)
{
	struct stat root, ns, own_root, own_ns;
	char path[64];
	u64 h;

	snprintf(path, sizeof(path), "/proc/%u/root/", pid);
	if (stat(path, &root) || stat("/", &own_root))
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	if (stat(path, &ns) || stat("/proc/self/ns/mnt", &own_ns))
		return 0;
	if (root.st_dev == own_root.st_dev && root.st_ino == own_root.st_ino && ns.st_ino == own_ns.st_ino)
		return 0;
	h = hash_pair((u64)ns.st_ino, hash_pair((u64)root.st_dev, (u64)root.st_ino));
	return (u32)(h & 0x7fffffff) | 1;
}
