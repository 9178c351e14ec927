/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/opt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/mistake.h"
#include "cmd/peer.h"

static bool takes_value(const struct opt *o)
{
	return o->arg != NULL;
}

static bool value_optional(const struct opt *o)
{
	return o->arg && o->arg[0] == '[';
}

/* Is the next word (NULL: there is none) this option's value? A value that has to be there always is. */
static bool takes_next(const struct opt *o, const char *word)
{
	return !value_optional(o) || (o->next_word && word && *word != '-');
}

static bool is_negatable(const struct opt *o)
{
	return o->kind == OPT_FLAG || o->no;
}

static int parse_number(const char *text, bool bytes, u64 *out)
{
	char *end;
	int shift = 0;

	if (*text < '0' || *text > '9')
		return ERR_USAGE;
	errno = 0;
	*out = strtoull(text, &end, 0);
	if (errno)
		return ERR_USAGE;
	if (bytes && *end) {
		const char *units = "BKMGT", *at = strchr(units, *end & ~0x20);

		if (!at)
			return ERR_USAGE;
		shift = 10 * (int)(at - units);
		end++;
	}
	if (*end || (shift && *out >> (64 - shift)))
		return ERR_USAGE;
	*out <<= shift;
	return 0;
}

static int set_number(const struct opt *o, void *field, const char *name, const char *text, const struct notify *to)
{
	u64 v;

	if (parse_number(text, o->kind == OPT_BYTES, &v) || (o->kind == OPT_U32 && v > UINT32_MAX))
		return notify_error(to, ERR_USAGE, "option %s: '%s' is not a %s", name, text,
				    o->kind == OPT_BYTES ? "size (like 64K or 512M)" : "number");
	if (o->kind == OPT_U32)
		*(u32 *)field = (u32)v;
	else
		*(u64 *)field = v;
	return 0;
}

void opt_list_add(struct opt_list *l, const char *text)
{
	l->v = mem_realloc(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = text;
}

static int apply(const struct opt *o, void *config, const char *name, const char *text, bool no,
		 const struct notify *to)
{
	void *field = (char *)config + o->offset;

	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)field = !no;
		return 0;
	case OPT_COUNT:
		++*(u32 *)field;
		return 0;
	case OPT_U32:
	case OPT_U64:
	case OPT_BYTES:
		return set_number(o, field, name, text, to);
	case OPT_STRING:
		*(const char **)field = text;
		return 0;
	case OPT_LIST:
		opt_list_add(field, text);
		return 0;
	case OPT_CALL:
		return o->set(field, no ? "no" : text, to);
	}
	return ERR_USAGE;
}

static const struct opt *find_letter(const struct opt *opts, u32 n, char letter)
{
	for (u32 i = 0; i < n; i++)
		if (opts[i].letter == letter)
			return &opts[i];
	return NULL;
}

/* Exact name, else the only one that starts with it. *clash is set when several do. */
static const struct opt *find_long(const struct opt *opts, u32 n, const char *name, size_t len, bool negated,
				   bool *clash)
{
	const struct opt *found = NULL;

	for (u32 i = 0; i < n; i++) {
		const struct opt *o = &opts[i];

		if (!o->name || strncmp(o->name, name, len) || (negated && !is_negatable(o)))
			continue;
		if (!o->name[len])
			return o;
		*clash |= found != NULL;
		found = o;
	}
	return *clash ? NULL : found;
}

/* `name` is the option as written, `len` bytes of it, which stand behind "--" unless it is a letter. */
static int note_unknown(const struct command *c, char letter, const char *name, size_t len, const struct notify *to)
{
	struct near near = { 0 };
	struct mistake m = { .near = &near, .hint = peer_option_hint(c->name, letter, name, len) };
	char head[128], other[64];

	if (!letter && !m.hint)
		near.want = (struct str){ name - 2, (u32)len + 2 };
	for (u32 i = 0; near.want.len && i < c->nr_opts; i++)
		if (c->opts[i].name) {
			snprintf(other, sizeof(other), "--%s", c->opts[i].name);
			near_offer(&near, other);
			snprintf(other, sizeof(other), "--no-%s", c->opts[i].name);
			if (is_negatable(&c->opts[i]) && !strncmp(name, "no-", MIN(len, (size_t)3)))
				near_offer(&near, other);
		}
	snprintf(head, sizeof(head), "unknown option '%s%.*s'%s", letter ? "-" : "--", (int)MIN(len, (size_t)60), name,
		 m.hint || near.n ? "" : " (see --help)");
	return mistake_note(&m, ERR_USAGE, head, to);
}

static int parse_long(const struct command *c, void *config, int argc, char **argv, int *at, const struct notify *to)
{
	const struct opt *opts = c->opts;
	u32 n = c->nr_opts;
	const char *word = argv[*at], *name = word + 2, *eq = strchr(name, '='), *text = eq ? eq + 1 : NULL;
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	bool clash = false, no = false;
	const struct opt *o = find_long(opts, n, name, len, false, &clash);

	if (!o && !clash && len > 3 && !strncmp(name, "no-", 3)) {
		o = find_long(opts, n, name + 3, len - 3, true, &clash);
		no = true;
	}
	if (clash)
		return notify_error(to, ERR_USAGE, "option '%.*s' is ambiguous", (int)(len + 2), word);
	if (!o && !strcmp(name, "help"))
		return OPTS_HELP;
	if (!o)
		return note_unknown(c, 0, name, len, to);
	if (text && (!takes_value(o) || no))
		return notify_error(to, ERR_USAGE, "option '%.*s' takes no value", (int)(len + 2), word);
	if (takes_value(o) && !text && !no && takes_next(o, *at + 1 < argc ? argv[*at + 1] : NULL)) {
		if (*at + 1 >= argc)
			return notify_error(to, ERR_USAGE, "option '%s' needs a value (%s)", word, o->arg);
		text = argv[++*at];
	}
	return apply(o, config, word, text, no, to);
}

static int parse_cluster(const struct command *c, void *config, int argc, char **argv, int *at,
			 const struct notify *to)
{
	for (const char *p = argv[*at] + 1; *p; p++) {
		const struct opt *o = find_letter(c->opts, c->nr_opts, *p);
		const char name[] = { '-', *p, 0 };
		const char *text = NULL;
		int err;

		if (!o && *p == 'h')
			return OPTS_HELP;
		if (!o)
			return note_unknown(c, *p, p, 1, to);
		if (takes_value(o) && p[1])
			text = p + 1;
		else if (takes_value(o) && takes_next(o, *at + 1 < argc ? argv[*at + 1] : NULL)) {
			if (*at + 1 >= argc)
				return notify_error(to, ERR_USAGE, "option '%s' needs a value (%s)", name, o->arg);
			text = argv[++*at];
		}
		err = apply(o, config, name, text, false, to);
		if (err || text)
			return err;
	}
	return 0;
}

int opts_parse(const struct command *c, void *config, int argc, char **argv, int *rest, const struct notify *to)
{
	int i = 0, err = 0;

	for (; i < argc && !err; i++) {
		if (argv[i][0] != '-' || !argv[i][1])
			break;
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		err = argv[i][1] == '-' ? parse_long(c, config, argc, argv, &i, to) :
					  parse_cluster(c, config, argc, argv, &i, to);
	}
	*rest = i;
	return err;
}

int opts_parse_mixed(const struct command *c, void *config, int argc, char **argv, int *n, const struct notify *to)
{
	bool options = true;

	*n = 0;
	for (int i = 0; i < argc; i++) {
		int used, err;

		if (!options || argv[i][0] != '-' || !argv[i][1]) {
			argv[(*n)++] = argv[i];
			continue;
		}
		err = opts_parse(c, config, argc - i, argv + i, &used, to);
		if (err)
			return err;
		i += used - 1;
		options = strcmp(argv[i], "--") != 0;
	}
	return 0;
}

void opts_help(const struct opt *opts, u32 n, struct bytes *out)
{
	for (u32 i = 0; i < n; i++) {
		const struct opt *o = &opts[i];
		size_t start = out->len;
		bool optional = value_optional(o);

		bytes_str(out, "    ");
		if (o->letter)
			bytes_printf(out, "-%c%s", o->letter, o->name ? ", " : "");
		else
			bytes_str(out, "    ");
		if (o->name)
			bytes_printf(out, "--%s%s", o->no ? "[no-]" : "", o->name);
		if (optional)
			bytes_printf(out, "[=%s", o->arg + 1);
		else if (o->arg)
			bytes_printf(out, " %s", o->arg);
		bytes_repeat(out, ' ', out->len - start < 36 ? (int)(36 - (out->len - start)) : 1);
		bytes_printf(out, "%s\n", o->help);
	}
}

void opts_free_lists(const struct command *c, void *config)
{
	for (u32 i = 0; i < c->nr_opts; i++)
		if (c->opts[i].kind == OPT_LIST)
			free(((struct opt_list *)((char *)config + c->opts[i].offset))->v);
}
