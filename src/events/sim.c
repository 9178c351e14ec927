/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of the virtual PMU between slashes: cpu/NAME/, cpu/event=0x11/, cpu/config=0x11/. The core may also have the
 * name that Linux uses for Arm's PMU. arm_spe_0/.../ samples operations, with the terms of Linux's driver. Nothing of
 * the host is used: neither its PMUs nor its tracepoints nor libpfm4.
 */
#include "codec/vpmu.h"
#include "events/parse.h"

static const char *const pmu_names[] = { "cpu", "armv8_pmuv3_0", "armv8_pmuv3" };

#define SPE_INTERVAL 4096 /* between sampled operations, unless period= or -c says another one */
#define FORMS "cpu/NAME/, cpu/event=0x11/, cpu/config=0x11/; 'reticle list sim' shows the names"

/* Under the name that `list sim` shows, or another spelling of it. */
static const struct vpmu_event_name *find(span name)
{
	const struct event_name *known = event_name_find(name);
	u32 type = known ? known->type : PERF_TYPE_HW_CACHE;
	u64 config = known ? known->config : 0;
	bool generic = known || !event_cache_find(name, &config);

	for (u32 i = 0; i < nr_vpmu_events; i++) {
		const struct vpmu_event_name *e = &vpmu_events[i];

		if (span_is(name, e->name) || (generic && e->type == type && e->config == config))
			return e;
	}
	return NULL;
}

static void offer_names(struct near *near)
{
	for (u32 i = 0; i < nr_vpmu_events; i++)
		near_offer(near, vpmu_events[i].name);
}

int event_sim_unknown(struct event_ctx *c, span name)
{
	struct near near = { .want = name };

	offer_names(&near);
	return event_fail(c, ERR_NOTFOUND, name, &near, "'reticle list sim' shows the events of the virtual PMU",
			  "the virtual PMU has no event '%.*s'", (int)MIN(name.len, 100u), name.p);
}

int event_add_sim_name(struct event_ctx *c, span name)
{
	const struct vpmu_event_name *known = find(name);
	struct event_spec *s;

	if (!known)
		return event_sim_unknown(c, name);
	s = event_add(c);
	s->attr.type = known->type;
	s->attr.config = known->config;
	return 0;
}

static int unknown_term(struct event_ctx *c, span name)
{
	struct near near = { .want = name };
	struct bytes hint = { 0 };
	int err;

	offer_names(&near);
	near_offer(&near, "event");
	near_offer(&near, "ldlat");
	event_terms_near(&near);
	bytes_str(&hint, FORMS "; terms: ");
	event_terms_list(&hint);
	bytes_char(&hint, 0);
	err = event_fail(c, ERR_USAGE, name, &near, (const char *)hint.p,
			 "the virtual PMU has no term or event '%.*s'", (int)MIN(name.len, 100u), name.p);
	bytes_free(&hint);
	return err;
}

static int unknown_pmu(struct event_ctx *c, span name)
{
	struct near near = { .want = name };

	for (u32 i = 0; i < ARRAY_LEN(pmu_names); i++)
		near_offer(&near, pmu_names[i]);
	return event_fail(c, ERR_NOTFOUND, name, &near, "its events: NAME, " FORMS,
			  "no PMU '%.*s' besides the virtual one, which is called cpu", (int)MIN(name.len, 100u),
			  name.p);
}

/* A term that says which event: NAME, r11, event=0x11, event=NAME. */
static int choose(struct event_ctx *c, struct event_spec *s, const struct event_term *t)
{
	bool by_key = t->has_value && span_is_nocase(t->name, "event");
	const struct vpmu_event_name *known = NULL;
	u64 code = t->num;

	if (by_key ? !t->is_num : !t->has_value)
		known = find(by_key ? t->value : t->name);
	if (!known && !(by_key && t->is_num) && (t->has_value || !event_raw_code(t->name, &code)))
		return unknown_term(c, by_key ? t->value : t->name);
	s->attr.type = known ? known->type : PERF_TYPE_RAW;
	s->attr.config = known ? known->config : code;
	return 0;
}

/* Fields of arm_spe_0: of which word, from which bit on. */
static const struct spe_term {
	const char *name;
	u8 word, bit;
	u64 max;
} spe_terms[] = {
	{ "ts_enable", 0, VPMU_SPE_TIME, 1 },		{ "pa_enable", 0, VPMU_SPE_PHYSICAL, 1 },
	{ "pct_enable", 0, VPMU_SPE_PHYSICAL_TIME, 1 }, { "jitter", 0, VPMU_SPE_JITTER, 1 },
	{ "branch_filter", 0, VPMU_SPE_BRANCH, 1 },	{ "load_filter", 0, VPMU_SPE_LOAD, 1 },
	{ "store_filter", 0, VPMU_SPE_STORE, 1 },	{ "event_filter", 1, 0, UINT64_MAX },
	{ "inv_event_filter", 3, 0, UINT64_MAX },	{ "min_latency", 2, 0, 0xfff },
};

static int spe_term(struct event_ctx *c, struct event_spec *s, const struct event_term *t)
{
	struct near near = { .want = t->name };

	for (u32 i = 0; i < ARRAY_LEN(spe_terms); i++) {
		const struct spe_term *f = &spe_terms[i];
		u64 *words[] = { &s->attr.config, &s->attr.config1, &s->attr.config2, &s->attr.config3 };

		near_offer(&near, f->name);
		if (!span_is(t->name, f->name))
			continue;
		if (!t->is_num || t->num > f->max)
			return event_fail(c, ERR_USAGE, t->all, NULL, NULL, "'%s' takes a number, at most %#llx",
					  f->name, (unsigned long long)f->max);
		*words[f->word] |= t->num << f->bit;
		return 0;
	}
	return event_fail(c, ERR_USAGE, t->name, &near,
			  "terms: ts_enable, pa_enable, pct_enable, jitter, branch_filter, load_filter, "
			  "store_filter, event_filter, inv_event_filter, min_latency, period",
			  "the virtual PMU's arm_spe_0 has no term '%.*s'", (int)MIN(t->name.len, 100u), t->name.p);
}

static int add_spe(struct event_ctx *c, struct event_text *e)
{
	struct event_spec *s = event_add(c);
	int err = 0;

	s->attr.type = VPMU_SPE_TYPE;
	for (u32 i = 0; i < e->terms.n && err >= 0; i++) {
		err = event_term_apply(c, s, &e->terms.v[i]);
		if (!err)
			err = spe_term(c, s, &e->terms.v[i]);
	}
	if (err >= 0 && !s->attr.sample_period)
		s->attr.sample_period = SPE_INTERVAL;
	return err < 0 ? err : 0;
}

int event_add_sim(struct event_ctx *c, struct event_text *e)
{
	struct event_spec *s;
	bool is_core = false, chosen = event_terms_value(&e->terms, "config").len;
	int err = 0;

	if (span_is(e->head, "arm_spe_0"))
		return add_spe(c, e);
	for (u32 i = 0; i < ARRAY_LEN(pmu_names); i++)
		is_core |= span_is(e->head, pmu_names[i]);
	if (!is_core)
		return unknown_pmu(c, e->head);
	s = event_add(c);
	s->attr.type = PERF_TYPE_RAW;
	for (u32 i = 0; i < e->terms.n && err >= 0; i++) {
		const struct event_term *t = &e->terms.v[i];

		if (span_is(t->name, "ldlat") && t->has_value && t->is_num) {
			s->attr.config1 = t->num;
			continue;
		}
		err = event_term_apply(c, s, t);
		if (err)
			continue;
		if (chosen)
			return event_fail(c, ERR_USAGE, t->all, NULL, NULL, "one event has one name or number");
		chosen = true;
		err = choose(c, s, t);
	}
	if (err < 0)
		return err;
	if (!chosen)
		return event_fail(c, ERR_USAGE, e->all, NULL, FORMS, "the event's name or number is missing");
	return event_schedule_check(c, s, &e->terms);
}
