/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/graph_spec.h"

#include <stdlib.h>
#include <string.h>

#define PLAIN "graph,0.5,caller,function,percent" /* what -g alone means to perf, whatever rows have */

enum word_kind { WORD_STYLE, WORD_ORDER, WORD_VALUE, WORD_KEY, WORD_FOREIGN };

static const struct word {
	const char *text;
	enum word_kind kind;
	int value;
} words[] = {
	{ "graph", WORD_STYLE, GRAPH_GRAPH },
	{ "fractal", WORD_STYLE, GRAPH_FRACTAL },
	{ "flat", WORD_STYLE, GRAPH_FLAT },
	{ "folded", WORD_STYLE, GRAPH_FOLDED },
	{ "none", WORD_STYLE, GRAPH_NONE },
	{ "no", WORD_STYLE, GRAPH_NONE },
	{ "caller", WORD_ORDER, true },
	{ "callee", WORD_ORDER, false },
	{ "percent", WORD_VALUE, GRAPH_PERCENT },
	{ "period", WORD_VALUE, GRAPH_PERIOD },
	{ "count", WORD_VALUE, GRAPH_COUNT },
	{ "function", WORD_KEY, GRAPH_KEY_FUNCTION },
	{ "address", WORD_KEY, GRAPH_KEY_ADDRESS },
	{ "srcline", WORD_KEY, GRAPH_KEY_LINE },
	{ "branch", WORD_FOREIGN, 0 },
};

/* Those of perf that are refused are no offer. */
const char *graph_spec_word(u32 i)
{
	return i < ARRAY_LEN(words) && words[i].kind != WORD_FOREIGN ? words[i].text : NULL;
}

void graph_spec_init(struct graph_spec *g)
{
	*g = (struct graph_spec){ .style = GRAPH_GRAPH, .min = 0.5 };
}

/* perf accepts a word's beginning. */
static const struct word *find_word(const char *text, size_t len)
{
	for (u32 i = 0; i < ARRAY_LEN(words); i++)
		if (len <= strlen(words[i].text) && !strncmp(words[i].text, text, len))
			return &words[i];
	return NULL;
}

/* The first number is the least percentage, the second the limit of entries. */
static bool take_number(struct graph_spec *g, const char *text, size_t len, u32 nth)
{
	char *end;
	double v = strtod(text, &end);

	if (end != text + len || !(v >= 0))
		return false;
	if (nth == 0 && v <= 100)
		g->min = v;
	else if (nth == 1 && v <= 1e9)
		g->limit = (u32)v;
	else
		return false;
	return true;
}

static int take_word(struct graph_spec *g, const char *text, size_t len, const struct notify *to)
{
	const struct word *w = find_word(text, len);

	if (!w)
		return notify_error(to, ERR_USAGE,
				    "option --call-graph: '%.*s' is neither a type (graph, fractal, flat, "
				    "folded, none) nor a percentage, caller or callee",
				    (int)len, text);
	switch (w->kind) {
	case WORD_STYLE:
		g->style = (enum graph_style)w->value;
		break;
	case WORD_ORDER:
		g->ordered = true;
		g->caller = w->value;
		break;
	case WORD_VALUE:
		g->value = (enum graph_value)w->value;
		break;
	case WORD_KEY:
		g->key = (enum graph_key)w->value;
		break;
	case WORD_FOREIGN:
		return notify_error(
			to, ERR_USAGE,
			"option --call-graph: '%s' is not supported: graphs are of call chains, not of branch records",
			w->text);
	}
	return 0;
}

int graph_spec_set(void *field, const char *text, const struct notify *to)
{
	struct graph_spec *g = field;
	u32 numbers = 0;
	int err = 0;

	g->given = true;
	if (!text)
		text = PLAIN;
	while (*text && !err) {
		size_t len = strcspn(text, ", ");

		if (len && *text >= '0' && *text <= '9') {
			if (!take_number(g, text, len, numbers++))
				err = notify_error(to, ERR_USAGE, "option --call-graph: '%.*s' is not a percentage",
						   (int)len, text);
		} else if (len) {
			err = take_word(g, text, len, to);
		}
		text += len + (text[len] != 0);
	}
	return err;
}
