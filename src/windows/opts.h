/* SPDX-License-Identifier: Apache-2.0 */
/* The text behind --window: whether windows are made, how, and how long they are. */
#ifndef WINDOWS_OPTS_H
#define WINDOWS_OPTS_H

#include "base/bytes.h"
#include "base/err.h"
#include "codec/schedule.h"

enum window_leader { WINDOW_BY_CYCLES, WINDOW_BY_INSTRUCTIONS, WINDOW_BY_CLOCK, NR_WINDOW_LEADERS };

enum window_wish { WINDOW_BY_DEFAULT, WINDOW_ASKED, WINDOW_REFUSED };

struct window_opts {
	enum window_wish wish;
	enum window_how how;
	enum window_leader leader;
	bool leader_given;
	u64 length; /* in counts of the leader; 0: the default for its event */
	bool jitter_given;
	u64 jitter; /* 0: none; SCHEDULE_JITTER_FULL */
	u32 burst;  /* 0: 1 */
};

/* Parses "KEY=VALUE,..." or NULL. ERR_USAGE, noted with the place and similar names. */
int window_opts_parse(struct window_opts *o, const char *text, const struct notify *to);

#endif
