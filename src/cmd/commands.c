/* SPDX-License-Identifier: Apache-2.0 */
/* One row per command. */
#include "cmd/commands.h"

const struct command *const commands[] = {
	&cmd_buildid_list, &cmd_check, &cmd_complete, &cmd_export, &cmd_report,
	&cmd_script,	   &cmd_dump,  &cmd_evlist,   &cmd_list,   &cmd_record,
};
const u32 nr_commands = ARRAY_LEN(commands);
