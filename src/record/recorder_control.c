/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of --control, which are perf's. The event that follows mappings and tasks stays enabled while other
 * events are disabled. */
#include <string.h>

#include "record/recorder_impl.h"

static void say(const struct recorder *r, const char *what, bool on)
{
	notify_at(r->notify, NOTE_INFO, 0, NULL, NO_OFFSET, "%s %s", what, on ? "enabled" : "disabled");
}

/* name: "" for all events, for which nothing is left then to begin late. */
static void switch_events(struct recorder *r, const char *name, bool on)
{
	if (!event_set_switch(&r->set, *name ? name : NULL, on)) {
		notify_warn(r->notify, "--control: there is no event '%s' to %s", name, on ? "enable" : "disable");
		return;
	}
	r->delayed &= *name != 0;
	r->off = *name ? r->off && !on : !on;
	say(r, *name ? name : "events", on);
}

static void enable(struct recorder *r, const char *rest)
{
	switch_events(r, rest, true);
}

static void disable(struct recorder *r, const char *rest)
{
	switch_events(r, rest, false);
}

static void stop(struct recorder *r, const char *rest)
{
	(void)rest;
	r->stop = true;
}

static void ping(struct recorder *r, const char *rest)
{
	(void)r;
	(void)rest;
}

static void snapshot(struct recorder *r, const char *rest)
{
	(void)rest;
	r->snapshot_due = r->set.aux_overwritten;
	if (r->snapshot_due)
		return;
	notify_warn(r->notify, "--control: there is no snapshot to take: %s",
		    r->set.aux ? "AUX areas are written to the recording as they fill (--snapshot changes that)" :
				 "none of these events has an AUX area");
}

static void list(struct recorder *r, const char *rest)
{
	if (r->tell && r->tell->list)
		r->tell->list(r->tell->ctx, &r->events, rest);
}

static const struct {
	const char *name;
	void (*run)(struct recorder *r, const char *rest);
} commands[] = {
	{ "enable", enable }, { "disable", disable },	{ "stop", stop },
	{ "ping", ping },     { "snapshot", snapshot }, { "evlist", list },
};

/* As perf: what is understood is answered, whatever came of it, so that who waits for the answer goes on. */
static void run_line(void *ctx, char *line)
{
	struct recorder *r = ctx;
	size_t len;

	line += strspn(line, " \t");
	line[strcspn(line, "\r")] = 0;
	len = strcspn(line, " ");
	for (u32 i = 0; i < ARRAY_LEN(commands); i++) {
		if (strlen(commands[i].name) != len || strncmp(commands[i].name, line, len) != 0)
			continue;
		commands[i].run(r, line + len + strspn(line + len, " "));
		control_ack(&r->control, r->notify);
		return;
	}
	if (len)
		notify_warn(r->notify,
			    "--control: '%.60s' is not a command (enable, disable, stop, ping, snapshot, evlist)",
			    line);
}

bool recorder_control(struct recorder *r)
{
	bool open = control_read(&r->control, run_line, r, r->notify);

	if (!open && r->off && !r->stop)
		notify_warn(r->notify, "--control: nobody can give commands any more, and the events are disabled: "
				       "nothing more is recorded");
	return open;
}
