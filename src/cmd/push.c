/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/push.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>

#include "base/mem.h"
#include "codec/proto.h"
#include "sys/smallfile.h"

#define FIRST_WAIT 500	/* ms; twice as long each time */
#define MOST_WAIT 60000 /* ms */
#define LEAST_SECRET 6	/* shorter values are names and numbers */
#define MOST_SHOWN 200u
#define MOST_TARGET (64u << 10) /* bytes of a file */

/* What follows "http://" or "https://"; NULL: it is neither. */
static const char *after_scheme(const char *url)
{
	static const char *const schemes[] = { "http://", "https://" };

	for (u32 i = 0; i < ARRAY_LEN(schemes); i++)
		if (!strncasecmp(url, schemes[i], strlen(schemes[i])))
			return url + strlen(schemes[i]);
	return NULL;
}

static bool has_controls(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return true;
	return false;
}

/* NAME: VALUE */
static bool is_header(const char *s)
{
	size_t name = strcspn(s, ": ");

	return name && s[name] == ':' && s[name + 1] && !has_controls(s);
}

/* Is it something that may stand there? */
static bool keep_line(struct push_target *out, char *line)
{
	char *end = line + strlen(line);

	while (end > line && strchr(" \t\r", end[-1]))
		*--end = 0;
	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return true;
	if (!out->url)
		out->url = line;
	else if (is_header(line))
		opt_list_add(&out->headers, line);
	else
		return false;
	return true;
}

int push_target_read(const char *word, const struct opt_list *headers, struct push_target *out,
		     const struct notify *to)
{
	struct bytes text = { 0 };
	char *line, *rest;
	u32 number = 1;
	int err;

	*out = (struct push_target){ .url = *word == '@' ? NULL : word };
	for (u32 i = 0; i < headers->n; i++)
		opt_list_add(&out->headers, headers->v[i]);
	if (out->url)
		return 0;
	err = smallfile_read(AT_FDCWD, word + 1, MOST_TARGET, &text);
	out->text = (char *)text.p;
	if (err)
		return notify_error(to, ERR_USAGE, "option --push: cannot read %s: %s", word + 1, strerror(-err));
	for (rest = out->text; (line = strsep(&rest, "\n")); number++)
		if (!keep_line(out, line))
			return notify_error(to, ERR_USAGE,
					    "option --push: line %u of %s is no header, as 'NAME: VALUE' is one",
					    number, word + 1);
	return out->url ? 0 : notify_error(to, ERR_USAGE, "option --push: there is no URL in %s", word + 1);
}

void push_target_free(struct push_target *t)
{
	free(t->headers.v);
	free(t->text);
}

int push_check(const struct http_request *r, const struct notify *to)
{
	const char *host = after_scheme(r->url), *missing;

	if (!host || !host[strspn(host, "/?#")] || has_controls(r->url) || strchr(r->url, ' '))
		return notify_error(to, ERR_USAGE,
				    "option --push: this is no URL that begins with http:// or https://");
	if (strchr(host + strcspn(host, "/?#"), '@'))
		return notify_error(to, ERR_USAGE,
				    "option --push: write @ as %%40 behind the host, and / as %%2F in front of it");
	for (u32 i = 0; i < r->headers->n; i++)
		if (!is_header(r->headers->v[i]))
			return notify_error(to, ERR_USAGE,
					    "option --push-header: number %u is no header, as 'NAME: VALUE' is one",
					    i + 1);
	missing = http_missing();
	return missing ? notify_error(to, ERR_UNSUPPORTED, "option --push: %s", missing) : 0;
}

/* The URL without a user and a password, and without what follows a ? */
static char *shown_url(const char *url)
{
	const char *host = after_scheme(url);
	size_t n = strcspn(host, "/?#"), path = strcspn(host + n, "?#");
	const char *user = memrchr(host, '@', n);
	const char *from = user ? user + 1 : host;

	return mem_printf("%.*s%.*s", (int)(host - url), url, (int)(host + n + path - from), from);
}

/* Does the line repeat LEAST_SECRET bytes in a row of it, n bytes? It may have been cut anywhere. */
static bool repeats(struct str line, const char *secret, size_t n)
{
	for (size_t i = 0; i + LEAST_SECRET <= n; i++)
		if (memmem(line.p, line.len, secret + i, LEAST_SECRET))
			return true;
	return false;
}

/* Does the answer repeat what a header holds, or what shown_url leaves out? */
static bool tells_secret(const struct http_request *r, struct str line)
{
	const char *host = after_scheme(r->url), *user = memrchr(host, '@', strcspn(host, "/?#"));
	const char *query = host + strcspn(host, "?#");

	for (u32 i = 0; i < r->headers->n; i++) {
		const char *value = strchr(r->headers->v[i], ':') + 1;

		if (repeats(line, value, strlen(value)))
			return true;
	}
	return repeats(line, query, strlen(query)) || (user && repeats(line, host, (size_t)(user - host)));
}

/* The text that is this field of a message, the last one; empty: there is none. */
static struct str text_in(struct cursor message, u32 field)
{
	struct str text = { "", 0 };
	struct proto_value v;

	while (proto_next(&message, &v))
		if (v.field == field)
			text = (struct str){ (const char *)v.bytes.p, (u32)cursor_left(&v.bytes) };
	return text;
}

/* What the answer says of itself: the message of google.rpc.Status, as OTLP has it, or the first line of a text. */
static struct str said(const struct http_answer *a)
{
	struct str line = { a->body, a->len };

	if (a->message)
		line = text_in(cursor_over(a->body, a->len, false), 2);
	for (u32 i = 0; i < line.len; i++)
		if (line.p[i] == '\n' || line.p[i] == '\r')
			line.len = i;
	return line;
}

/* What happened, in words. Caller frees. */
static char *answer_text(const struct http_request *r, const struct http_answer *a)
{
	struct str line = said(a);
	struct bytes shown = { 0 };
	char *text;

	if (!tells_secret(r, line))
		bytes_plain(&shown, line.p, MIN(line.len, MOST_SHOWN));
	bytes_char(&shown, 0);
	if (!a->status)
		text = mem_printf("%s", (char *)shown.p);
	else
		text = mem_printf("it answered %u%s%s", a->status, shown.len > 1 ? ": " : "", (char *)shown.p);
	bytes_free(&shown);
	return text;
}

/* OTLP may take a part of what is sent, and says so: ExportProfilesServiceResponse { partial_success = 1 {
 * rejected_profiles = 1; error_message = 2 } }. Sending it again would not help. */
static void note_rejected(const struct http_request *r, const struct http_answer *a, const struct notify *to)
{
	struct cursor response = cursor_over(a->body, a->message ? a->len : 0, false);
	struct proto_value partial, v;

	while (proto_next(&response, &partial)) {
		struct str line = text_in(partial.bytes, 2);
		struct bytes shown = { 0 };
		u64 n = 0;

		if (partial.field != 1)
			continue;
		while (proto_next(&partial.bytes, &v))
			n = v.field == 1 ? v.number : n;
		if (!tells_secret(r, line))
			bytes_plain(&shown, line.p, MIN(line.len, MOST_SHOWN));
		bytes_char(&shown, 0);
		if (n || line.len)
			notify_warn(to, "the server rejected %llu profiles of those that were sent%s%s",
				    (unsigned long long)n, shown.len > 1 ? ": " : "", (char *)shown.p);
		bytes_free(&shown);
	}
}

u64 push_wait_ms(u32 tries, u64 asked_ms)
{
	u64 ms = MIN((u64)FIRST_WAIT << MIN(tries, 16u), (u64)MOST_WAIT);
	u32 random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) == sizeof(random))
		ms = ms * 3 / 4 + ms / 2 * (random % 1024) / 1024;
	return MIN(MAX(ms, asked_ms), (u64)MOST_WAIT);
}

static u64 retry_after_ms(const struct http_answer *a)
{
	return MIN(a->retry_after, (u64)MOST_WAIT) * 1000;
}

static void sleep_ms(u64 ms)
{
	struct timespec t = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000) };

	nanosleep(&t, NULL);
}

/* Would any other body be refused as well? No answer, an address that is a wrong one, and who is not known. */
static bool is_about_target(const struct http_answer *a)
{
	static const u32 statuses[] = { 401, 402, 403, 404, 405, 407 };

	for (u32 i = 0; i < ARRAY_LEN(statuses); i++)
		if (a->status == statuses[i])
			return true;
	return a->status < 400;
}

int push_send(const struct http_request *r, u32 retries, const struct bytes *body, struct push_outcome *out,
	      const struct notify *to)
{
	char *url = shown_url(r->url), *text = NULL;
	struct http_answer a;
	int err = ERR_IO;

	for (u32 tries = 0;; tries++) {
		u64 ms;

		http_post(r, body, &a);
		if (a.status >= 200 && a.status < 300) {
			err = 0;
			*out = (struct push_outcome){ PUSH_SENT, .bytes = body->len };
			note_rejected(r, &a, to);
			notify_at(to, NOTE_INFO, 0, NULL, NO_OFFSET, "sent %zu bytes to %s", body->len, url);
			break;
		}
		text = answer_text(r, &a);
		if (!a.again || tries == retries) {
			bool later = a.again || is_about_target(&a);

			err = later ? ERR_IO : ERR_UNSUPPORTED;
			*out = (struct push_outcome){ later ? PUSH_LATER : PUSH_REFUSED,
						      .wait_ms = retry_after_ms(&a) };
			notify_error(to, err, "cannot send to %s: %s", url, text);
			break;
		}
		ms = push_wait_ms(tries, retry_after_ms(&a));
		notify_warn(to, "cannot send to %s: %s; trying again in %llu.%llu s", url, text,
			    (unsigned long long)(ms / 1000), (unsigned long long)(ms % 1000 / 100));
		free(text);
		text = NULL;
		sleep_ms(ms);
	}
	free(text);
	free(url);
	return err;
}
