/* SPDX-License-Identifier: Apache-2.0 */
/* A key is one row of keys[]. */
#include "windows/opts.h"

#include <string.h>

#include "base/optext.h"

static const char *const leader_names[NR_WINDOW_LEADERS] = {
	[WINDOW_BY_CYCLES] = "cycles",
	[WINDOW_BY_INSTRUCTIONS] = "instructions",
	[WINDOW_BY_CLOCK] = "cpu-clock",
};

struct parser {
	struct window_opts *o;
	struct optext t;
};

/* A decimal number from 1 to max. */
static int number(const struct parser *p, u64 max, u64 *out)
{
	if (!str_number(p->t.at, UINT64_MAX, out))
		return optext_fail(&p->t, NULL, NULL, "expected a decimal number of at least 1");
	if (!*out || *out > max)
		return optext_fail(&p->t, NULL, NULL,
				   *out ? "this number is too large" : "expected a number of at least 1");
	return 0;
}

static int set_length(const struct parser *p)
{
	return number(p, INT64_MAX, &p->o->length);
}

/* 0: none, unlike where it is not given. */
static int set_jitter(const struct parser *p)
{
	p->o->jitter_given = true;
	if (str_is(p->t.at, "full"))
		p->o->jitter = SCHEDULE_JITTER_FULL;
	else if (!str_number(p->t.at, INT64_MAX, &p->o->jitter))
		return optext_fail(&p->t, NULL, NULL, "expected a decimal number below 2^63, or 'full'");
	return 0;
}

static int set_burst(const struct parser *p)
{
	u64 v = 0;
	int err = number(p, UINT16_MAX, &v);

	p->o->burst = (u32)v;
	return err;
}

static int set_leader(const struct parser *p)
{
	u32 which = 0;
	int err = optext_choose(&p->t, leader_names, sizeof(*leader_names), NR_WINDOW_LEADERS,
				"there is no such leader", "one of ", &which);

	p->o->leader = (enum window_leader)which;
	p->o->leader_given = true;
	return err;
}

static int set_mode(const struct parser *p)
{
	u32 which = 0;
	int err = optext_choose(&p->t, window_how_names, sizeof(*window_how_names), NR_WINDOW_HOWS,
				"there is no such mode", "one of ", &which);

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

	p->t.at = equals ? (struct str){ equals + 1, word.len - key.len - 1 } : word;
	for (u32 i = 0; i < ARRAY_LEN(keys); i++) {
		if (str_is(key, keys[i].name))
			return keys[i].set(p);
		near_offer(&near, keys[i].name);
	}
	p->t.at = key;
	return optext_fail(&p->t, &near, "keys: short=COUNTS, burst=N, jitter=COUNTS, leader=EVENT, mode=MODE",
			   "no such key");
}

int window_opts_parse(struct window_opts *o, const char *text, const struct notify *to)
{
	struct parser p = { .o = o, .t = { .text = text, .to = to } };
	int err = 0;

	o->wish = WINDOW_ASKED;
	for (const char *at = text; at && *at && !err;) {
		size_t n = strcspn(at, ",");

		err = parse_word(&p, (struct str){ at, (u32)n });
		at += n;
		if (*at == ',' && !*++at && !err) {
			p.t.at = (struct str){ at, 0 };
			err = optext_fail(&p.t, NULL, NULL, "a key is missing after ','");
		}
	}
	return err;
}
