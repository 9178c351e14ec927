/* SPDX-License-Identifier: Apache-2.0 */
/* The value of --pmu: which PMU counts, and how the virtual one is set up. */
#ifndef SIM_OPTS_H
#define SIM_OPTS_H

#include "base/bytes.h"
#include "base/err.h"
#include "codec/vpmu.h"

struct sim_opts {
	bool on;	 /* --pmu=sim; else the machine's own PMU */
	bool help;	 /* the table of keys was asked for */
	bool core_given; /* else the core is chosen by the program's architecture */
	bool kind_given; /* else so is the kind of its branch records */
	struct vpmu_options v;
	char sysroot[VPMU_PATH];
};

/* Parses "hw", "sim" or "sim,KEY=VALUE,...". ERR_USAGE, noted with the place and similar names. */
int sim_opts_parse(struct sim_opts *o, const char *text, const struct notify *to);
/* Lists the keys, one per line. */
void sim_opts_help(struct bytes *out);

#endif
