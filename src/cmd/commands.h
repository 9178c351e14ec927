/* SPDX-License-Identifier: Apache-2.0 */
/* One declaration per command; each lives in cmd/NAME.c. */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include "cmd/opt.h"

/* The table of all commands, in the order in which --help lists them. */
extern const struct command *const commands[];
extern const u32 nr_commands;

extern const struct command cmd_buildid_list;
extern const struct command cmd_check;
extern const struct command cmd_complete;
extern const struct command cmd_diff;
extern const struct command cmd_export;
extern const struct command cmd_report;
extern const struct command cmd_script;
extern const struct command cmd_dump;
extern const struct command cmd_evlist;
extern const struct command cmd_list;
extern const struct command cmd_c2c;
extern const struct command cmd_activity;
extern const struct command cmd_mem;
extern const struct command cmd_record;
extern const struct command cmd_spe;
extern const struct command cmd_stat;
extern const struct command cmd_top;

#endif
