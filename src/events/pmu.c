/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of one PMU: pmu/term=value,.../, and names that a PMU has in sysfs.
 *
 * A term is looked up in this order: a general term, which any event takes (config=, period=); a field in the PMU's
 * format directory, whose value is spread over config bits; a name of its events directory, which stands for more
 * terms; a raw code r1a8; and, on a hybrid machine's core PMU, a generic name (cpu_core/cycles/), which becomes a
 * hardware event with the PMU's number in its upper half. A PMU's name may be a glob, or leave out the number of units
 * of the same kind (uncore_imc, or imc, for uncore_imc_0, uncore_imc_1...); each unit then gives one event.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "events/parse.h"

#define ALIAS_DEPTH 4		/* an alias may name another; it ends somewhere */
#define SPE_PERIOD_DEFAULT 4096 /* where the SPE driver does not say its least interval */

struct pmu_event {
	struct event_ctx *c;
	struct event_text *e;
	struct sysfs_pmu *pmu;
	struct event_spec *s;
};

struct sysfs_pmus *event_pmus(struct event_ctx *c)
{
	if (!c->pmus_loaded && !c->simulated)
		sysfs_pmus_load(&c->pmus, c->sysfs);
	c->pmus_loaded = true;
	return &c->pmus;
}

bool event_pmu_is_hybrid(struct event_ctx *c, const struct sysfs_pmu *pmu)
{
	return pmu->core && !strncmp(pmu->name, "cpu_", 4) &&
	       sysfs_pmu_find(event_pmus(c), (struct str){ "cpu_core", 8 }) != NULL;
}

static int explain_term(struct pmu_event *p, const struct event_term *t)
{
	struct near near = { .want = t->name };
	struct bytes hint = { 0 };
	int err;

	sysfs_pmu_details(p->pmu);
	bytes_printf(&hint, "terms of %s: ", p->pmu->name);
	for (size_t i = 0; i < p->pmu->formats.n; i++) {
		near_offer(&near, p->pmu->formats.v[i].name);
		bytes_printf(&hint, "%s, ", p->pmu->formats.v[i].name);
	}
	for (size_t i = 0; i < p->pmu->aliases.n; i++)
		near_offer(&near, p->pmu->aliases.v[i].name);
	event_terms_near(&near);
	event_terms_list(&hint);
	bytes_char(&hint, 0);
	err = event_fail(p->c, ERR_USAGE, t->name, &near, (const char *)hint.p, "'%s' has no term or event '%.*s'",
			 p->pmu->name, (int)MIN(t->name.len, 100u), t->name.p);
	bytes_free(&hint);
	return err;
}

static u64 *config_word(struct attr *a, u32 word)
{
	u64 *words[SYSFS_CONFIG_WORDS] = { &a->config, &a->config1, &a->config2, &a->config3, &a->config4 };

	return words[word];
}

/*
 * Values are or-ed into the words, as perf does: cpu/mem-loads,ldlat=30/ on top of the event's own ldlat=3 gives 31,
 * and a recording of ours must count what perf's counts. blame: where in the text an error is shown; for terms of an
 * alias, the alias's name.
 */
static int apply_format(struct pmu_event *p, const struct sysfs_format *f, const struct event_term *t, span blame)
{
	u64 spread = 0, max;

	if (!t->is_num)
		return event_fail(p->c, ERR_USAGE, blame, NULL, NULL, "'%s' takes a number, decimal or 0x hexadecimal",
				  f->name);
	if (sysfs_format_put(f->bits, t->num, &spread, &max))
		return event_fail(p->c, ERR_USAGE, blame, NULL, NULL, "'%s' is at most %#llx", f->name,
				  (unsigned long long)max);
	*config_word(&p->s->attr, f->word) |= spread;
	return 0;
}

static bool given_by_user(const struct event_terms *terms, span name)
{
	for (u32 i = 0; i < terms->n; i++)
		if (terms->v[i].name.len == name.len && !memcmp(terms->v[i].name.p, name.p, name.len))
			return true;
	return false;
}

static int apply_alias(struct pmu_event *p, const struct sysfs_alias *a, span blame, u32 depth);

/* A term of an alias: only what sysfs may say. "core=?" is left to the user. */
static int apply_alias_term(struct pmu_event *p, const struct event_term *t, span blame, u32 depth)
{
	const struct sysfs_format *f = sysfs_format_find(p->pmu, t->name);
	const struct sysfs_alias *a;
	int err;

	if (t->has_value && span_is(t->value, "?")) {
		if (given_by_user(&p->e->terms, t->name))
			return 0;
		return event_fail(p->c, ERR_USAGE, blame, NULL, NULL, "this event needs '%.*s=' from you as well",
				  (int)t->name.len, t->name.p);
	}
	if (f)
		return apply_format(p, f, t, blame);
	if (event_term_is_general(t->name)) {
		if (given_by_user(&p->e->terms, t->name))
			return 0;
		err = event_term_apply(p->c, p->s, t);
		return err < 0 ? err : 0;
	}
	a = t->has_value ? NULL : sysfs_alias_find(p->pmu, t->name);
	if (a && depth < ALIAS_DEPTH)
		return apply_alias(p, a, blame, depth + 1);
	return event_fail(p->c, ERR_FORMAT, blame, NULL, NULL,
			  "the kernel describes this event of %s with '%.*s', which is not in its format",
			  p->pmu->name, (int)MIN(t->name.len, 100u), t->name.p);
}

static int apply_alias(struct pmu_event *p, const struct sysfs_alias *a, span blame, u32 depth)
{
	struct event_ctx quiet = { .text = a->terms };
	struct event_terms terms;
	int err = event_terms_split(&quiet, (span){ a->terms, (u32)strlen(a->terms) }, &terms);

	if (err)
		return event_fail(p->c, ERR_FORMAT, blame, NULL, NULL,
				  "the kernel's description of this event of %s is not a list of terms", p->pmu->name);
	if (a->unit && *a->unit) {
		free(p->s->unit);
		p->s->unit = mem_strdup(a->unit);
	}
	if (a->scale != 0)
		p->s->scale = a->scale;
	for (u32 i = 0; i < terms.n && !err; i++)
		err = apply_alias_term(p, &terms.v[i], blame, depth);
	return err;
}

/* "cycles", "L1-dcache-loads" inside of a core PMU. */
static bool apply_generic(struct pmu_event *p, const struct event_term *t)
{
	const struct event_name *known = event_name_find(t->name);
	u64 config, type = PERF_TYPE_HW_CACHE;

	if (t->has_value || !event_pmu_is_hybrid(p->c, p->pmu))
		return false;
	if (known && known->type == PERF_TYPE_HARDWARE) {
		config = known->config;
		type = PERF_TYPE_HARDWARE;
	} else if (event_cache_find(t->name, &config)) {
		return false;
	}
	p->s->attr.type = (u32)type;
	p->s->attr.config = config | (u64)p->pmu->type << EVENT_PMU_TYPE_SHIFT;
	return true;
}

/* The sysfs event that a term means: NAME, event=NAME; generic names also under their other spelling. */
static const struct sysfs_alias *term_alias(struct pmu_event *p, const struct event_term *t)
{
	const struct event_name *known = event_name_find(t->name);
	const struct sysfs_alias *a;

	if (t->has_value)
		return t->is_num || !span_is_nocase(t->name, "event") ? NULL : sysfs_alias_find(p->pmu, t->value);
	a = sysfs_alias_find(p->pmu, t->name);
	if (!a && known)
		a = sysfs_alias_find(p->pmu, (struct str){ known->name, (u32)strlen(known->name) });
	return a;
}

static int apply_term(struct pmu_event *p, const struct event_term *t)
{
	const struct sysfs_format *f;
	const struct sysfs_alias *a;
	u64 code;

	f = sysfs_format_find(p->pmu, t->name);
	if (f && (t->is_num || !span_is_nocase(t->name, "event")))
		return apply_format(p, f, t, t->has_value ? t->value : t->name);
	if (apply_generic(p, t))
		return 0;
	a = term_alias(p, t);
	if (a)
		return apply_alias(p, a, t->has_value ? t->value : t->name, 0);
	if (f)
		return apply_format(p, f, t, t->value);
	if (!t->has_value && event_raw_code(t->name, &code)) {
		p->s->attr.config = code;
		return 0;
	}
	return explain_term(p, t);
}

/* SPE samples at its least interval when nothing is said. */
static void spe_defaults(struct pmu_event *p)
{
	char *text;
	u64 period;

	p->s->aux = true;
	text = sysfs_pmu_cap(p->pmu, "min_interval");
	if (!text || !span_number((span){ text, (u32)strlen(text) }, &period) || !period)
		period = SPE_PERIOD_DEFAULT;
	else
		p->s->least_period = period;
	p->s->attr.sample_period = period;
	free(text);
}

/* As perf does: unless the user says something else, operations have their times, by which their threads are found. */
static void spe_timestamps(struct pmu_event *p, const struct event_terms *terms)
{
	static const char ts_enable[] = "ts_enable", config[] = "config";
	const span name = span_of(ts_enable, ts_enable + sizeof(ts_enable) - 1);
	const struct sysfs_format *f = sysfs_format_find(p->pmu, name);
	u64 *word = f ? config_word(&p->s->attr, f->word) : NULL, max;

	if (!f || *word & f->bits)
		return;
	if (given_by_user(terms, name) || given_by_user(terms, span_of(config, config + sizeof(config) - 1)))
		notify_warn(p->c->to,
			    "%.*s: without ts_enable, all operations of a piece of data have the time at which it was "
			    "written, and maybe another thread's name where threads share a CPU",
			    (int)MIN(p->e->all.len, 100u), p->e->all.p);
	else
		(void)sysfs_format_put(f->bits, 1, word, &max);
}

static int add_for(struct event_ctx *c, struct event_text *e, struct sysfs_pmu *pmu, const struct event_terms *terms)
{
	struct pmu_event p = { c, e, pmu, event_add(c) };
	bool is_spe;

	p.s->attr.type = pmu->type;
	p.s->pmu = mem_strdup(pmu->name);
	p.s->cpus = pmu->cpus ? mem_strdup(pmu->cpus) : NULL;
	is_spe = !strncmp(pmu->name, "arm_spe_", 8);
	if (is_spe)
		spe_defaults(&p);
	/* General terms first: what config= sets stays under what the fields add. */
	for (u32 i = 0; i < terms->n; i++) {
		int err = event_term_apply(c, p.s, &terms->v[i]);

		if (err < 0)
			return err;
	}
	for (u32 i = 0; i < terms->n; i++) {
		int err = event_term_is_general(terms->v[i].name) ? 0 : apply_term(&p, &terms->v[i]);

		if (err)
			return err;
	}
	if (is_spe)
		spe_timestamps(&p, terms);
	return event_schedule_check(c, p.s, terms);
}

/* "uncore_imc" or "imc" for uncore_imc_3; globs for what they fit. */
static bool pmu_matches(const char *name, const char *want)
{
	const char *names[2] = { name, strncmp(name, "uncore_", 7) ? NULL : name + 7 };
	bool glob = want[strcspn(want, "*?[")];
	size_t n = strlen(want);

	for (u32 i = 0; i < 2 && names[i]; i++) {
		const char *rest = names[i] + n;

		if (glob ? !fnmatch(want, names[i], 0) : !strcmp(want, names[i]))
			return true;
		if (glob || strncmp(names[i], want, n))
			continue;
		rest += *rest == '_';
		if (*rest && !rest[strspn(rest, "0123456789")])
			return true;
	}
	return false;
}

static int explain_pmu(struct event_ctx *c, span name)
{
	struct sysfs_pmus *pmus = event_pmus(c);
	struct near near = { .want = name };
	struct bytes hint = { 0 };
	int err;

	for (size_t i = 0; i < pmus->v.n; i++) {
		near_offer(&near, pmus->v.v[i].name);
		bytes_printf(&hint, "%s%s", i ? ", " : "this machine has: ", pmus->v.v[i].name);
	}
	event_names_near(&near);
	if (!pmus->v.n)
		bytes_printf(&hint, "there is no PMU under %s/bus/event_source/devices", c->sysfs);
	bytes_char(&hint, 0);
	err = event_fail(c, ERR_NOTFOUND, name, &near, (const char *)hint.p, "no PMU '%.*s' in this machine",
			 (int)MIN(name.len, 100u), name.p);
	bytes_free(&hint);
	return err;
}

int event_add_pmu(struct event_ctx *c, struct event_text *e)
{
	struct sysfs_pmus *pmus = event_pmus(c);
	struct sysfs_pmu *exact = sysfs_pmu_find(pmus, e->head);
	size_t before = c->out->v.n;
	char *want;
	int err = 0;

	if (exact)
		return add_for(c, e, exact, &e->terms);
	want = mem_strndup(e->head.p, e->head.len);
	for (size_t i = 0; i < pmus->v.n && !err && *want; i++)
		if (pmu_matches(pmus->v.v[i].name, want))
			err = add_for(c, e, &pmus->v.v[i], &e->terms);
	free(want);
	c->fanned_out |= c->out->v.n > before + 1;
	if (!err && c->out->v.n == before)
		return explain_pmu(c, e->head);
	return err;
}

int event_add_pmu_alias(struct event_ctx *c, struct event_text *e)
{
	struct sysfs_pmus *pmus = event_pmus(c);
	struct event_terms terms = { .n = 1 };
	size_t before = c->out->v.n;

	terms.v[0] = (struct event_term){ .all = e->head, .name = e->head, .is_num = true, .num = 1 };
	for (u32 i = 0; i < e->terms.n; i++) {
		if (terms.n == EVENT_TERMS_MAX)
			break;
		terms.v[terms.n++] = e->terms.v[i];
	}
	for (size_t i = 0; i < pmus->v.n; i++) {
		int err;

		if (!sysfs_alias_find(&pmus->v.v[i], e->head))
			continue;
		err = add_for(c, e, &pmus->v.v[i], &terms);
		if (err)
			return err;
	}
	c->fanned_out |= c->out->v.n > before + 1;
	return c->out->v.n > before ? 0 : ERR_NOTFOUND;
}

void event_pmu_near(struct event_ctx *c, struct near *n)
{
	struct sysfs_pmus *pmus = event_pmus(c);

	for (size_t i = 0; i < pmus->v.n; i++) {
		sysfs_pmu_details(&pmus->v.v[i]);
		for (size_t k = 0; k < pmus->v.v[i].aliases.n; k++)
			near_offer(n, pmus->v.v[i].aliases.v[k].name);
	}
}
