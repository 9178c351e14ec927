/* SPDX-License-Identifier: Apache-2.0 */
/* A key is one row of keys[]. */
#include "io/window_opts.h"

#include <string.h>

#include "io/mistake.h"

const char *const window_how_names[NR_WINDOW_HOWS] = {
	[WINDOW_AUTO] = "auto", [WINDOW_SIM] = "sim",	      [WINDOW_NATIVE] = "native",
	[WINDOW_TWIN] = "twin", [WINDOW_REFRESH] = "refresh", [WINDOW_PLAIN] = "plain",
};

static const char *const leader_names[NR_WINDOW_LEADERS] = {
	[WINDOW_BY_CYCLES] = "cycles",
	[WINDOW_BY_INSTRUCTIONS] = "instructions",
	[WINDOW_BY_CLOCK] = "cpu-clock",
};

struct parser {
	struct window_opts *o;
	const char *text;
	struct str at; /* the value, or the word where there is none */
	const struct notify *to;
};

static bool is(struct str s, const char *word)
{
	return s.len == strlen(word) && !memcmp(s.p, word, s.len);
}

static int fail(const struct parser *p, const struct near *near, const char *hint, const char *head)
{
	const struct mistake m = { p->text, p->at, near, hint };

	return mistake_note(&m, ERR_USAGE, head, p->to);
}

/* A decimal number from 1 to max. */
static int number(const struct parser *p, u64 max, u64 *out)
{
	u64 v = 0;

	for (u32 i = 0; i < p->at.len; i++) {
		if (p->at.p[i] < '0' || p->at.p[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (u64)(p->at.p[i] - '0'), &v))
			return fail(p, NULL, NULL, "a decimal number belongs here");
	}
	if (!p->at.len || !v || v > max)
		return fail(p, NULL, NULL, v ? "this number is too large" : "a number belongs here, 1 at least");
	*out = v;
	return 0;
}

static int set_length(const struct parser *p)
{
	return number(p, INT64_MAX, &p->o->length);
}

static int set_jitter(const struct parser *p)
{
	return number(p, INT64_MAX, &p->o->jitter);
}

static int set_burst(const struct parser *p)
{
	u64 v = 0;
	int err = number(p, UINT16_MAX, &v);

	p->o->burst = (u32)v;
	return err;
}

/* One of names[]; *out is its index. */
static int choose(const struct parser *p, const char *const names[], u32 n, const char *head, u32 *out)
{
	struct near near = { .want = p->at };
	struct bytes hint = { 0 };
	int err;

	bytes_str(&hint, "one of ");
	for (u32 i = 0; i < n; i++) {
		if (is(p->at, names[i])) {
			*out = i;
			bytes_free(&hint);
			return 0;
		}
		near_offer(&near, names[i]);
		bytes_printf(&hint, "%s%s", i ? ", " : "", names[i]);
	}
	bytes_char(&hint, 0);
	err = fail(p, &near, (const char *)hint.p, head);
	bytes_free(&hint);
	return err;
}

static int set_leader(const struct parser *p)
{
	u32 which = 0;
	int err = choose(p, leader_names, NR_WINDOW_LEADERS, "no such leader", &which);

	p->o->leader = (enum window_leader)which;
	p->o->leader_given = true;
	return err;
}

static int set_mode(const struct parser *p)
{
	u32 which = 0;
	int err = choose(p, window_how_names, NR_WINDOW_HOWS, "no such mode", &which);

	p->o->how = (enum window_how)which;
	return err;
}

static const struct {
	const char *name;
	int (*set)(const struct parser *p);
} keys[] = {
	{ "short", set_length },  { "burst", set_burst }, { "jitter", set_jitter },
	{ "leader", set_leader }, { "mode", set_mode },
};

static int parse_word(struct parser *p, struct str word)
{
	const char *equals = memchr(word.p, '=', word.len);
	struct str key = { word.p, equals ? (u32)(equals - word.p) : word.len };
	struct near near = { .want = key };

	p->at = equals ? (struct str){ equals + 1, word.len - key.len - 1 } : word;
	for (u32 i = 0; i < ARRAY_LEN(keys); i++) {
		if (is(key, keys[i].name))
			return keys[i].set(p);
		near_offer(&near, keys[i].name);
	}
	p->at = key;
	return fail(p, &near, "keys: short=COUNTS, burst=N, jitter=COUNTS, leader=EVENT, mode=MODE", "no such key");
}

int window_opts_parse(struct window_opts *o, const char *text, const struct notify *to)
{
	struct parser p = { .o = o, .text = text, .to = to };
	int err = 0;

	o->wish = WINDOW_ASKED;
	for (const char *at = text; at && *at && !err;) {
		size_t n = strcspn(at, ",");

		err = parse_word(&p, (struct str){ at, (u32)n });
		at += n;
		if (*at == ',' && !*++at && !err) {
			p.at = (struct str){ at, 0 };
			err = fail(&p, NULL, NULL, "a key is missing behind ','");
		}
	}
	return err;
}
