/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events for loads and stores depend on the machine: Intel's cores have mem-loads and mem-stores in sysfs, AMD's
 * have IBS, and the virtual PMU has Intel's.
 */
#include "cmd/memory_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/commands.h"
#include "cmd/record_options.h"

#define SYSFS "/sys/bus/event_source/devices/"

static bool exists(const char *path)
{
	return !access(path, R_OK);
}

/* loads: room for the event's text, which has ldlat in it. */
static int choose(const struct memory_record *m, struct record_config *c, char *loads, size_t size,
		  const struct notify *to)
{
	if (c->o.sim.on || exists(SYSFS "cpu/events/mem-loads")) {
		snprintf(loads, size, "cpu/mem-loads,ldlat=%u/P", m->ldlat);
		if (m->loads)
			record_set_event(&c->events, loads, to);
		if (m->stores)
			record_set_event(&c->events, "cpu/mem-stores/P", to);
		return 0;
	}
	if (exists(SYSFS "ibs_op"))
		return record_set_event(&c->events, "ibs_op//", to);
	return notify_error(to, ERR_NOTFOUND,
			    "this machine has no events that say what loads and stores met (mem-loads and mem-stores "
			    "of Intel's cores, IBS of AMD's): name events with -e, or run the command on simulated "
			    "cores with --pmu=sim");
}

int memory_record(const struct command_ctx *ctx, const struct memory_record *m, int argc, char **words)
{
	struct record_config *c = mem_zalloc(sizeof(*c));
	char loads[64];
	int rest = 0, status;

	cmd_record.defaults(c);
	status = opts_parse(&cmd_record, c, argc - 1, words + 1, &rest, ctx->notify) ? 2 : 0;
	if (!status && !c->events.n)
		status = choose(m, c, loads, sizeof(loads), ctx->notify) ? EXIT_FAILURE : 0;
	c->o.attr.addr = c->o.attr.weight = c->o.attr.cpu = true;
	c->o.attr.phys_addr |= m->phys;
	c->o.attr.data_page_size |= m->data_page_size;
	if (!status)
		status = cmd_record.run(ctx, c, argc - 1 - rest, words + 1 + rest);
	else
		free(c->events.v);
	opts_free_lists(&cmd_record, c);
	free(c);
	return status;
}
