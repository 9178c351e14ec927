/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of terms between the slashes, and the general terms, which any event takes. Terms that only one PMU knows
 * (event=, umask=) are its format files, see pmu.c. A new general term is one row of general[].
 */
#include <stdlib.h>

#include "events/parse.h"
#include "events/tls_user.h"

/* Without a value a number is 1, as in perf; a length has no such default. */
enum term_value {
	VALUE_NUM,
	VALUE_LENGTH,
	VALUE_JITTER /* or "full" */,
	VALUE_SIGNED /* of 32 bits */,
	VALUE_FLAG /* none, 0 or 1 */,
	VALUE_TEXT
};

struct general_term {
	const char *name;
	enum term_value value;
	bool config; /* changes what is counted, so that tracepoints do not take it */
	u64 max;     /* VALUE_NUM, VALUE_LENGTH: the largest, 0: any */
	void (*apply)(struct event_spec *s, const struct event_term *t);
};

static void set_text(char **to, span from)
{
	free(*to);
	*to = mem_strndup(from.p, from.len);
}

static void set_config(struct event_spec *s, const struct event_term *t)
{
	s->attr.config = t->num;
}
static void set_config1(struct event_spec *s, const struct event_term *t)
{
	s->attr.config1 = t->num;
}
static void set_config2(struct event_spec *s, const struct event_term *t)
{
	s->attr.config2 = t->num;
}
static void set_config3(struct event_spec *s, const struct event_term *t)
{
	s->attr.config3 = t->num;
}
static void set_config4(struct event_spec *s, const struct event_term *t)
{
	s->attr.config4 = t->num;
}
static void set_name(struct event_spec *s, const struct event_term *t)
{
	set_text(&s->name, t->value);
}
static void set_period(struct event_spec *s, const struct event_term *t)
{
	s->attr.sample_period = t->num;
	s->attr.flags &= ~ATTR_FREQ;
	s->has_period = true;
	s->has_freq = false;
}
static void set_freq(struct event_spec *s, const struct event_term *t)
{
	s->attr.sample_period = t->num;
	s->attr.flags |= ATTR_FREQ;
	s->has_period = false;
	s->has_freq = true;
}
static void set_time(struct event_spec *s, const struct event_term *t)
{
	s->has_time = true;
	s->time = t->num;
}
static void set_call_graph(struct event_spec *s, const struct event_term *t)
{
	set_text(&s->call_graph, t->value);
	s->has_call_graph = true;
}
static void set_stack_size(struct event_spec *s, const struct event_term *t)
{
	s->stack_size = t->num;
}
static void set_inherit(struct event_spec *s, const struct event_term *t)
{
	s->has_inherit = true;
	s->inherit = t->num;
}
static void set_no_inherit(struct event_spec *s, const struct event_term *t)
{
	s->has_inherit = true;
	s->inherit = !t->num;
}
static void set_max_stack(struct event_spec *s, const struct event_term *t)
{
	s->max_stack = t->num;
}
static void set_nr(struct event_spec *s, const struct event_term *t)
{
	s->nr = t->num;
}
static void set_alt_period(struct event_spec *s, const struct event_term *t)
{
	s->schedule.period_short = t->num;
}
static void set_burst(struct event_spec *s, const struct event_term *t)
{
	s->schedule.batch_count = t->num;
}
static void set_period_jitter(struct event_spec *s, const struct event_term *t)
{
	s->schedule.jitter_long = t->num;
	s->has_jitter = true;
}
static void set_alt_period_jitter(struct event_spec *s, const struct event_term *t)
{
	s->schedule.jitter_short = t->num;
	s->has_jitter = true;
}
static void set_overwrite(struct event_spec *s, const struct event_term *t)
{
	s->has_overwrite = true;
	s->overwrite = t->num;
}
static void set_no_overwrite(struct event_spec *s, const struct event_term *t)
{
	s->has_overwrite = true;
	s->overwrite = !t->num;
}
static void set_percore(struct event_spec *s, const struct event_term *t)
{
	s->percore = t->num;
}
static void set_aux_output(struct event_spec *s, const struct event_term *t)
{
	s->attr.flags = (s->attr.flags & ~ATTR_AUX_OUTPUT) | (t->num ? ATTR_AUX_OUTPUT : 0);
}
static void set_aux_sample_size(struct event_spec *s, const struct event_term *t)
{
	s->attr.aux_sample_size = t->num;
}

static void set_tls_size(struct event_spec *s, const struct event_term *t)
{
	s->attr.sample_tls_user = (u16)t->num;
}
static void set_tls_offset(struct event_spec *s, const struct event_term *t)
{
	s->attr.sample_tls_offset = (s32)t->num;
}
static void set_tls_flag(struct event_spec *s, const struct event_term *t, u16 flag)
{
	s->attr.sample_tls_flags = (u16)((s->attr.sample_tls_flags & ~flag) | (t->num ? flag : 0));
}
static void set_tls_pointer(struct event_spec *s, const struct event_term *t)
{
	set_tls_flag(s, t, PERF_SAMPLE_TLS_DEREF);
}
static void set_tls_defer(struct event_spec *s, const struct event_term *t)
{
	set_tls_flag(s, t, PERF_SAMPLE_TLS_DEFER);
}

/* branch_type= is the only one that can fail on its text; event_term_apply checks it first. */
static void set_branch_type(struct event_spec *s, const struct event_term *t)
{
	s->has_branches = true;
	s->attr.branch_sample_type = t->num;
}

static const struct general_term general[] = {
	{ "config", VALUE_NUM, true, 0, set_config },
	{ "config1", VALUE_NUM, true, 0, set_config1 },
	{ "config2", VALUE_NUM, true, 0, set_config2 },
	{ "config3", VALUE_NUM, true, 0, set_config3 },
	{ "config4", VALUE_NUM, true, 0, set_config4 },
	{ "name", VALUE_TEXT, false, 0, set_name },
	{ "period", VALUE_NUM, false, 0, set_period },
	{ "freq", VALUE_NUM, false, 0, set_freq },
	{ "alt-period", VALUE_LENGTH, false, 0, set_alt_period },
	{ "burst", VALUE_LENGTH, false, UINT32_MAX, set_burst },
	{ "period-jitter", VALUE_JITTER, false, 0, set_period_jitter },
	{ "alt-period-jitter", VALUE_LENGTH, false, 0, set_alt_period_jitter },
	{ "branch_type", VALUE_TEXT, false, 0, set_branch_type },
	{ "time", VALUE_FLAG, false, 0, set_time },
	{ "call-graph", VALUE_TEXT, false, 0, set_call_graph },
	{ "stack-size", VALUE_NUM, false, UINT16_MAX, set_stack_size },
	{ "inherit", VALUE_FLAG, false, 0, set_inherit },
	{ "no-inherit", VALUE_FLAG, false, 0, set_no_inherit },
	{ "max-stack", VALUE_NUM, false, UINT16_MAX, set_max_stack },
	{ "nr", VALUE_NUM, false, UINT32_MAX, set_nr },
	{ "overwrite", VALUE_FLAG, false, 0, set_overwrite },
	{ "no-overwrite", VALUE_FLAG, false, 0, set_no_overwrite },
	{ "percore", VALUE_FLAG, false, 0, set_percore },
	{ "aux-output", VALUE_FLAG, false, 0, set_aux_output },
	{ "aux-sample-size", VALUE_NUM, false, UINT32_MAX, set_aux_sample_size },
	{ "tls-size", VALUE_NUM, false, TLS_USER_MAX, set_tls_size },
	{ "tls-offset", VALUE_SIGNED, false, 0, set_tls_offset },
	{ "tls-pointer", VALUE_FLAG, false, 0, set_tls_pointer },
	{ "tls-defer", VALUE_FLAG, false, 0, set_tls_defer },
};

static const struct general_term *find_general(span name)
{
	for (u32 i = 0; i < ARRAY_LEN(general); i++)
		if (span_is(name, general[i].name))
			return &general[i];
	return NULL;
}

bool event_term_is_general(span name)
{
	return find_general(name) != NULL;
}

void event_terms_near(struct near *n)
{
	for (u32 i = 0; i < ARRAY_LEN(general); i++)
		near_offer(n, general[i].name);
}

void event_terms_list(struct bytes *out)
{
	for (u32 i = 0; i < ARRAY_LEN(general); i++)
		bytes_printf(out, "%s%s", i ? ", " : "", general[i].name);
}

/* The end of the term that begins at p: the next comma outside of quotes. */
static const char *term_end(const char *p, const char *end)
{
	for (bool quoted = false; p < end && (quoted || *p != ','); p++)
		if (*p == '\'')
			quoted = !quoted;
	return p;
}

static span trim(span s)
{
	for (; s.len && (*s.p == ' ' || *s.p == '\t' || *s.p == '\n'); s.p++, s.len--)
		;
	for (; s.len && strchr(" \t\n", s.p[s.len - 1]) && s.p[s.len - 1]; s.len--)
		;
	return s;
}

static int split_one(struct event_ctx *c, span text, struct event_term *t)
{
	const char *eq = memchr(text.p, '=', text.len);

	*t = (struct event_term){ .all = text, .name = text, .num = 1 };
	if (!eq) {
		t->is_num = true;
		return 0;
	}
	t->name = trim(span_of(text.p, eq));
	t->value = trim(span_of(eq + 1, text.p + text.len));
	t->has_value = true;
	if (!t->name.len)
		return event_fail(c, ERR_USAGE, text, NULL, NULL, "a term's name is missing before '='");
	if (!t->value.len)
		return event_fail(c, ERR_USAGE, span_of(eq, eq + 1), NULL, NULL, "a value is missing after '='");
	if (t->value.len >= 2 && t->value.p[0] == '\'' && t->value.p[t->value.len - 1] == '\'')
		t->value = (span){ t->value.p + 1, t->value.len - 2 };
	t->is_num = span_number(t->value, &t->num);
	return 0;
}

/* A minus sign is no digit, so such a term is no number yet. */
static int take_signed(struct event_ctx *c, const struct general_term *g, struct event_term *t)
{
	bool minus = t->has_value && t->value.p[0] == '-';
	u64 n = t->num;

	if (!t->has_value || !(minus ? span_number((span){ t->value.p + 1, t->value.len - 1 }, &n) : t->is_num) ||
	    n > (u64)INT32_MAX + minus)
		return event_fail(c, ERR_USAGE, t->has_value ? t->value : t->all, NULL, NULL,
				  "'%s' takes a number of 32 bits, with a sign: -64, 0x10", g->name);
	t->num = minus ? 0 - n : n;
	return 0;
}

int event_terms_split(struct event_ctx *c, span text, struct event_terms *out)
{
	const char *p = text.p, *end = text.p + text.len, *stop;
	int err;

	out->n = 0;
	if (!trim(text).len)
		return 0;
	for (;; p = stop + 1) {
		stop = term_end(p, end);
		if (!trim(span_of(p, stop)).len)
			return event_fail(c, ERR_USAGE, span_of(p, stop), NULL, NULL, "a term is missing here");
		if (out->n == EVENT_TERMS_MAX)
			return event_fail(c, ERR_LIMIT, span_of(p, stop), NULL, NULL, "more than %d terms",
					  EVENT_TERMS_MAX);
		err = split_one(c, trim(span_of(p, stop)), &out->v[out->n++]);
		if (err || stop == end)
			return err;
	}
}

static int check_value(struct event_ctx *c, const struct general_term *g, const struct event_term *t)
{
	if (g->value == VALUE_TEXT)
		return t->has_value ? 0 :
				      event_fail(c, ERR_USAGE, t->all, NULL, NULL, "'%s' needs a value: %s=...",
						 g->name, g->name);
	if ((g->value == VALUE_LENGTH || g->value == VALUE_JITTER) && !t->has_value)
		return event_fail(c, ERR_USAGE, t->all, NULL, NULL, "'%s' needs a value: %s=N", g->name, g->name);
	if (!t->is_num)
		return event_fail(c, ERR_USAGE, t->value, NULL, NULL, "'%s' takes a number, decimal or 0x hexadecimal",
				  g->name);
	if (g->value == VALUE_FLAG && t->num > 1)
		return event_fail(c, ERR_USAGE, t->value, NULL, NULL, "'%s' is 0 or 1", g->name);
	if (g->value != VALUE_FLAG && g->max && t->num > g->max)
		return event_fail(c, ERR_USAGE, t->value, NULL, NULL, "'%s' is at most %llu", g->name,
				  (unsigned long long)g->max);
	return 0;
}

int event_term_apply(struct event_ctx *c, struct event_spec *s, const struct event_term *t)
{
	const struct general_term *g = find_general(t->name);
	struct event_term copy = *t;
	int err;

	if (!g)
		return 0;
	if (g->value == VALUE_JITTER && span_is(t->value, "full")) {
		copy.is_num = true;
		copy.num = SCHEDULE_JITTER_FULL;
	}
	err = g->value == VALUE_SIGNED ? take_signed(c, g, &copy) : check_value(c, g, &copy);
	if (err)
		return err;
	if (g->apply == set_branch_type) {
		char *words = mem_strndup(t->value.p, t->value.len);

		copy.num = 0;
		err = strcmp(words, "no") ? event_branch_types(words, &copy.num, NULL) : 0;
		free(words);
		if (err)
			return event_fail(
				c, err, t->value, NULL,
				"any, any_call, any_ret, ind_call, ind_jmp, call, cond, stack..., levels u k "
				"hv, or no; several in quotes: branch_type='any_call,u'",
				"not a branch type");
	}
	g->apply(s, &copy);
	return 1;
}

static int unknown_term(struct event_ctx *c, const struct event_term *t)
{
	struct near near = { .want = t->name };
	struct bytes hint = { 0 };
	int err;

	event_terms_near(&near);
	bytes_str(&hint, "terms: ");
	event_terms_list(&hint);
	bytes_char(&hint, 0);
	err = event_fail(c, ERR_USAGE, t->name, &near, (const char *)hint.p, "unknown term '%.*s'", (int)t->name.len,
			 t->name.p);
	bytes_free(&hint);
	return err;
}

int event_terms_apply(struct event_ctx *c, struct event_spec *s, const struct event_terms *terms, bool allow_config)
{
	for (u32 i = 0; i < terms->n; i++) {
		const struct event_term *t = &terms->v[i];
		const struct general_term *g = find_general(t->name);
		int err;

		if (g && g->config && !allow_config)
			return event_fail(c, ERR_USAGE, t->all, NULL, NULL, "a tracepoint has no '%s'", g->name);
		err = event_term_apply(c, s, t);
		if (err < 0)
			return err;
		if (!err)
			return unknown_term(c, t);
	}
	return event_schedule_check(c, s, terms);
}
