/* SPDX-License-Identifier: Apache-2.0 */
/* `mem record` and `c2c record`: 'reticle record' of the events that say what loads and stores met. */
#ifndef CMD_MEMORY_RECORD_H
#define CMD_MEMORY_RECORD_H

#include "cmd/opt.h"

struct memory_record {
	bool loads, stores;
	u32 ldlat;		   /* loads that take fewer cycles are left out */
	bool phys, data_page_size; /* samples carry these, too */
};

/* words[0] is "record"; behind it stand options of record, and the command. With -e those events are taken. The exit
 * status is record's. */
int memory_record(const struct command_ctx *ctx, const struct memory_record *m, int argc, char **words);

#endif
