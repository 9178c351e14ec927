/* SPDX-License-Identifier: Apache-2.0 */
/* `--pmu=sim,help` of every command that takes --pmu. */
#ifndef CMD_PMU_HELP_H
#define CMD_PMU_HELP_H

#include "base/err.h"

/* Prints the keys of the virtual PMU, one on each line. Returns the exit status. */
int print_pmu_help(const struct notify *to);

#endif
