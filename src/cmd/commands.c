/* SPDX-License-Identifier: Apache-2.0 */
/* One row per command, in the order in which --help lists them. */
#include "cmd/commands.h"

/* clang-format off */
const struct command *const commands[] = {
	&cmd_record,
	&cmd_stat,
	&cmd_top,
	&cmd_report,
	&cmd_mem,
	&cmd_c2c,
	&cmd_activity,
	&cmd_spe,
	&cmd_diff,
	&cmd_script,
	&cmd_export,
	&cmd_dump,
	&cmd_evlist,
	&cmd_buildid_list,
	&cmd_list,
	&cmd_check,
	&cmd_complete,
};
/* clang-format on */
const u32 nr_commands = ARRAY_LEN(commands);
