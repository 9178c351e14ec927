/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/topology.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "sys/smallfile.h"

static s32 number(const char *sysfs, s32 cpu, const char *name)
{
	char path[512];
	u64 v = 0;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%d/topology/%s", sysfs, cpu, name);
	return smallfile_u64(path, &v) && v < INT32_MAX ? (s32)v : 0;
}

/* A CPU's folder holds a link that is called as its node. */
static s32 node_of(const char *sysfs, s32 cpu)
{
	char path[512];
	struct dirent *e;
	s32 node = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%d", sysfs, cpu);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (sscanf(e->d_name, "node%d", &node) == 1)
			break;
	if (dir)
		closedir(dir);
	return node;
}

void topology_of(const char *sysfs, s32 cpu, struct cpu_place *out)
{
	*out = (struct cpu_place){
		.socket = number(sysfs, cpu, "physical_package_id"),
		.die = number(sysfs, cpu, "die_id"),
		.core = number(sysfs, cpu, "core_id"),
		.node = node_of(sysfs, cpu),
	};
}
