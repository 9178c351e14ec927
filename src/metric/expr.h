/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metric expressions: "branch-misses/instructions*1000". Numbers, names, + - * / and brackets. A name is a role
 * (codec/event_role.h) or an event of the group; "total:NAME" is its sum over all rows. Names may contain '-', so a
 * minus sign needs blanks around it; a name with other characters needs single quotes.
 *
 * An expression is bound to the members of one group. It also gives its derivatives, from which the precision of its
 * value is calculated.
 */
#ifndef METRIC_EXPR_H
#define METRIC_EXPR_H

#include "agg/window_rows.h"

#define EXPR_NODES 64
#define EXPR_VARS (2 * WINDOW_MEMBERS) /* sums of the row, then those of all rows */

enum expr_op { EXPR_CONST, EXPR_SUM, EXPR_TOTAL, EXPR_ADD, EXPR_SUB, EXPR_MUL, EXPR_DIV };

struct expr_node {
	u8 op;
	u8 left, right; /* nodes; of a sum: left is the member */
	double value;	/* of a constant */
};

struct metric_expr {
	struct expr_node nodes[EXPR_NODES];
	u8 n, root;
	u8 num, den;  /* nodes of numerator and denominator; den EXPR_NODES: none */
	double scale; /* the value is scale * num / den */
	u64 members;  /* bits of the members that it uses */
	bool totals;  /* it uses sums over all rows */
};

enum expr_error { EXPR_FINE, EXPR_SYNTAX, EXPR_TOO_LONG, EXPR_UNKNOWN_NAME };

struct expr_fault {
	enum expr_error error;
	size_t at, len; /* the part of the text that is wrong */
};

/* Binds text to the members of g. Fills fault if it returns false. */
bool metric_expr_parse(struct metric_expr *x, const char *text, const struct window_group *g, const struct evlist *l,
		       struct expr_fault *fault);

/* A node's value; with gradient (EXPR_VARS of them) its derivatives, too. */
double metric_expr_value(const struct metric_expr *x, u32 node, const double *row, const double *total,
			 double *gradient);

#endif
