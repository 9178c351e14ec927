/* SPDX-License-Identifier: Apache-2.0 */
/* -M and --topdown: metrics of metric/metrics.h, made of counts instead of windows. */
#ifndef CMD_STAT_FORMULA_H
#define CMD_STAT_FORMULA_H

#include "codec/event_role.h"
#include "events/spec.h"
#include "metric/metrics.h"
#include "record/counter.h"

struct stat_table;

struct stat_formula {
	u32 def;		 /* of metric_defs */
	u32 nr;			 /* its roles */
	u32 events[NR_ROLES];	 /* of each role: the index of the event that has it; whose line it stands in is the
				    first's */
	struct metric_expr expr; /* over these, in this order */
};

struct stat_formulas {
	VEC(struct stat_formula) v;
	enum event_machine machine; /* whose events these are of */
};

struct stat_formula_value {
	const char *name;
	double value;
	int decimals;
};

/*
 * Adds the events that the metrics and sets of that list need ("IPC,cache"): a group for each metric, unless a group
 * that is there has them all. ERR_USAGE, noted.
 */
int stat_formulas_choose(struct stat_formulas *f, const char *list, const struct event_env *env,
			 struct event_specs *specs, const struct notify *to);
/* --topdown. ERR_UNSUPPORTED, noted, where the PMU does not count slots. */
int stat_formulas_topdown(struct stat_formulas *f, const struct event_env *env, struct event_specs *specs,
			  const struct notify *to);
/* The next value that stands in the line of that event; *i: 0 at first. False: there is none. */
bool stat_formula_at(const struct stat_table *t, size_t key, size_t event, size_t *i, struct stat_formula_value *out);
void stat_formulas_free(struct stat_formulas *f);

#endif
