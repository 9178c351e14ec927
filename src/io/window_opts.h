/* SPDX-License-Identifier: Apache-2.0 */
/* The text behind --window: whether windows are made, how, and how long they are. */
#ifndef IO_WINDOW_OPTS_H
#define IO_WINDOW_OPTS_H

#include "base/bytes.h"
#include "base/err.h"

/* How short windows come about, best first. */
enum window_how {
	WINDOW_AUTO, /* in the options: the best that works */
	WINDOW_SIM,
	WINDOW_NATIVE,	/* the kernel alternates periods */
	WINDOW_TWIN,	/* two leaders of one period, the second switched on a window later */
	WINDOW_REFRESH, /* a short period, let loose for a burst at a time */
	WINDOW_PLAIN,	/* a short period all the time */
	NR_WINDOW_HOWS
};
extern const char *const window_how_names[NR_WINDOW_HOWS];

enum window_leader { WINDOW_BY_CYCLES, WINDOW_BY_INSTRUCTIONS, WINDOW_BY_CLOCK, NR_WINDOW_LEADERS };

enum window_wish { WINDOW_BY_DEFAULT, WINDOW_ASKED, WINDOW_REFUSED };

struct window_opts {
	enum window_wish wish;
	enum window_how how;
	enum window_leader leader;
	bool leader_given;
	u64 length; /* of the leader's counts; 0: as its event needs */
	u64 jitter; /* 0: none */
	u32 burst;  /* 0: 1 */
};

/* "KEY=VALUE,..." or NULL. ERR_USAGE, noted with the place and what is near. */
int window_opts_parse(struct window_opts *o, const char *text, const struct notify *to);

#endif
