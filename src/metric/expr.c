/* SPDX-License-Identifier: Apache-2.0 */
#include "metric/expr.h"

#include <string.h>

struct parser {
	struct metric_expr *x;
	const char *text, *at;
	const struct window_group *g;
	const struct evlist *l;
	struct expr_fault *fault;
	u32 depth;
};

#define NO_NODE EXPR_NODES
#define MAX_DEPTH 32

static u32 fail(struct parser *p, enum expr_error error, const char *from, size_t len)
{
	if (!p->fault->error)
		*p->fault = (struct expr_fault){ error, (size_t)(from - p->text), len };
	return NO_NODE;
}

static void skip_blanks(struct parser *p)
{
	p->at += strspn(p->at, " \t");
}

static u32 add_node(struct parser *p, struct expr_node node)
{
	if (p->x->n == EXPR_NODES)
		return fail(p, EXPR_TOO_LONG, p->at, 0);
	p->x->nodes[p->x->n] = node;
	return p->x->n++;
}

static bool in_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_-.:", c));
}

/* Whole, or up to its modifiers or terms. */
static bool names_event(const char *event, const char *name, size_t len)
{
	const char *own = event;
	size_t bare = event_bare_name(&own), before = strcspn(event, "/:");

	return (strlen(event) == len && !memcmp(event, name, len)) || (bare == len && !memcmp(own, name, len)) ||
	       (before == len && !memcmp(event, name, len));
}

static u32 find_member(const struct parser *p, const char *name, size_t len)
{
	u32 role = event_role_find(name, len);

	for (u32 i = 0; role != ID_NONE && i < p->g->nr; i++)
		if (p->g->roles[i] == role)
			return i;
	for (u32 i = 0; i < p->g->nr; i++)
		if (names_event(p->l->events.v[p->g->events[i]].name, name, len))
			return i;
	return ID_NONE;
}

static u32 parse_name(struct parser *p)
{
	static const char total[] = "total:";
	const char *name = p->at, *whole = name;
	size_t len = 0;
	bool all = !strncmp(name, total, sizeof(total) - 1);
	u32 member;

	name += all ? sizeof(total) - 1 : 0;
	if (*name == '\'') {
		len = strcspn(++name, "'");
		if (!name[len])
			return fail(p, EXPR_SYNTAX, name, len);
		p->at = name + len + 1;
	} else {
		while (in_name(name[len]))
			len++;
		p->at = name + len;
	}
	if (!len)
		return fail(p, EXPR_SYNTAX, whole, 1);
	member = find_member(p, name, len);
	if (member == ID_NONE)
		return fail(p, EXPR_UNKNOWN_NAME, name, len);
	p->x->members |= 1ull << member;
	p->x->totals |= all;
	return add_node(p, (struct expr_node){ .op = all ? EXPR_TOTAL : EXPR_SUM, .left = (u8)member });
}

static u32 parse_sum(struct parser *p);

static u32 parse_atom(struct parser *p)
{
	char *end;
	u32 node;

	skip_blanks(p);
	if (*p->at == '(') {
		if (++p->depth > MAX_DEPTH)
			return fail(p, EXPR_TOO_LONG, p->at, 1);
		p->at++;
		node = parse_sum(p);
		skip_blanks(p);
		if (node != NO_NODE && *p->at != ')')
			return fail(p, EXPR_SYNTAX, p->at, 1);
		p->at += *p->at == ')';
		p->depth--;
		return node;
	}
	if ((*p->at >= '0' && *p->at <= '9') || *p->at == '.') {
		double value = strtod(p->at, &end);

		if (end == p->at)
			return fail(p, EXPR_SYNTAX, p->at, 1);
		p->at = end;
		return add_node(p, (struct expr_node){ .op = EXPR_CONST, .value = value });
	}
	return parse_name(p);
}

static u32 parse_chain(struct parser *p, char one, enum expr_op first, char two, enum expr_op second,
		       u32 (*operand)(struct parser *))
{
	u32 left = operand(p);

	for (;;) {
		u32 right;
		char c;

		skip_blanks(p);
		c = *p->at;
		if (left == NO_NODE || (c != one && c != two))
			return left;
		p->at++;
		right = operand(p);
		if (right == NO_NODE)
			return NO_NODE;
		left = add_node(p, (struct expr_node){
					   .op = c == one ? first : second, .left = (u8)left, .right = (u8)right });
	}
}

static u32 parse_product(struct parser *p)
{
	return parse_chain(p, '*', EXPR_MUL, '/', EXPR_DIV, parse_atom);
}

static u32 parse_sum(struct parser *p)
{
	return parse_chain(p, '+', EXPR_ADD, '-', EXPR_SUB, parse_product);
}

/* What is divided by what: constant factors behind the fraction are its scale. */
static void find_fraction(struct metric_expr *x)
{
	u32 at = x->root;

	x->scale = 1;
	while (x->nodes[at].op == EXPR_MUL && x->nodes[x->nodes[at].right].op == EXPR_CONST) {
		x->scale *= x->nodes[x->nodes[at].right].value;
		at = x->nodes[at].left;
	}
	x->num = (u8)at;
	x->den = EXPR_NODES;
	if (x->nodes[at].op == EXPR_DIV) {
		x->num = x->nodes[at].left;
		x->den = x->nodes[at].right;
	}
}

bool metric_expr_parse(struct metric_expr *x, const char *text, const struct window_group *g, const struct evlist *l,
		       struct expr_fault *fault)
{
	struct parser p = { .x = x, .text = text, .at = text, .g = g, .l = l, .fault = fault };
	u32 root;

	*x = (struct metric_expr){ 0 };
	*fault = (struct expr_fault){ 0 };
	root = parse_sum(&p);
	if (root != NO_NODE && *p.at)
		fail(&p, EXPR_SYNTAX, p.at, 1);
	if (fault->error)
		return false;
	x->root = (u8)root;
	find_fraction(x);
	return true;
}

static double combine(enum expr_op op, double a, double b, double *ga, const double *gb)
{
	double v = op == EXPR_ADD ? a + b : op == EXPR_SUB ? a - b : op == EXPR_MUL ? a * b : a / b;

	for (u32 i = 0; ga && i < EXPR_VARS; i++) {
		switch (op) {
		case EXPR_ADD:
			ga[i] += gb[i];
			break;
		case EXPR_SUB:
			ga[i] -= gb[i];
			break;
		case EXPR_MUL:
			ga[i] = ga[i] * b + gb[i] * a;
			break;
		default:
			ga[i] = (ga[i] - v * gb[i]) / b;
			break;
		}
	}
	return v;
}

double metric_expr_value(const struct metric_expr *x, u32 node, const double *row, const double *total,
			 double *gradient)
{
	const struct expr_node *n = &x->nodes[node];
	double of_right[EXPR_VARS], a, b;

	if (n->op >= EXPR_ADD) {
		a = metric_expr_value(x, n->left, row, total, gradient);
		b = metric_expr_value(x, n->right, row, total, gradient ? of_right : NULL);
		return combine(n->op, a, b, gradient, of_right);
	}
	if (gradient) {
		memset(gradient, 0, EXPR_VARS * sizeof(double));
		if (n->op != EXPR_CONST)
			gradient[n->left + (n->op == EXPR_TOTAL ? WINDOW_MEMBERS : 0)] = 1;
	}
	return n->op == EXPR_CONST ? n->value : n->op == EXPR_SUM ? row[n->left] : total[n->left];
}
