/* SPDX-License-Identifier: Apache-2.0 */
/* Who says what threads work for: a BPF program, or the journals of their programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/activity.h"
#include "record/journals.h"
#include "record/recorder_impl.h"

/* What cannot be done, with BPF or at all; said before anything is opened. */
static int check(const struct recorder *r)
{
	const struct record_opts *o = r->o;
	const struct {
		bool given;
		const char *text;
	} rows[] = {
		{ o->attr.overwrite, "--overwrite: what a thread works for is written only when it changes, and would "
				     "be overwritten" },
		{ o->target.per_thread, "--per-thread: a BPF program writes into the ring of a CPU" },
	};

	for (u32 i = 0; i < (r->journals ? 1 : ARRAY_LEN(rows)); i++)
		if (rows[i].given)
			return notify_error(r->notify, ERR_USAGE, "--activity cannot be combined with %s",
					    rows[i].text);
	return 0;
}

static const char *known_dir(const struct recorder *r)
{
	const char *dir = r->o->activity.journals ? r->o->activity.journals : getenv(JOURNALS_VARIABLE);

	return dir && *dir ? dir : NULL;
}

/* Journals have a clock, which samples must have, too. */
static int use_journals(struct recorder *r)
{
	const struct attr_opts *a = &r->o->attr;
	const char *dir = known_dir(r);

	if (!dir && !r->has_workload)
		return notify_error(
			r->notify, ERR_USAGE,
			"--activity=journal: programs that run already have their journals where they were "
			"told to: start them with " JOURNALS_VARIABLE "=DIR in their environment, and "
			"record with --activity=journal:DIR");
	if (a->use_clockid && a->clockid != CLOCK_MONOTONIC)
		return notify_error(
			r->notify, ERR_USAGE,
			"--activity=journal needs -k monotonic, which is the clock of journals, and not %s",
			a->clock_name);
	r->changed = *r->o;
	r->changed.attr.use_clockid = true;
	r->changed.attr.clockid = CLOCK_MONOTONIC;
	r->changed.attr.clock_name = "monotonic";
	r->changed.attr.time = true;
	r->changed.attr.journal = true;
	r->o = &r->changed;
	if (!r->has_workload)
		event_set_raise_files(); /* each journal is one; with a command when it has been made */
	return journals_begin(&r->journals, dir, r->notify);
}

/* Ours, but for where journals are. */
static void set_environment(struct recorder *r)
{
	size_t length = strlen(JOURNALS_VARIABLE);

	for (char **e = environ; *e; e++)
		if (strncmp(*e, JOURNALS_VARIABLE, length) != 0 || (*e)[length] != '=')
			vec_push(&r->environment, *e);
	r->variable = mem_printf(JOURNALS_VARIABLE "=%s", journals_dir(r->journals));
	vec_push(&r->environment, r->variable);
	vec_push(&r->environment, NULL);
}

int recorder_prepare_activities(struct recorder *r)
{
	int err;

	if (!r->o->attr.activity || r->o->activity.from != ACTIVITY_FROM_JOURNALS)
		return 0;
	err = use_journals(r);
	if (!err)
		set_environment(r);
	return err;
}

/* The reason that the kernel gives, without its being an error. */
struct refusal {
	char text[512];
};

static void keep_reason(void *ctx, const struct note *note)
{
	struct refusal *r = ctx;

	if (note->level == NOTE_ERROR)
		snprintf(r->text, sizeof(r->text), "%s", note->text);
}

int recorder_begin_activities(struct recorder *r)
{
	struct refusal why = { "" };
	const struct notify keep = { keep_reason, &why };
	int err;

	if (!r->o->attr.activity)
		return 0;
	err = check(r);
	if (r->journals)
		event_set_raise_files();
	if (err || r->journals)
		return err;
	if (r->o->activity.from == ACTIVITY_FROM_BPF || !known_dir(r))
		return activities_begin(&r->activities, r->notify);
	err = activities_begin(&r->activities, &keep);
	if (!err) {
		activities_tell(r->activities, r->notify);
		return 0;
	}
	activities_end(r->activities);
	r->activities = NULL;
	notify_warn(r->notify, "%s: activities are those that programs write into journals in %s", why.text,
		    known_dir(r));
	return use_journals(r);
}

#define READ_NS 50000000ull	   /* for a reading of journals, while rings fill; */
#define READ_LAST_NS 2000000000ull /* and for the last one */

static int put_records(void *ctx, const struct bytes *records)
{
	struct recorder *r = ctx;
	const struct iovec part = { records->p, records->len };

	r->round_bytes += records->len;
	return writer_put_data(&r->writer, &part, 1);
}

int recorder_read_journals(struct recorder *r, bool last)
{
	struct journals_sink to = { .put = put_records, .ctx = r };

	if (!r->journals)
		return 0;
	for (size_t i = 0; i < r->set.events.n; i++) {
		const struct open_event *e = &r->set.events.v[i];

		if (e->once && e->on.n) {
			to.layout = &r->events.events.v[i].layout;
			to.id = e->on.v[0].id;
		}
	}
	return to.layout ? journals_read(r->journals, &to, last ? READ_LAST_NS : READ_NS) : 0;
}
