/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PMUs that the kernel shows under /sys/bus/event_source/devices: their type numbers, config fields ("format"),
 * named events and CPUs.
 *
 * The files come from the kernel, but a bind mount or a test can put anything there, so anything that cannot be parsed
 * is left out.
 */
#ifndef SYS_SYSFS_PMU_H
#define SYS_SYSFS_PMU_H

#include "base/bytes.h"
#include "base/vec.h"

enum { SYSFS_CONFIG_WORDS = 5 }; /* config, config1, config2, config3, config4 */

struct sysfs_format {
	char *name;
	u32 word;
	u64 bits; /* the value's bits go to these, low to low */
};

struct sysfs_alias {
	char *name;
	char *terms;  /* "event=0x3c,umask=0x1" */
	char *unit;   /* or NULL */
	double scale; /* 0: none */
};

struct sysfs_pmu {
	char *name;
	char *dir;
	char *cpus; /* "0,18": where it can be opened; NULL: everywhere */
	u32 type;
	bool core; /* `cpus` is the set of CPUs on which it counts (a core PMU of a hybrid machine or of Arm), not one
		      CPU per socket */
	bool loaded; /* formats and aliases are there */
	VEC(struct sysfs_format) formats;
	VEC(struct sysfs_alias) aliases;
};

struct sysfs_pmus {
	VEC(struct sysfs_pmu) v; /* sorted by name */
};

/* Lists the PMUs under root ("/sys"). A missing directory means none. */
void sysfs_pmus_load(struct sysfs_pmus *out, const char *root);
void sysfs_pmus_free(struct sysfs_pmus *p);
struct sysfs_pmu *sysfs_pmu_find(struct sysfs_pmus *p, struct str name);
/* Reads formats and aliases, once. */
void sysfs_pmu_details(struct sysfs_pmu *pmu);
const struct sysfs_format *sysfs_format_find(struct sysfs_pmu *pmu, struct str name);
const struct sysfs_alias *sysfs_alias_find(struct sysfs_pmu *pmu, struct str name); /* capital letters aside */
/* Spreads value over bits, low to low. ERR_LIMIT if it does not fit; *max is then the largest value that does. */
int sysfs_format_put(u64 bits, u64 value, u64 *word, u64 *max);
/* Is it one of CPU cores: x86's, Arm's, or one of a hybrid machine's? */
bool sysfs_pmu_is_core(const struct sysfs_pmu *pmu);
/* caps/NAME as text (caller frees) or NULL. */
char *sysfs_pmu_cap(const struct sysfs_pmu *pmu, const char *name);

#endif
