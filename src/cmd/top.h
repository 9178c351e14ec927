/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `reticle top` share: its options (top_options.c), its loop (top.c), its screens (top_screen.c). */
#ifndef CMD_TOP_H
#define CMD_TOP_H

#include <stdio.h>

#include "cmd/record_options.h"
#include "cmd/report_options.h"
#include "cmd/top_rows.h"
#include "pass/live.h"
#include "view/report.h"

struct top_config {
	struct report_config report;
	struct record_config record;
	const char *delay; /* as given, or NULL */
	u64 delay_s;	   /* 1 or more */
	u64 history_s;
	u32 entries;   /* rows; 0: as many as there is room for */
	u32 refreshes; /* so many tables, then the end; 0: no such end */
	bool zero;     /* each table is of what came since the one before */
	bool hide_kernel, hide_user;
	bool stdio, tui;
	/* Taken from perf's command lines. */
	const char *unused;
	bool unused_flag;
};

/* One refresh, as text: all that a screen shows. */
struct top_frame {
	struct bytes head;  /* lines about the recording */
	struct bytes table; /* the names of the columns, and the rows */
	u32 heading;	    /* how many lines of the table are names of columns */
	bool ended;	    /* nothing more will come */
};

/* The first n bytes of b, of which there may be none: that of an idle process is a table without bytes. False: they
 * could not be written. */
static inline bool top_write(const struct bytes *b, size_t n, FILE *file)
{
	return !n || fwrite(b->p, 1, n, file) == n;
}

enum top_wish { TOP_NONE, TOP_REDRAW, TOP_ONLY_DSO, TOP_ONLY_COMM, TOP_EXPAND, TOP_REFRESH, TOP_QUIT };

/* What keys change. */
struct top_state {
	bool zero, long_names, frozen;
	struct top_open open;
	bool other_base;		   /* shares are of what --percentage does not say */
	u32 event;			   /* which one is shown: index in the profile */
	char filter[64];		   /* only functions with this in their names; "": all */
	char only_dso[256], only_comm[64]; /* likewise */
	double percent_limit;
	/* Of the screen: */
	u32 cursor, first; /* rows */
	bool help;
	char said[128];	 /* in the last line, until the next key */
	u32 question;	 /* that is asked there, from 1; 0: none */
	char answer[64]; /* as far as it was typed */
};

struct top_screen;

/* Is standard output a terminal whose cursor can be moved? (top_terminal.c) */
bool top_terminal_known(void);
/* A curses screen; ERR_UNSUPPORTED when the terminal has none. */
int top_screen_open(struct top_screen **out, bool color);
/* The terminal as it was. */
void top_screen_close(struct top_screen *s);
void top_screen_draw(struct top_screen *s, const struct top_frame *f, struct top_state *t);
u32 top_screen_columns(const struct top_screen *s);
/* A key, if there is one. */
enum top_wish top_screen_key(struct top_screen *s, const struct top_frame *f, struct top_state *t);

/* The command's run. */
int top_run(const struct command_ctx *ctx, const void *config, int argc, char **argv);

#endif
