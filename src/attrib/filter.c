/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/filter.h"

#include <stdio.h>
#include <string.h>

#include "attrib/place.h"

int sample_filter_check(const struct sample_filter *f, const struct evlist *l, const struct notify *notify)
{
	u64 asked = (f->cpus.n ? PERF_SAMPLE_CPU : 0) | (f->times ? PERF_SAMPLE_TIME : 0);

	for (size_t i = 0; i < l->events.n; i++) {
		u64 missing = asked & ~l->events.v[i].attr.sample_type;

		if (missing)
			return notify_error(notify, ERR_USAGE, "option %s: samples of '%s' do not say %s",
					    missing & PERF_SAMPLE_CPU ? "--cpu" : "--time", l->events.v[i].name,
					    missing & PERF_SAMPLE_CPU ?
						    "on which CPU they were taken (record with --sample-cpu)" :
						    "when they were taken (record with -T)");
	}
	return 0;
}

const char *thread_made_up_name(u32 tid, char buf[THREAD_NAME_SIZE])
{
	snprintf(buf, THREAD_NAME_SIZE, ":%d", (s32)tid);
	return buf;
}

bool sample_filter_thread(const struct sample_filter *f, u32 pid, u32 tid, const struct thread_view *t,
			  const struct strtab *strings)
{
	char made_up[THREAD_NAME_SIZE];

	if (!u32_list_holds(&f->pids, pid) || !u32_list_holds(&f->tids, tid))
		return false;
	if (!f->comms.n)
		return true;
	return name_list_holds(&f->comms,
			       t->comm == ID_NONE ? thread_made_up_name(tid, made_up) : strtab_get(strings, t->comm));
}

bool place_filter_keeps(const struct place_filter *f, const struct dso *dso, bool resolved, const char *name)
{
	if (f->hide_unresolved && !resolved)
		return false;
	if (!name_list_holds(&f->dsos, dso->short_name) && !name_list_holds(&f->dsos, dso->path))
		return false;
	if (!place_filter_names(f))
		return true;
	return name && name_list_holds(&f->symbols, name) && (!f->symbol_part || strstr(name, f->symbol_part));
}

bool place_filter_keeps_code(const struct place_filter *f, struct dsos *dsos, u32 dso, u32 sym, u64 addr)
{
	char buf[PLACE_MADE_UP];
	const char *name = NULL;

	if (place_filter_names(f))
		name = sym != ID_NONE ? dsos_symbol_name(dsos, dso, sym) :
					place_made_up_name(dsos, dso, addr, buf, sizeof(buf));
	return place_filter_keeps(f, dsos_at(dsos, dso), sym != ID_NONE, name);
}
