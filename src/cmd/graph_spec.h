/* SPDX-License-Identifier: Apache-2.0 */
/* What follows -g of report: "[type,min[,limit][,order][,key][,value]]", the words in any order as perf takes them. */
#ifndef CMD_GRAPH_SPEC_H
#define CMD_GRAPH_SPEC_H

#include "base/err.h"
#include "view/report.h"

struct graph_spec {
	enum graph_style style;
	enum graph_value value;
	enum graph_key key;
	double min; /* percent */
	u32 limit;
	bool given;	      /* the user gave an option of graphs */
	bool ordered, caller; /* the user named an order, and caller is that order */
};

/* The i-th of all words that the text may hold, for completion; NULL when there are no more. */
const char *graph_spec_word(u32 i);
void graph_spec_init(struct graph_spec *g);
/* The set function of struct opt. If text is NULL, the graph starts with callers, as perf's does. */
int graph_spec_set(void *field, const char *text, const struct notify *to);

#endif
