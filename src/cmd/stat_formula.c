/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A formula uses roles; this file has the event that is opened for each role. The events of a metric form a group, so
 * that they are counted at the same time if there are enough counters (modifier W). The virtual PMU counts everything
 * all the time: there each event is needed only once, and without a group.
 */
#include "cmd/stat_formula.h"

#include <math.h>
#include <strings.h>
#include <unistd.h>

#include "base/mistake.h"
#include "cmd/stat.h"
#include "codec/event_role.h"
#include "sys/machine.h"

#define SYSFS_TOPDOWN "/sys/bus/event_source/devices/cpu/events/topdown-retiring"

/* Where it is not called as the role is. NULL: no such event is known. */
static const struct {
	const char *hardware, *virtual;
} role_events[NR_ROLES] = {
	[ROLE_BRANCH_RETURNS] = { NULL, "cpu/config=0xe,name=branch-returns/" },
	[ROLE_L1D_LOADS] = { "L1-dcache-loads", "L1-dcache-loads" },
	[ROLE_L1D_LOAD_MISSES] = { "L1-dcache-load-misses", "L1-dcache-load-misses" },
	[ROLE_L1I_MISSES] = { "L1-icache-load-misses", "L1-icache-load-misses" },
	[ROLE_L2_REFERENCES] = { NULL, "cpu/config=0x16,name=l2-references/" },
	[ROLE_L2_MISSES] = { NULL, "cpu/config=0x17,name=l2-misses/" },
	[ROLE_LLC_LOADS] = { "LLC-loads", "LLC-loads" },
	[ROLE_LLC_LOAD_MISSES] = { "LLC-load-misses", "LLC-load-misses" },
	[ROLE_DTLB_LOADS] = { "dTLB-loads", "dTLB-loads" },
	[ROLE_DTLB_LOAD_MISSES] = { "dTLB-load-misses", "dTLB-load-misses" },
	[ROLE_ITLB_MISSES] = { "iTLB-load-misses", NULL },
	[ROLE_SLOTS] = { "slots", "cpu/config=0x10000,name=slots/" },
	[ROLE_SLOTS_RETIRING] = { "topdown-retiring", "cpu/config=0x3a,name=slots-retiring/" },
	[ROLE_SLOTS_BAD_SPECULATION] = { "topdown-bad-spec", "cpu/config=0x10001,name=slots-bad-speculation/" },
	[ROLE_SLOTS_FRONTEND] = { "topdown-fe-bound", "cpu/config=0x3e,name=slots-frontend/" },
	[ROLE_SLOTS_BACKEND] = { "topdown-be-bound", "cpu/config=0x3d,name=slots-backend/" },
	[ROLE_CALLS] = { NULL, "cpu/config=0x10002,name=calls/" },
	[ROLE_TIME] = { "task-clock", NULL },
};

/* What cache-references and cache-misses count elsewhere. */
static bool of_other_machines(u32 role)
{
	return role == ROLE_L1D_REFERENCES || role == ROLE_L1D_MISSES || role == ROLE_LLC_REFERENCES ||
	       role == ROLE_LLC_MISSES;
}

static const char *role_event(u32 role, enum event_machine machine)
{
	bool listed = role_events[role].hardware || role_events[role].virtual;
	const char *named = machine == MACHINE_SIM ? role_events[role].virtual : role_events[role].hardware;

	for (u32 references = 0; references < 2; references++)
		if (role == event_role_of_caches(machine, references) && !named)
			return references ? "cache-references" : "cache-misses";
	return listed ? named : of_other_machines(role) ? NULL : event_role_names[role];
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
static void group_text(u64 roles, enum event_machine machine, struct bytes *out)
{
	u32 n = 0;

	bytes_str(out, machine == MACHINE_SIM ? "" : "{");
	for (u32 i = 0; i < NR_ROLES; i++)
		if (roles >> i & 1)
			bytes_printf(out, "%s%s", n++ ? "," : "", role_event(i, machine));
	bytes_str(out, machine == MACHINE_SIM ? "" : "}:W");
	bytes_u8(out, 0);
}

/* Has this PMU events for all of them? */
static bool can_be_had(u64 roles, enum event_machine machine)
{
	for (u32 i = 0; i < NR_ROLES; i++)
		if (roles >> i & 1 && !role_event(i, machine))
			return false;
	return roles;
}

static bool is_chosen(const struct stat_formulas *f, u32 def)
{
	for (size_t i = 0; i < f->v.n; i++)
		if (!strcasecmp(metric_defs[f->v.v[i].def].name, metric_defs[def].name))
			return true;
	return false;
}

/* The event of that role among those of one group (leader ID_NONE: of any); ID_NONE. */
static u32 find_event(const struct event_specs *specs, u32 leader, u32 role, enum event_machine machine)
{
	for (u32 i = 0; i < specs->v.n; i++) {
		const struct event_spec *s = &specs->v.v[i];

		if ((leader == ID_NONE || s->leader == leader) && event_role_of(&s->attr, s->name, machine) == role)
			return i;
	}
	return ID_NONE;
}

/* Which of them that group has not. */
static u64 missing_in(const struct event_specs *specs, u32 leader, u64 roles, enum event_machine machine)
{
	u64 missing = 0;

	for (u32 i = 0; i < NR_ROLES; i++)
		if (roles >> i & 1 && find_event(specs, leader, i, machine) == ID_NONE)
			missing |= 1ull << i;
	return missing;
}

/* The leader of a group that has all these roles, which is made if there is none; ID_NONE: events outside groups. */
static int find_group(struct event_specs *specs, u64 roles, const struct event_env *env, enum event_machine machine,
		      u32 *leader, const struct notify *to)
{
	struct bytes text = { 0 };
	int err = 0;

	*leader = ID_NONE;
	for (u32 i = 0; !env->simulated && i < specs->v.n; i++) {
		*leader = specs->v.v[i].leader;
		if (!missing_in(specs, *leader, roles, machine))
			return 0;
	}
	if (env->simulated)
		roles = missing_in(specs, ID_NONE, roles, machine);
	else
		*leader = (u32)specs->v.n;
	if (roles) {
		group_text(roles, machine, &text);
		err = event_specs_parse(specs, (const char *)text.p, env, to);
	}
	bytes_free(&text);
	return err;
}

static int add(struct stat_formulas *f, u32 def, u64 roles, const struct event_env *env, struct event_specs *specs,
	       const struct notify *to)
{
	struct stat_formula formula = { .def = def };
	static const struct evlist no_names;
	struct window_group own = { 0 };
	struct expr_fault fault = { 0 };
	u32 leader;
	int err = find_group(specs, roles, env, f->machine, &leader, to);

	if (err)
		return err;
	for (u32 i = 0; i < NR_ROLES; i++) {
		if (!(roles >> i & 1))
			continue;
		formula.events[formula.nr++] = find_event(specs, leader, i, f->machine);
		own.roles[own.nr++] = (u8)i;
	}
	if (!metric_expr_parse(&formula.expr, metric_defs[def].formula, &own, &no_names, &fault))
		return notify_error(to, ERR_USAGE, "-M %s: its formula is not understood", metric_defs[def].name);
	vec_push(&f->v, formula);
	return 0;
}

static bool is_set(const char *word)
{
	for (u32 i = 0; i < nr_metric_defs; i++)
		if (!strcmp(word, metric_defs[i].set))
			return true;
	return !strcmp(word, "all");
}

/* "ipc" is a set, "IPC" a metric of it. */
static bool is_named(const char *word, u32 def)
{
	if (is_set(word))
		return !strcmp(word, "all") || !strcmp(word, metric_defs[def].set);
	return !strcasecmp(word, metric_defs[def].name);
}

/* One of that name, or a set in which there is one, that counts alone give. */
static bool is_known(const char *word)
{
	for (u32 i = 0; i < nr_metric_defs; i++)
		if (is_named(word, i) && roles_of(metric_defs[i].formula))
			return true;
	return false;
}

static int unknown(const char *word, const struct notify *to)
{
	struct near near = { .want = { word, (u32)strlen(word) } };
	struct bytes names = { 0 };
	const char *set = "";
	char *head;
	int err;

	for (u32 i = 0; i < nr_metric_defs; i++) {
		if (!roles_of(metric_defs[i].formula))
			continue;
		near_offer(&near, metric_defs[i].name);
		if (strcmp(metric_defs[i].set, set))
			bytes_printf(&names, "%s, ", set = metric_defs[i].set);
		near_offer(&near, set);
	}
	bytes_printf(&names, "all");
	bytes_u8(&names, 0);
	head = mem_printf("-M: there is no metric '%s' that counts can give (sets: %s)", word, (const char *)names.p);
	err = mistake_note(&(struct mistake){ .near = &near }, ERR_USAGE, head, to);
	free(head);
	bytes_free(&names);
	return err;
}

static int choose(struct stat_formulas *f, const char *word, const struct event_env *env, struct event_specs *specs,
		  const struct notify *to)
{
	bool any = false;
	int err = 0;

	if (!is_known(word))
		return unknown(word, to);
	for (u32 i = 0; i < nr_metric_defs && !err; i++) {
		u64 roles = roles_of(metric_defs[i].formula);

		if (!is_named(word, i) || !can_be_had(roles, f->machine))
			continue;
		any = true;
		if (!is_chosen(f, i))
			err = add(f, i, roles, env, specs, to);
	}
	if (any || err)
		return err;
	return notify_error(to, ERR_USAGE, "-M %s: no known event counts this on this machine%s", word,
			    env->simulated ? "" : "; --pmu=sim counts it on a simulated core");
}

int stat_formulas_choose(struct stat_formulas *f, const char *list, const struct event_env *env,
			 struct event_specs *specs, const struct notify *to)
{
	char *copy = mem_strdup(list), *save = NULL;
	int err = 0;

	f->machine = env->simulated ? MACHINE_SIM : machine_events();
	for (char *word = strtok_r(copy, ",", &save); word && !err; word = strtok_r(NULL, ",", &save))
		err = choose(f, word, env, specs, to);
	if (!err && !f->v.n)
		err = notify_error(to, ERR_USAGE, "-M: no metric is named");
	free(copy);
	return err;
}

/* All parts of the slots in one group, whose leader counts them all: so hardware wants it. */
int stat_formulas_topdown(struct stat_formulas *f, const struct event_env *env, struct event_specs *specs,
			  const struct notify *to)
{
	const u64 slots = 1ull << ROLE_SLOTS | 1ull << ROLE_SLOTS_RETIRING | 1ull << ROLE_SLOTS_BAD_SPECULATION |
			  1ull << ROLE_SLOTS_FRONTEND | 1ull << ROLE_SLOTS_BACKEND;
	u32 leader;
	int err;

	if (!env->simulated && access(SYSFS_TOPDOWN, F_OK))
		return notify_error(to, ERR_UNSUPPORTED,
				    "--topdown: this machine's PMU does not count slots (it has no event "
				    "topdown-retiring); --pmu=sim counts them on a simulated core");
	f->machine = env->simulated ? MACHINE_SIM : machine_events();
	err = find_group(specs, slots, env, f->machine, &leader, to);
	return err ? err : stat_formulas_choose(f, "topdown", env, specs, to);
}

/* NAN: not all of its events were counted. */
static double evaluate(const struct stat_table *t, size_t key, const struct stat_formula *formula)
{
	double row[EXPR_VARS] = { 0 }, total[EXPR_VARS] = { 0 };

	for (u32 i = 0; i < formula->nr; i++) {
		const struct stat_cell *c = stat_table_cell(t, key, formula->events[i]);

		row[i] = c->state == COUNT_OK ? c->value : NAN;
	}
	return metric_expr_value(&formula->expr, formula->expr.root, row, total, NULL);
}

bool stat_formula_at(const struct stat_table *t, size_t key, size_t event, size_t *i, struct stat_formula_value *out)
{
	const struct stat_formulas *f = t->view->formulas;

	while (*i < f->v.n) {
		const struct stat_formula *formula = &f->v.v[(*i)++];
		const struct metric_def *def = &metric_defs[formula->def];

		if (formula->events[0] != event)
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
}
