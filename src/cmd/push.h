/* SPDX-License-Identifier: Apache-2.0 */
/* Sends what was made to a server, again and again if that is busy or away. */
#ifndef CMD_PUSH_H
#define CMD_PUSH_H

#include "cmd/http.h"

#define PUSH_RETRIES 5 /* usual: with answers that come at once, the last one is half a minute after the first try */

/* Where to, and with which headers: of the command line and, as "@FILE", of a file. */
struct push_target {
	const char *url;
	struct opt_list headers;
	char *text; /* of the file, or NULL */
};
/* With @FILE, the first line of FILE is the URL, and each other one a header; empty lines and those that begin with #
 * say nothing. 0 or ERR_USAGE, noted; free it in both cases. */
int push_target_read(const char *word, const struct opt_list *headers, struct push_target *out,
		     const struct notify *to);
void push_target_free(struct push_target *t);

enum push_end {
	PUSH_NOT_MADE, /* there is nothing that could be sent; the note says why */
	PUSH_EMPTY,    /* no samples, so it was not sent */
	PUSH_SENT,
	PUSH_LATER,   /* not yet: the server, the way to it, or what is known of it may be another one then */
	PUSH_REFUSED, /* the server refuses this very body, and would do so again */
	PUSH_ENDS,
};

struct push_outcome {
	enum push_end end;
	u64 wait_ms; /* PUSH_LATER: so long the server asks to wait; 0: it does not say */
	u64 bytes;   /* PUSH_SENT */
};

/* Before there is anything to send. ERR_USAGE, or ERR_UNSUPPORTED: it cannot be sent; the note says why. */
int push_check(const struct http_request *r, const struct notify *to);
/* 0, ERR_IO, or ERR_UNSUPPORTED: it is refused. What is noted holds no secrets of the request: neither headers, nor a
 * user and a password, or what follows a ?, in the URL. */
int push_send(const struct http_request *r, u32 retries, const struct bytes *body, struct push_outcome *out,
	      const struct notify *to);
/* How long to wait after so many tries: longer each time, and not the same for all who wait. asked: by the server. */
u64 push_wait_ms(u32 tries, u64 asked_ms);

#endif
