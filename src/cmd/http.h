/* SPDX-License-Identifier: Apache-2.0 */
/* One POST over HTTP, with libcurl, which is loaded when it is first needed. */
#ifndef CMD_HTTP_H
#define CMD_HTTP_H

#include "base/bytes.h"
#include "cmd/opt.h"

struct http_request {
	const char *url;
	const struct opt_list *headers; /* "NAME: VALUE" each */
	const char *type;		/* of the body */
	bool gzip;			/* the body is packed, beyond what its type says */
};

#define HTTP_BODY 1000

struct http_answer {
	u32 status;	 /* 0: there was none; then the body is a sentence that says why */
	bool again;	 /* it may be another one the next time */
	bool message;	 /* the body is a message of protocol buffers, by its type */
	u64 retry_after; /* seconds, that the other side asks to wait; 0: it does not say */
	u32 len;
	char body[HTTP_BODY]; /* how it begins; raw bytes */
};

/* NULL: http_post can be used. Else why not. */
const char *http_missing(void);
/* https verifies who answers, and no answer is followed to another place. */
void http_post(const struct http_request *r, const struct bytes *body, struct http_answer *out);

#endif
