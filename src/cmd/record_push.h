/* SPDX-License-Identifier: Apache-2.0 */
/* `record --push`: hands finished recordings to a process that sends them (cmd/push_sender.h). */
#ifndef CMD_RECORD_PUSH_H
#define CMD_RECORD_PUSH_H

#include "cmd/opt.h"
#include "record/opts.h"

#define RECORD_PUSH_KEEP (256ull << 20)

/* The options as given. */
struct record_push_opts {
	const char *to; /* NULL: nothing is sent */
	const char *format;
	struct opt_list headers;
	u64 interval_ms; /* 0: the usual one */
	u64 keep;	 /* 0: the usual one */
};

/* Settles what the recorder does for it. 0, ERR_USAGE, ERR_UNSUPPORTED; noted. */
int record_push_check(struct record_push_opts *p, struct record_opts *o, const struct notify *to);

struct record_push;
/* Before the recorder has threads or descriptors. NULL: it cannot be done, and that is noted. */
struct record_push *record_push_begin(const struct record_push_opts *p, const struct record_opts *o, bool no_cache,
				      const struct notify *to);
/* 0, or ERR_IO: the process has ended; noted. */
int record_push_take(struct record_push *p, const char *path);
void record_push_reload(struct record_push *p);
/* Waits until all is sent that can be. 0, or ERR_IO: not everything was. Frees p. */
int record_push_end(struct record_push *p);

#endif
