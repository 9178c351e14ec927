/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/report_stacks.h"

#define DEFAULT_PARENT "^sys_|^do_page_fault" /* perf's */

static int compile(regex_t *r, const char *option, const char *text, const struct notify *to)
{
	char why[128];
	int err = regcomp(r, text, REG_EXTENDED | REG_NOSUB);

	if (!err)
		return 0;
	regerror(err, r, why, sizeof(why));
	return notify_error(to, ERR_USAGE, "option %s: '%s' is not a regular expression: %s", option, text, why);
}

static bool has_key(const struct pipeline_opts *p, u32 key)
{
	for (u32 i = 0; i < p->nr_sort; i++)
		if (p->sort_order[i] == key)
			return true;
	return false;
}

static void add_parent_key(const struct report_config *c, struct pipeline_opts *p, struct report_opts *o)
{
	if (has_key(p, SORT_PARENT))
		return;
	p->sort_order[p->nr_sort++] = SORT_PARENT;
	if (c->fields && *c->fields != '+' && o->nr_columns < REPORT_MAX_COLUMNS)
		o->columns[o->nr_columns++] = COLUMN_PARENT;
}

int report_stacks_resolve(const struct report_config *c, struct selected *s, struct report_opts *o,
			  struct report_stacks *out, const struct notify *to)
{
	struct pipeline_opts *p = &s->pipeline;
	int err;

	if (c->ignore_callees) {
		err = compile(&out->ignore_callees, "--ignore-callees", c->ignore_callees, to);
		if (err)
			return err;
		p->restack.ignore_callees = &out->ignore_callees;
	}
	if (c->parent)
		add_parent_key(c, p, o);
	if (has_key(p, SORT_PARENT)) {
		err = compile(&out->parent, "--parent", c->parent ? c->parent : DEFAULT_PARENT, to);
		if (err)
			return err;
		p->restack.parent = &out->parent;
	} else if (c->exclude_other) {
		return notify_error(to, ERR_USAGE,
				    "-x leaves out rows without a parent: it needs -p or --sort parent");
	}
	if (!p->restack.ignore_callees && !p->restack.parent) {
		if (c->branch_history && !c->hierarchy && (c->json || o->graph != GRAPH_NONE))
			p->measures |= MEASURE_BIT(MEASURE_BRANCH_NOTES);
		return 0;
	}
	if (p->measures)
		return notify_error(to, ERR_USAGE,
				    "%s and measured columns (weight_mean, overhead_sys, ...) exclude each other, "
				    "because stacks are put together again",
				    c->ignore_callees ? "--ignore-callees" :
				    c->parent	      ? "--parent" :
							"--sort parent");
	p->rows.exclude_other = c->exclude_other;
	p->restack.outermost = o->caller;
	p->no_chains = false;
	return 0;
}

void report_stacks_free(struct report_stacks *r, const struct selected *s)
{
	if (s->pipeline.restack.ignore_callees)
		regfree(&r->ignore_callees);
	if (s->pipeline.restack.parent)
		regfree(&r->parent);
}

/* Do samples of some event say what data they loaded or stored? */
static bool has_accesses(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++)
		if (l->events.v[i].attr.sample_type & PERF_SAMPLE_DATA_SRC)
			return true;
	return false;
}

int report_stacks_check(const struct profile *p, const char *path, const struct notify *to)
{
	if (p->costs && p->tally.samples && !has_accesses(p->evlist))
		return notify_at(to, NOTE_ERROR, ERR_NOTFOUND, path, NO_OFFSET,
				 "the samples do not say what was loaded or stored: record memory events with --data, "
				 "or Arm SPE ('reticle mem --help')");
	if (p->has_chains || !(p->sort_keys >> SORT_PARENT & 1))
		return 0;
	return notify_error(to, ERR_USAGE, "the recording has no call chains to look for parents in: record with -g");
}
