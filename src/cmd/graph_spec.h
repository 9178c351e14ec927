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
	bool given;	      /* the user said something of graphs */
	bool ordered, caller; /* caller holds when ordered: the user named an order */
};

/* The i-th word that a text may have; NULL: there are no more. */
const char *graph_spec_word(u32 i);
void graph_spec_init(struct graph_spec *g);
/* As struct opt wants it. text NULL: as perf, callers first. */
int graph_spec_set(void *field, const char *text, const struct notify *to);

#endif
