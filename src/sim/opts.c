/* SPDX-License-Identifier: Apache-2.0 */
/* A key is one row of keys[]. The list of models contains commas, too, as in models=branch,cache,seed=1. */
#include "sim/opts.h"

#include <stdio.h>

#include "base/optext.h"

#define DEFAULT_SEED 1
#define DEFAULT_QUANTUM 3000000 /* a millisecond at 3 GHz */
#define DEFAULT_BRANCHES 32
#define CPUS_MAX 1024
#define RATE_MAX 1000000000

struct parser {
	struct sim_opts *o;
	struct optext t;
};

static int want_number(const struct parser *p, u64 max, u64 *out)
{
	char head[96];

	if (str_number(p->t.at, max, out))
		return 0;
	if (max == UINT64_MAX)
		return optext_fail(&p->t, NULL, NULL, "expected a decimal number");
	snprintf(head, sizeof(head), "expected a decimal number up to %llu", (unsigned long long)max);
	return optext_fail(&p->t, NULL, NULL, head);
}

static int want_u32(const struct parser *p, u64 max, u32 *out)
{
	u64 v = 0;
	int err = want_number(p, max, &v);

	*out = (u32)v;
	return err;
}

static int set_core(struct parser *p)
{
	u32 which = 0;
	int err = optext_choose(&p->t, vpmu_core_names, sizeof(*vpmu_core_names), NR_VPMU_CORES,
				"there is no such core", "cores: ", &which);

	p->o->v.core = which;
	p->o->core_given = !err;
	return err;
}

static const struct {
	const char *name;
	u32 bits;
} models[] = {
	{ "none", 0 },
	{ "branch", VPMU_MODEL_BRANCH },
	{ "cache", VPMU_MODEL_CACHE },
	{ "tlb", VPMU_MODEL_TLB },
	{ "all", VPMU_MODEL_ALL },
};

static bool add_model(struct sim_opts *o, struct str word)
{
	for (u32 i = 0; i < ARRAY_LEN(models); i++) {
		if (!str_is(word, models[i].name))
			continue;
		o->v.models |= models[i].bits;
		return true;
	}
	return false;
}

static void near_models(struct near *n)
{
	for (u32 i = 0; i < ARRAY_LEN(models); i++)
		near_offer(n, models[i].name);
}

static int set_models(struct parser *p)
{
	struct near near = { .want = p->t.at };

	p->o->v.models = 0;
	if (add_model(p->o, p->t.at))
		return 0;
	near_models(&near);
	return optext_fail(&p->t, &near, "models: none, all, or a list of branch, cache, tlb", "no such model");
}

static int set_seed(struct parser *p)
{
	return want_number(p, UINT64_MAX, &p->o->v.seed);
}

static int set_skid(struct parser *p)
{
	struct str a = p->t.at, b = p->t.at;
	u64 min, max;

	str_split(p->t.at, '-', &a, &b);
	if (!str_number(a, UINT16_MAX, &min) || !str_number(b, UINT16_MAX, &max) || min > max)
		return optext_fail(&p->t, NULL, NULL,
				   "expected a number of instructions, A or A-B with A not larger than B");
	p->o->v.skid_min = (u32)min;
	p->o->v.skid_max = (u32)max;
	return 0;
}

static int set_throttle(struct parser *p)
{
	return want_u32(p, RATE_MAX, &p->o->v.throttle);
}

static int set_lose(struct parser *p)
{
	struct str a, b;
	u64 count, every;

	if (!str_split(p->t.at, '/', &a, &b) || !str_number(a, UINT32_MAX, &count) ||
	    !str_number(b, UINT32_MAX, &every) || !every || count > every)
		return optext_fail(&p->t, NULL, NULL, "expected COUNT/EVERY: COUNT out of EVERY samples get lost");
	p->o->v.lose_count = (u32)count;
	p->o->v.lose_every = (u32)every;
	return 0;
}

static int set_interrupt(struct parser *p)
{
	return want_u32(p, UINT32_MAX, &p->o->v.interrupt_cycles);
}

static int set_cpus(struct parser *p)
{
	return want_u32(p, CPUS_MAX, &p->o->v.cpus);
}

static int set_quantum(struct parser *p)
{
	int err = want_number(p, UINT64_MAX, &p->o->v.quantum);

	return err || p->o->v.quantum ? err : optext_fail(&p->t, NULL, NULL, "a quantum has at least one cycle");
}

static int set_branches(struct parser *p)
{
	int err = want_u32(p, VPMU_BRANCHES_MAX, &p->o->v.branch_depth);

	return err || p->o->v.branch_depth ? err :
					     optext_fail(&p->t, NULL, NULL, "there has to be at least one record");
}

static int set_records(struct parser *p)
{
	u32 which = 0;
	int err = optext_choose(&p->t, vpmu_branch_kinds, sizeof(*vpmu_branch_kinds), NR_VPMU_BRANCH_KINDS,
				"there is no such kind of branch records", "kinds: ", &which);

	p->o->v.branch_kind = which;
	p->o->kind_given = !err;
	return err;
}

static int set_ids(struct parser *p)
{
	p->o->v.real_ids = str_is(p->t.at, "real");
	return p->o->v.real_ids || str_is(p->t.at, "own") ? 0 : optext_fail(&p->t, NULL, NULL, "ids are own or real");
}

static int set_sysroot(struct parser *p)
{
	if (!p->t.at.len || p->t.at.len >= sizeof(p->o->sysroot))
		return optext_fail(&p->t, NULL, NULL, "expected a directory");
	memcpy(p->o->sysroot, p->t.at.p, p->t.at.len);
	p->o->sysroot[p->t.at.len] = 0;
	return 0;
}

static const struct {
	const char *name, *value, *help;
	int (*set)(struct parser *p);
} keys[] = {
	{ "core", "NAME", "generic-x86 or neoverse-n1 (default: by the program's architecture)", set_core },
	{ "models", "LIST", "none, all (default), or some of branch, cache, tlb: fewer are faster", set_models },
	{ "seed", "N", "seed for jitter, skid and the program's random bytes (default 1)", set_seed },
	{ "skid", "A[-B]", "instructions between an overflow and its sample (default 0)", set_skid },
	{ "throttle", "N", "samples per second that an event may take in a thread (default 0: any)", set_throttle },
	{ "lose", "COUNT/EVERY", "lose COUNT out of EVERY samples (default none)", set_lose },
	{ "interrupt", "CYCLES", "cycles that each sample costs (default 0)", set_interrupt },
	{ "cpus", "N", "virtual CPUs, each with its own counters (default 0: counters per thread)", set_cpus },
	{ "quantum", "CYCLES", "cycles that a thread runs while others wait for its CPU (default 3000000)",
	  set_quantum },
	{ "branches", "N", "branch records that a core keeps, for -b, -j and --call-graph lbr (default 32)",
	  set_branches },
	{ "records", "lbr|brbe", "whose branch records: Intel's or Arm's (default: by the program's architecture)",
	  set_records },
	{ "ids", "own|real", "number processes from 1 (default), or use the system's ids", set_ids },
	{ "sysroot", "DIR", "directory in which programs of another architecture find their libraries", set_sysroot },
};

void sim_opts_help(struct bytes *out)
{
	for (u32 i = 0; i < ARRAY_LEN(keys); i++) {
		char word[40];

		snprintf(word, sizeof(word), "%s=%s", keys[i].name, keys[i].value);
		bytes_printf(out, "    %-20s %s\n", word, keys[i].help);
	}
}

/* in_models: it may have been meant for one of these. */
static int unknown_key(const struct parser *p, bool in_models)
{
	struct near near = { .want = p->t.at };
	struct bytes hint = { 0 };
	int err;

	if (in_models)
		near_models(&near);
	bytes_str(&hint, "keys: ");
	for (u32 i = 0; i < ARRAY_LEN(keys); i++) {
		near_offer(&near, keys[i].name);
		bytes_printf(&hint, "%s%s", i ? ", " : "", keys[i].name);
	}
	bytes_str(&hint, " (--pmu=sim,help)");
	bytes_char(&hint, 0);
	err = optext_fail(&p->t, &near, (const char *)hint.p, "the virtual PMU has no such key");
	bytes_free(&hint);
	return err;
}

/* *in_models: the word before belonged to a list of models. */
static int parse_word(struct parser *p, struct str word, bool *in_models)
{
	struct str key = word, value = { word.p + word.len, 0 };
	bool assigned = str_split(word, '=', &key, &value);

	p->t.at = word;
	if (!assigned && *in_models && add_model(p->o, word))
		return 0;
	if (str_is(word, "help")) {
		p->o->help = true;
		return 0;
	}
	for (u32 i = 0; i < ARRAY_LEN(keys); i++) {
		if (!str_is(key, keys[i].name))
			continue;
		if (!assigned)
			return optext_fail(&p->t, NULL, NULL, "this key needs a value: KEY=VALUE");
		p->t.at = value;
		*in_models = str_is(key, "models");
		return keys[i].set(p);
	}
	p->t.at = key;
	return unknown_key(p, *in_models && !assigned);
}

int sim_opts_parse(struct sim_opts *o, const char *text, const struct notify *to)
{
	struct parser p = { .o = o, .t = { .text = text, .to = to } };
	const char *stop = text + strcspn(text, ",");
	bool in_models = false;
	int err = 0;

	*o = (struct sim_opts){ .v = { .models = VPMU_MODEL_ALL,
				       .seed = DEFAULT_SEED,
				       .quantum = DEFAULT_QUANTUM,
				       .branch_depth = DEFAULT_BRANCHES } };
	p.t.at = (struct str){ text, (u32)(stop - text) };
	if (str_is(p.t.at, "hw") && !*stop)
		return 0;
	if (!str_is(p.t.at, "sim"))
		return optext_fail(&p.t, NULL, "PMUs: hw (this machine's, the default), sim (virtual)", "no such PMU");
	o->on = true;
	while (*stop && !err) {
		const char *word = stop + 1;

		stop = word + strcspn(word, ",");
		err = parse_word(&p, (struct str){ word, (u32)(stop - word) }, &in_models);
	}
	return err;
}
