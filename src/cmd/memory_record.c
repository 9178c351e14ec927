/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events for loads and stores depend on the machine: Intel's cores have mem-loads and mem-stores in sysfs, AMD's
 * have IBS, Arm's SPE. The virtual PMU has Intel's, and SPE for aarch64 programs.
 */
#include "cmd/memory_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/commands.h"
#include "cmd/record_options.h"
#include "sim/program.h"

#define SYSFS "/sys/bus/event_source/devices/"
#define SPE "arm_spe_0"
#define SPE_PREFIX                                                                                                    \
	"arm_spe_" /* the PMUs of CPUs of several kinds have numbers, in the order of the firmware's tables */
#define SPE_ALL "arm_spe_*"
#define SPE_MOST 64u
#define MIN_LATENCY_MAX 4095u /* 12 bits */

static bool exists(const char *path)
{
	return !access(path, R_OK);
}

/* Whether the machine has SPE; *only_first: as arm_spe_0 alone. */
static bool has_spe(bool *only_first)
{
	bool any = false;
	char path[64];

	*only_first = true;
	for (u32 i = 0; i < SPE_MOST; i++) {
		snprintf(path, sizeof(path), SYSFS SPE_PREFIX "%u", i);
		if (!exists(path))
			continue;
		any = true;
		*only_first &= !i;
	}
	return any;
}

/* SPE's one limit holds for loads and stores alike, so only loads have it. */
static int choose_spe(const struct memory_record *m, struct record_config *c, const char *pmu, char *text, size_t size,
		      const struct notify *to)
{
	snprintf(text, size, "%s/ts_enable=1,jitter=1,load_filter=%d,store_filter=%d,min_latency=%u%s/", pmu, m->loads,
		 m->stores, m->stores ? 0 : MIN(m->ldlat, MIN_LATENCY_MAX), m->phys ? ",pa_enable=1" : "");
	return record_set_event(&c->events, text, to);
}

/* Is the command one that the virtual PMU has SPE for? What is wrong with it is said later. */
static bool runs_aarch64(char *const command[])
{
	struct sim_program p = { 0 };
	bool yes = command[0] && !sim_program_find(&p, command, NULL) && p.guest == SIM_AARCH64;

	sim_program_free(&p);
	return yes;
}

/* loads: room for the event's text, which has ldlat in it. */
static int choose(const struct memory_record *m, struct record_config *c, char *const command[], char *loads,
		  size_t size, const struct notify *to)
{
	bool only_first = true;

	if (c->o.sim.on ? runs_aarch64(command) : has_spe(&only_first))
		return choose_spe(m, c, only_first ? SPE : SPE_ALL, loads, size, to);
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
	return notify_error(
		to, ERR_NOTFOUND,
		"this machine has no events that say what loads and stores met (mem-loads and mem-stores "
		"of Intel's cores, IBS of AMD's, SPE of Arm's): name events with -e, or run the command on simulated "
		"cores with --pmu=sim");
}

int memory_record(const struct command_ctx *ctx, const struct memory_record *m, int argc, char **words)
{
	struct record_config *c = mem_zalloc(sizeof(*c));
	char loads[128];
	int rest = 0, status;

	cmd_record.defaults(c);
	status = opts_parse(&cmd_record, c, argc - 1, words + 1, &rest, ctx->notify);
	if (status == OPTS_HELP)
		notify_error(ctx->notify, ERR_USAGE, "its options are those of record: reticle record --help");
	status = status ? 2 : 0;
	if (!status && !c->events.n)
		status = choose(m, c, words + 1 + rest, loads, sizeof(loads), ctx->notify) ? EXIT_FAILURE : 0;
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
