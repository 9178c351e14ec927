/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of --window, of alternating periods in -e, and of neither: which windows are made, and how. */
#include <stdlib.h>
#include <string.h>

#include "io/recorder_impl.h"

#define DEFAULT_FREQ 4000

static struct window_rate window_rate(const struct attr_opts *o)
{
	if (o->period != RECORD_UNSET)
		return (struct window_rate){ o->period, false };
	return (struct window_rate){ o->freq != RECORD_UNSET ? o->freq : DEFAULT_FREQ, true };
}

static void say(const struct recorder *r, enum window_how how, const char *why)
{
	for (size_t i = 0; i < r->specs->v.n; i++) {
		const struct event_spec *s = &r->specs->v.v[i];

		if (!s->windowed)
			continue;
		notify_at(r->notify, NOTE_INFO, 0, NULL, NO_OFFSET, "windows: %s (%s): %s", window_how_names[how], why,
			  s->name);
	}
}

static int plan_sim(struct recorder *r)
{
	struct window_opts o = r->o->window;
	struct bytes group = { 0 };
	int err = 0;

	if (o.how != WINDOW_AUTO && o.how != WINDOW_SIM)
		return notify_error(
			r->notify, ERR_USAGE,
			"mode=%s is for PMUs that cannot alternate periods, and the virtual PMU can: leave it "
			"out",
			window_how_names[o.how]);
	if (!r->specs->v.n && o.wish != WINDOW_REFUSED && !r->o->attr.no_samples) {
		o.wish = WINDOW_ASKED;
		window_default_group(&o, WINDOW_SIM, r->o->sim.v.models, false, &group);
		err = event_specs_parse(r->specs, (const char *)group.p, NULL, r->notify);
		bytes_free(&group);
	}
	if (err || !r->specs->v.n)
		return err;
	err = window_take_specs(r->specs, &o, true, r->notify);
	if (!err)
		err = window_make_specs(r->specs, WINDOW_SIM, window_rate(&r->o->attr), (struct window_speed){ 0 },
					r->notify);
	if (!err)
		say(r, WINDOW_SIM, "the virtual PMU alternates periods");
	return err;
}

int recorder_plan_windows(struct recorder *r)
{
	return plan_sim(r);
}
