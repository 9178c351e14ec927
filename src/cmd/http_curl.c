/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/http.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/library.h"
#include "base/mem.h"

#define CONNECT_SECONDS 10L
#define WHOLE_SECONDS 60L

struct curl {
	__typeof__(curl_global_init) *global_init;
	__typeof__(curl_easy_init) *init;
	__typeof__(curl_easy_setopt) *setopt;
	__typeof__(curl_easy_perform) *perform;
	__typeof__(curl_easy_getinfo) *getinfo;
	__typeof__(curl_easy_strerror) *strerror;
	__typeof__(curl_easy_cleanup) *cleanup;
	__typeof__(curl_slist_append) *append;
	__typeof__(curl_slist_free_all) *free_all;
};

/* With either of the libraries for TLS that Debian builds it with. */
static bool load(struct curl *l)
{
	const struct library_function functions[] = {
		{ "curl_global_init", &l->global_init }, { "curl_easy_init", &l->init },
		{ "curl_easy_setopt", &l->setopt },	 { "curl_easy_perform", &l->perform },
		{ "curl_easy_getinfo", &l->getinfo },	 { "curl_easy_strerror", &l->strerror },
		{ "curl_easy_cleanup", &l->cleanup },	 { "curl_slist_append", &l->append },
		{ "curl_slist_free_all", &l->free_all },
	};

	return library_load("libcurl.so.4", functions, ARRAY_LEN(functions)) ||
	       library_load("libcurl-gnutls.so.4", functions, ARRAY_LEN(functions));
}

const char *http_missing(void)
{
	struct curl l;

	return load(&l) ? NULL : "libcurl.so.4 is not installed (Debian: libcurl4)";
}

static size_t take_body(char *p, size_t size, size_t n, void *ctx)
{
	struct http_answer *a = ctx;
	u32 more = (u32)MIN(size * n, sizeof(a->body) - a->len);

	memcpy(a->body + a->len, p, more);
	a->len += more;
	return size * n;
}

static struct http_answer no_answer(const char *why)
{
	struct http_answer a = { .len = (u32)strnlen(why, HTTP_BODY) };

	memcpy(a.body, why, a.len);
	return a;
}

/* Did the user give this header? It takes the place of ours then. */
static bool is_given(const struct http_request *r, const char *name)
{
	size_t n = strlen(name);

	for (u32 i = 0; i < r->headers->n; i++)
		if (!strncasecmp(r->headers->v[i], name, n) && r->headers->v[i][n] == ':')
			return true;
	return false;
}

static struct curl_slist *make_headers(const struct curl *l, const struct http_request *r)
{
	char *type = mem_printf("Content-Type: %s", r->type);
	struct curl_slist *list = l->append(NULL, "Expect:");

	if (!is_given(r, "Content-Type"))
		list = l->append(list, type);
	if (r->gzip && !is_given(r, "Content-Encoding"))
		list = l->append(list, "Content-Encoding: gzip");
	for (u32 i = 0; i < r->headers->n; i++)
		list = l->append(list, r->headers->v[i]);
	free(type);
	return list;
}

/* What is wrong with the network, or with who answers, for the moment. */
static bool passes(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_SSL_CONNECT_ERROR: /* a certificate that is refused is another one */
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
	case CURLE_COULDNT_CONNECT:
	case CURLE_PARTIAL_FILE:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		return true;
	default:
		return false;
	}
}

/* Of the answers that are errors, the ones after which OTLP says to try again. */
static bool is_busy(long status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

static void perform(const struct curl *l, CURL *c, struct http_answer *out)
{
	char why[CURL_ERROR_SIZE] = "";
	const char *type = NULL;
	curl_off_t after = 0;
	CURLcode code;
	long status = 0;

	l->setopt(c, CURLOPT_ERRORBUFFER, why);
	code = l->perform(c);
	if (code) {
		*out = no_answer(*why ? why : l->strerror(code));
		out->again = passes(code);
		return;
	}
	l->getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	l->getinfo(c, CURLINFO_RETRY_AFTER, &after);
	l->getinfo(c, CURLINFO_CONTENT_TYPE, &type);
	out->message = type && !strncasecmp(type, "application/x-protobuf", 22);
	out->status = (u32)status;
	out->again = is_busy(status);
	out->retry_after = (u64)MAX(after, (curl_off_t)0);
}

void http_post(const struct http_request *r, const struct bytes *body, struct http_answer *out)
{
	struct curl_slist *headers;
	struct curl l;
	CURL *c;

	*out = no_answer("libcurl does not start");
	if (!load(&l) || l.global_init(CURL_GLOBAL_DEFAULT) || !(c = l.init()))
		return;
	*out = (struct http_answer){ 0 };
	headers = make_headers(&l, r);
	l.setopt(c, CURLOPT_URL, r->url);
	l.setopt(c, CURLOPT_NOSIGNAL, 1L);
	l.setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
	l.setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
	l.setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	l.setopt(c, CURLOPT_TIMEOUT, WHOLE_SECONDS);
	l.setopt(c, CURLOPT_HTTPHEADER, headers);
	l.setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
	l.setopt(c, CURLOPT_POSTFIELDS, body->p);
	l.setopt(c, CURLOPT_USERAGENT, "reticle/" RETICLE_VERSION);
	l.setopt(c, CURLOPT_WRITEFUNCTION, take_body);
	l.setopt(c, CURLOPT_WRITEDATA, out);
	perform(&l, c, out);
	l.cleanup(c);
	l.free_all(headers);
}
