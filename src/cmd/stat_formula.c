/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A formula speaks of roles; here each role has the event that is opened for it. A metric's events make a group, so
 * that they are counted at the same time, as long as the counters suffice (modifier W).
 */
#include "cmd/stat_formula.h"

#include <math.h>
#include <strings.h>
#include <unistd.h>

#include "base/mistake.h"
#include "cmd/stat.h"
#include "codec/event_role.h"

#define SYSFS_TOPDOWN "/sys/bus/event_source/devices/cpu/events/topdown-retiring"

/* Where it is not called as the role is. NULL: no such event is known. */
static const struct {
	const char *hardware, *virtual;
} role_events[NR_ROLES] = {
	[ROLE_BRANCH_RETURNS] = { NULL, "re" },
	[ROLE_L1D_LOADS] = { "L1-dcache-loads", "L1-dcache-loads" },
	[ROLE_L1D_LOAD_MISSES] = { "L1-dcache-load-misses", "L1-dcache-load-misses" },
	[ROLE_L1I_MISSES] = { "L1-icache-load-misses", "L1-icache-load-misses" },
	[ROLE_L2_REFERENCES] = { NULL, "r16" },
	[ROLE_L2_MISSES] = { NULL, "r17" },
	[ROLE_LLC_LOADS] = { "LLC-loads", "LLC-loads" },
	[ROLE_LLC_LOAD_MISSES] = { "LLC-load-misses", "LLC-load-misses" },
	[ROLE_DTLB_LOADS] = { "dTLB-loads", "dTLB-loads" },
	[ROLE_DTLB_LOAD_MISSES] = { "dTLB-load-misses", "dTLB-load-misses" },
	[ROLE_ITLB_MISSES] = { "iTLB-load-misses", NULL },
	[ROLE_SLOTS] = { "slots", "r10000" },
	[ROLE_SLOTS_RETIRING] = { "topdown-retiring", "r3a" },
	[ROLE_SLOTS_BAD_SPECULATION] = { "topdown-bad-spec", "r10001" },
	[ROLE_SLOTS_FRONTEND] = { "topdown-fe-bound", "r3e" },
	[ROLE_SLOTS_BACKEND] = { "topdown-be-bound", "r3d" },
	[ROLE_CALLS] = { NULL, "r10002" },
	[ROLE_TIME] = { "task-clock", NULL },
};

static const char *role_event(u32 role, bool simulated)
{
	bool listed = role_events[role].hardware || role_events[role].virtual;

	if (!listed)
		return event_role_names[role];
	return simulated ? role_events[role].virtual : role_events[role].hardware;
}

static bool in_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == ':';
}

/* The roles of a formula, in order, each once. NR_ROLES bits. False: it is none of counts alone. */
static u64 roles_of(const char *formula)
{
	u64 roles = 0;

	while (*formula) {
		size_t len = 0;
		u32 role;

		while (in_name(formula[len]))
			len++;
		role = len ? event_role_find(formula, len) : ID_NONE;
		if (role != ID_NONE)
			roles |= 1ull << role;
		else if (len && !(*formula >= '0' && *formula <= '9'))
			return 0;
		formula += MAX(len, (size_t)1);
	}
	return roles;
}

/* "{cycles,instructions}:W" */
static bool group_text(u64 roles, bool simulated, struct bytes *out)
{
	u32 n = 0;

	bytes_char(out, '{');
	for (u32 i = 0; i < NR_ROLES; i++) {
		const char *event = roles >> i & 1 ? role_event(i, simulated) : "";

		if (!event)
			return false;
		if (*event)
			bytes_printf(out, "%s%s", n++ ? "," : "", event);
	}
	bytes_str(out, "}:W");
	bytes_u8(out, 0);
	return n > 0;
}

static bool is_chosen(const struct stat_formulas *f, u32 def)
{
	for (size_t i = 0; i < f->v.n; i++)
		if (!strcasecmp(metric_defs[f->v.v[i].def].name, metric_defs[def].name))
			return true;
	return false;
}

/* 1: added; 0: it cannot be had here. */
static int add(struct stat_formulas *f, u32 def, const struct event_env *env, struct event_specs *specs,
	       const struct notify *to)
{
	u32 first = (u32)specs->v.n;
	struct bytes text = { 0 };
	u64 roles = roles_of(metric_defs[def].formula);
	int err = 0;

	if (!roles || is_chosen(f, def) || !group_text(roles, env->simulated, &text)) {
		bytes_free(&text);
		return 0;
	}
	err = event_specs_parse(specs, (const char *)text.p, env, to);
	bytes_free(&text);
	if (err)
		return err;
	vec_push(&f->v, (struct stat_formula){ .def = def, .event = first });
	for (size_t i = first; i < specs->v.n; i++) {
		const struct event_spec *s = &specs->v.v[i];
		u32 role = event_role_of(&s->attr, s->name, env->simulated);

		if (f->group.nr == WINDOW_MEMBERS)
			return notify_error(to, ERR_LIMIT, "-M: at most %u events at once: name fewer metrics",
					    WINDOW_MEMBERS);
		f->group.events[f->group.nr] = evlist_add(&f->evlist, &s->attr, s->name, to);
		f->group.roles[f->group.nr++] = (u8)(role == ID_NONE ? NR_ROLES : role);
	}
	return 1;
}

static int unknown(const char *word, const struct notify *to)
{
	struct near near = { .want = { word, (u32)strlen(word) } };
	struct bytes names = { 0 };
	int err;

	for (u32 i = 0; i < nr_metric_defs; i++) {
		near_offer(&near, metric_defs[i].name);
		if (!i || strcmp(metric_defs[i].set, metric_defs[i - 1].set)) {
			near_offer(&near, metric_defs[i].set);
			bytes_printf(&names, "%s%s", i ? ", " : "", metric_defs[i].set);
		}
	}
	bytes_u8(&names, 0);
	err = notify_error(to, ERR_USAGE, "-M: no metric or set of metrics '%s' that counts give (sets: %s; reticle list metrics)",
			   word, (const char *)names.p);
	bytes_free(&names);
	return err;
}

int stat_formulas_choose(struct stat_formulas *f, const char *list, const struct event_env *env,
			 struct event_specs *specs, const struct notify *to)
{
	char *copy = mem_strdup(list), *save = NULL;
	int err = 0;

	for (char *word = strtok_r(copy, ",", &save); word && err >= 0; word = strtok_r(NULL, ",", &save)) {
		size_t before = f->v.n;

		for (u32 i = 0; i < nr_metric_defs && err >= 0; i++)
			if (!strcasecmp(word, metric_defs[i].name) || !strcasecmp(word, metric_defs[i].set) ||
			    !strcasecmp(word, "all"))
				err = add(f, i, env, specs, to);
		if (err >= 0 && f->v.n == before)
			err = unknown(word, to);
	}
	free(copy);
	return MIN(err, 0);
}

int stat_formulas_topdown(struct stat_formulas *f, const struct event_env *env, struct event_specs *specs,
			  const struct notify *to)
{
	if (!env->simulated && access(SYSFS_TOPDOWN, F_OK))
		return notify_error(to, ERR_UNSUPPORTED,
				    "--topdown: this machine's PMU does not tell where slots go (no event "
				    "topdown-retiring); --pmu=sim counts them on a simulated core");
	return stat_formulas_choose(f, "topdown", env, specs, to);
}

/* Formulas are of the first event of each role, and these are of the group's own: offsets of that group. */
static double evaluate(const struct stat_table *t, size_t key, const struct stat_formula *formula)
{
	const struct stat_formulas *f = t->view->formulas;
	double row[EXPR_VARS] = { 0 }, total[EXPR_VARS] = { 0 };
	struct metric_expr x = { 0 };
	struct expr_fault fault = { 0 };
	struct window_group own = { 0 };
	size_t first = formula->event;

	/* Its group's members begin at its first event, and formulas were the first that were asked for. */
	for (u32 i = 0; i < f->group.nr; i++) {
		if (i < first || (size_t)own.nr >= t->view->r->events.n)
			continue;
		own.events[own.nr] = f->group.events[i];
		own.roles[own.nr] = f->group.roles[i];
		row[own.nr++] = stat_table_cell(t, key, i)->state == COUNT_OK ? stat_table_cell(t, key, i)->value : NAN;
	}
	if (!metric_expr_parse(&x, metric_defs[formula->def].formula, &own, &f->evlist, &fault))
		return NAN;
	return metric_expr_value(&x, x.root, row, total, NULL);
}

bool stat_formula_at(const struct stat_table *t, size_t key, size_t event, size_t *i, struct stat_formula_value *out)
{
	const struct stat_formulas *f = t->view->formulas;

	while (*i < f->v.n) {
		const struct stat_formula *formula = &f->v.v[(*i)++];
		const struct metric_def *def = &metric_defs[formula->def];

		if (formula->event != event)
			continue;
		*out = (struct stat_formula_value){ def->name, evaluate(t, key, formula), def->decimals };
		if (isfinite(out->value))
			return true;
	}
	return false;
}

void stat_formulas_free(struct stat_formulas *f)
{
	vec_free(&f->v);
	evlist_free(&f->evlist);
}
