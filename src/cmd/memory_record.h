/* SPDX-License-Identifier: Apache-2.0 */
/* `mem record` and `c2c record` run `reticle record` with the events that tell what loads and stores met. */
#ifndef CMD_MEMORY_RECORD_H
#define CMD_MEMORY_RECORD_H

#include "cmd/opt.h"

struct memory_record {
	bool loads, stores;
	u32 ldlat;		   /* loads that take fewer cycles are left out */
	bool phys, data_page_size; /* samples carry these, too */
};

/* words[0] is "record"; the options of record and the command to run follow. If -e is among them, its events are taken
 * in place of the machine's. Returns the exit status of record. */
int memory_record(const struct command_ctx *ctx, const struct memory_record *m, int argc, char **words);

#endif
