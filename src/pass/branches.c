/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/branches.h"

#include <string.h>

#include "agg/keys.h"
#include "attrib/branch_history.h"

static const u8 usual[] = { SORT_COMM, SORT_DSO_FROM, SORT_SYMBOL_FROM, SORT_SYMBOL_TO, SORT_CYCLES };

static bool holds_branches(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++)
		if (branch_history_event(&l->events.v[i]))
			return true;
	return false;
}

/* Does the recording say that it is one of branches? As perf, files do by a feature; streams have none. */
static bool is_of_branches(const struct source *src)
{
	bool said = src->features.present[FEAT_BRANCH_STACK / 64] >> (FEAT_BRANCH_STACK % 64) & 1;

	return holds_branches(&src->events) && (said || src->pipe);
}

static const char *branch_key(const struct pipeline_opts *o)
{
	for (u32 i = 0; i < o->nr_sort; i++)
		if (key_is_branch(o->sort_order[i]))
			return sort_key_row(o->sort_order[i])->column.name;
	return NULL;
}

/* The usual keys of samples, at the beginning, make way for those of branches; the others follow. */
static void change_usual_keys(struct pipeline_opts *o)
{
	u8 order[MAX_KEYS];
	u32 n = sizeof(usual);

	if (!o->nr_usual && o->nr_sort)
		return;
	memcpy(order, usual, n);
	for (u32 i = o->nr_usual; i < o->nr_sort; i++)
		if (!memchr(order, o->sort_order[i], n))
			order[n++] = o->sort_order[i];
	memcpy(o->sort_order, order, n);
	o->nr_sort = n;
}

int branches_settle(struct pipeline_opts *o, const struct source *src, bool *on, const struct notify *notify)
{
	bool any = holds_branches(&src->events);
	const char *key = branch_key(o);

	*on = o->branches == BRANCHES_ON || (o->branches == BRANCHES_AUTO && is_of_branches(src));
	if (o->branches == BRANCHES_HISTORY && !any)
		return notify_at(notify, NOTE_ERROR, ERR_NOTFOUND, src->path, NO_OFFSET,
				 "option --branch-history: no samples of the recording contain branches (record with "
				 "-b, and with -g for callers)");
	if (!*on)
		return !key ? 0 :
			      notify_error(notify, ERR_USAGE, "key %s: rows are of samples, not of branches%s", key,
					   any ? " (count branches with reticle report --branch-stack)" :
						 ", which the recording does not have (record with -b)");
	if (!any)
		return notify_at(notify, NOTE_ERROR, ERR_NOTFOUND, src->path, NO_OFFSET,
				 "option --branch-stack: no samples of the recording contain branches "
				 "(record with -b)");
	change_usual_keys(o);
	o->windows = NULL;
	o->no_chains = true;
	o->children = o->costs = false;
	return 0;
}
