/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event: finds out its kind, and builds the kinds that need only tables.
 *
 * A name is looked up among the generic names, then as a raw code, number pair, tracepoint, event of a PMU and libpfm4
 * name: this is perf's order. perf's own names can contain '-' but no ':', so if the first part of "a:b" is a known
 * name, b is its modifiers; otherwise a:b is a tracepoint.
 */
#include <ctype.h>
#include <linux/hw_breakpoint.h>

#include "events/parse.h"

static int add_simple(struct event_ctx *c, struct event_text *e, u32 type, u64 config)
{
	struct event_spec *s = event_add(c);

	s->attr.type = type;
	s->attr.config = config;
	if (type == PERF_TYPE_SOFTWARE && config == PERF_COUNT_SW_BPF_OUTPUT) {
		s->attr.sample_period = 1;
		s->attr.sample_type |= PERF_SAMPLE_RAW | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	}
	return event_terms_apply(c, s, &e->terms, true);
}

/* A hardware, cache or raw event: on a hybrid machine one per kind of core, named as perf does: "cpu_atom/cycles/u".
 */
static int add_hardware(struct event_ctx *c, struct event_text *e, u32 type, u64 config)
{
	struct sysfs_pmus *pmus = event_pmus(c);
	size_t before = c->out->v.n;

	for (size_t i = 0; i < pmus->v.n; i++) {
		const struct sysfs_pmu *pmu = &pmus->v.v[i];
		struct event_spec *s;
		int err;

		if (!event_pmu_is_hybrid(c, pmu))
			continue;
		err = type == PERF_TYPE_RAW ? add_simple(c, e, pmu->type, config) :
					      add_simple(c, e, type, config | (u64)pmu->type << EVENT_PMU_TYPE_SHIFT);
		if (err)
			return err;
		s = &c->out->v.v[c->out->v.n - 1];
		s->pmu = mem_strdup(pmu->name);
		s->cpus = mem_strdup(pmu->cpus);
	}
	if (c->out->v.n == before)
		return add_simple(c, e, type, config);
	c->fanned_out = e->per_pmu = true;
	return 0;
}

/* ERR_NOTFOUND, without a note, when name is none of the generic names and codes. */
static int add_known(struct event_ctx *c, struct event_text *e, span name)
{
	const struct event_name *known = event_name_find(name);
	u64 config;
	int err;

	if (known && known->type == PERF_TYPE_SOFTWARE)
		return add_simple(c, e, known->type, known->config);
	if (known)
		return add_hardware(c, e, known->type, known->config);
	err = event_cache_find(name, &config);
	if (err == ERR_USAGE)
		return event_fail(c, ERR_USAGE, name, NULL, NULL, "that cache has no such operation");
	if (!err)
		return add_hardware(c, e, PERF_TYPE_HW_CACHE, config);
	if (event_raw_code(name, &config))
		return add_hardware(c, e, PERF_TYPE_RAW, config);
	return ERR_NOTFOUND;
}

/* "1:0": type and config as numbers. */
static int add_numeric(struct event_ctx *c, struct event_text *e, span type, span config)
{
	u64 t, v;

	if (!span_number(type, &t) || t > UINT32_MAX)
		return event_fail(c, ERR_USAGE, type, NULL, NULL, "not an event type number");
	if (!span_number(config, &v))
		return event_fail(c, ERR_USAGE, config, NULL, NULL,
				  "expected the config number of an event of type %u", (u32)t);
	return add_simple(c, e, (u32)t, v);
}

/* Cuts the part before the next ':' off s; false when there is no more. */
static bool next_part(span *s, span *part)
{
	const char *colon;

	if (!s->p)
		return false;
	colon = memchr(s->p, ':', s->len);
	*part = colon ? span_of(s->p, colon) : *s;
	*s = colon ? span_of(colon + 1, s->p + s->len) : (span){ 0 };
	return true;
}

static bool access_bits(span s, u32 *bits)
{
	u32 out = 0;

	for (u32 i = 0; i < s.len; i++) {
		u32 bit = s.p[i] == 'r' ? HW_BREAKPOINT_R :
			  s.p[i] == 'w' ? HW_BREAKPOINT_W :
			  s.p[i] == 'x' ? HW_BREAKPOINT_X :
					  0;

		if (!bit || out & bit)
			return false;
		out |= bit;
	}
	*bits = out;
	return out;
}

/* mem:ADDR[/len][:rwx][:modifiers] */
static int add_breakpoint(struct event_ctx *c, struct event_text *e)
{
	span rest = { e->all.p + 4, e->all.len - 4 }, where, part;
	struct event_spec *s;
	const char *slash;
	u64 addr, len = 0;
	u32 access = HW_BREAKPOINT_RW;

	next_part(&rest, &where);
	slash = memchr(where.p, '/', where.len);
	if (slash) {
		part = span_of(slash + 1, where.p + where.len);
		where = span_of(where.p, slash);
		if (!span_number(part, &len) || !len || len > 4096)
			return event_fail(c, ERR_USAGE, part, NULL, NULL, "expected the breakpoint's length in bytes");
	}
	if (!span_number(where, &addr))
		return event_fail(c, ERR_USAGE, where, NULL, NULL,
				  "expected an address, as in mem:0x1000/8:rw (see nm or reticle script)");
	if (next_part(&rest, &part)) {
		if (!access_bits(part, &access)) {
			if (rest.p || !event_mods_valid(part))
				return event_fail(c, ERR_USAGE, part, NULL, NULL,
						  "expected the access to stop at: r, w, x or rw");
			e->mods = part;
		} else if (rest.p) {
			e->mods = rest;
		}
	}
	s = event_add(c);
	s->attr.type = PERF_TYPE_BREAKPOINT;
	s->attr.bp_type = access;
	if (slash)
		e->name_len = (u32)(slash - e->all.p); /* perf's name ends there */
	s->attr.config1 = addr;
	s->attr.config2 = len ? len : access == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
	s->attr.sample_period = 1;
	return 0;
}

static int unknown_event(struct event_ctx *c, span name)
{
	struct near near = { .want = name };

	event_names_near(&near);
	event_pmu_near(c, &near);
	event_pfm_near(&near);
	return event_fail(c, ERR_NOTFOUND, name, &near, "'reticle list' shows the events of this machine",
			  "unknown event '%.*s'", (int)MIN(name.len, 100u), name.p);
}

/* A name that none of the generic tables has, alone or with more behind a ':'. *rest becomes its modifiers. */
static int parse_special(struct event_ctx *c, struct event_text *e, span *rest)
{
	span second;
	int err;

	if (rest->p && e->head.len && isdigit((u8)e->head.p[0])) {
		next_part(rest, &second);
		return add_numeric(c, e, e->head, second);
	}
	if (c->simulated)
		return rest->p && !event_mods_valid(*rest) ? event_sim_unknown(c, e->all) :
							     event_add_sim_name(c, e->head);
	err = event_add_pmu_alias(c, e);
	if (err != ERR_NOTFOUND)
		return err;
	if (rest->p && event_trace_has_subsystem(c, e->head)) {
		next_part(rest, &second);
		return event_add_tracepoint(c, e, e->head, second);
	}
	err = event_add_pfm(c, e->all);
	if (!err)
		*rest = (span){ 0 };
	if (err != ERR_NOTFOUND)
		return err;
	if (rest->p && !event_mods_valid(*rest)) {
		next_part(rest, &second);
		return event_add_tracepoint(c, e, e->head, second);
	}
	return unknown_event(c, e->head);
}

/* name[:modifiers], sys:event[:modifiers], 1:2[:modifiers] */
static int parse_plain(struct event_ctx *c, struct event_text *e)
{
	span rest = e->all;
	int err;

	next_part(&rest, &e->head);
	err = add_known(c, e, e->head);
	if (err == ERR_NOTFOUND)
		err = parse_special(c, e, &rest);
	if (!err && rest.p && !rest.len)
		return event_fail(c, ERR_USAGE, rest, NULL, NULL, "modifiers are missing after ':'");
	e->mods = rest;
	return err;
}

/* The '/' that closes the term list that p opens, or NULL. */
static const char *closing_slash(const char *p, const char *end)
{
	bool quoted = false;

	for (; p < end; p++) {
		if (*p == '\'')
			quoted = !quoted;
		if (*p == '/' && !quoted)
			return p;
	}
	return NULL;
}

/* head/terms/[:]modifiers */
static int parse_slashes(struct event_ctx *c, struct event_text *e, const char *slash)
{
	const char *end = e->all.p + e->all.len, *close = closing_slash(slash + 1, end);
	span first, rest;
	int err;

	e->head = span_of(e->all.p, slash);
	if (!close)
		return event_fail(c, ERR_USAGE, span_of(slash, slash + 1), NULL, NULL,
				  "the list of terms is not closed with '/'");
	e->mods = span_of(close + 1, end);
	if (e->mods.len && e->mods.p[0] == ':')
		e->mods = (span){ e->mods.p + 1, e->mods.len - 1 };
	err = event_terms_split(c, span_of(slash + 1, close), &e->terms);
	if (err)
		return err;
	err = add_known(c, e, e->head);
	if (err != ERR_NOTFOUND)
		return err;
	rest = e->head;
	next_part(&rest, &first);
	if (rest.p && first.len && isdigit((u8)first.p[0]))
		return add_numeric(c, e, first, rest);
	if (rest.len && event_mods_valid(rest) && (c->simulated || !event_trace_has_subsystem(c, first)))
		return event_fail(c, ERR_USAGE, rest, NULL, "modifiers follow the terms: EVENT/TERMS/MODIFIERS",
				  "modifiers before the terms");
	if (rest.p && c->simulated)
		return event_sim_unknown(c, e->head);
	if (rest.p)
		return event_add_tracepoint(c, e, first, rest);
	return c->simulated ? event_add_sim(c, e) : event_add_pmu(c, e);
}

static span trim(span s)
{
	for (; s.len && isspace((u8)s.p[0]); s.p++, s.len--)
		;
	for (; s.len && isspace((u8)s.p[s.len - 1]); s.len--)
		;
	return s;
}

/* perf's names: the text as it stands; what a hybrid machine made several of says which is which. */
static void name_events(struct event_ctx *c, u32 first, const struct event_text *e)
{
	for (u32 i = first; i < c->out->v.n; i++) {
		struct event_spec *s = &c->out->v.v[i];

		if (s->name)
			continue;
		if (e->per_pmu)
			s->name = mem_printf("%s/%.*s/%.*s", s->pmu, (int)e->head.len, e->head.p, (int)e->mods.len,
					     e->mods.len ? e->mods.p : "");
		else
			s->name = mem_strndup(e->all.p, e->name_len ? e->name_len : e->all.len);
	}
}

int event_parse_one(struct event_ctx *c, span text)
{
	struct event_text e = { .all = trim(text) };
	u32 first = (u32)c->out->v.n;
	const char *slash;
	int err;

	if (!e.all.len)
		return event_fail(c, ERR_USAGE, text, NULL, NULL, "an event is missing here");
	slash = memchr(e.all.p, '/', e.all.len);
	if (c->pfm_only)
		err = event_add_pfm(c, e.all);
	else if (e.all.len >= 4 && !memcmp(e.all.p, "mem:", 4))
		err = add_breakpoint(c, &e);
	else if (slash)
		err = parse_slashes(c, &e, slash);
	else
		err = parse_plain(c, &e);
	if (c->pfm_only && err == ERR_NOTFOUND)
		return unknown_event(c, e.all);
	if (err)
		return err;
	name_events(c, first, &e);
	return event_mods_apply(c, first, e.mods, false);
}
