/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP server with a thread for each connection: http_server REQUESTS. It prints the port that it listens at on
 * 127.0.0.1, and ends when it has answered so many requests.
 *
 * A request is a span. Its trace is that of the client, if the request has a header `traceparent` (W3C Trace Context).
 * What it prints at its end is when each thread worked for which span: TID BEGIN END SPAN ROUTE, in ns of
 * CLOCK_MONOTONIC.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "example.h"
#include "listen.h"

#define MOST_REQUEST 4096

WORK(list_items)
WORK(price_cart)
WORK(rank_results)

static const struct route {
	const char *path;
	work_fn *work;
} routes[] = {
	{ "/items", list_items },
	{ "/cart", price_cart },
	{ "/search", rank_results },
};

struct note {
	struct activity_ids ids;
	uint64_t begin, end;
	const struct route *route;
	long tid;
};

struct server {
	struct note *notes; /* one for each request */
	unsigned requests;
	atomic_uint answered, noted;
	int listening;
};

struct connection {
	struct server *server;
	int fd;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* traceparent: 00-TRACE-SPAN-FLAGS. The span is the client's; this request gets one of its own. */
static void read_ids(const char *request, struct activity_ids *ids)
{
	static const char header[] = "\r\ntraceparent: 00-";
	const char *at = strstr(request, header);

	memset(ids, 0, sizeof(*ids));
	if (getrandom(ids, sizeof(*ids), 0) != sizeof(*ids))
		ids->trace[0] = ids->span[0] = 1;
	ids->flags = 1;
	at = at ? at + sizeof(header) - 1 : NULL;
	for (unsigned i = 0; at && i < 2 * sizeof(ids->trace); i++)
		if (digit(at[i]) < 0)
			return;
	for (unsigned i = 0; at && i < sizeof(ids->trace); i++)
		ids->trace[i] = (uint8_t)(digit(at[2 * i]) << 4 | digit(at[2 * i + 1]));
}

static void say(int fd, const char *text)
{
	size_t length = strlen(text);
	ssize_t n;

	for (; length && (n = send(fd, text, length, MSG_NOSIGNAL)) > 0; length -= (size_t)n)
		text += n;
}

static void answer(struct connection *c, const char *request)
{
	unsigned i = atomic_load(&c->server->answered), nr_routes = sizeof(routes) / sizeof(*routes);
	struct note note = { .tid = syscall(SYS_gettid) };

	for (unsigned k = 0; k < nr_routes; k++)
		if (!strncmp(request + strlen("GET "), routes[k].path, strlen(routes[k].path)))
			note.route = &routes[k];
	if (strncmp(request, "GET ", strlen("GET ")) || !note.route) {
		say(c->fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
		return;
	}
	read_ids(request, &note.ids);
	ACTIVITY_SCOPE(&note.ids);
	example_attribute(note.route->path);
	note.begin = now();
	note.route->work(i);
	note.end = now();
	say(c->fd, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n");
	i = atomic_fetch_add(&c->server->answered, 1);
	if (i < c->server->requests)
		c->server->notes[i] = note;
	if (atomic_fetch_add(&c->server->noted, 1) + 1 == c->server->requests)
		shutdown(c->server->listening, SHUT_RDWR); /* accept returns */
}

static void *serve(void *arg)
{
	struct connection *c = arg;
	char request[MOST_REQUEST];
	size_t length = 0;
	ssize_t n = 1;

	request[0] = 0;
	while (n > 0 && length + 1 < sizeof(request) && !strstr(request, "\r\n\r\n")) {
		n = recv(c->fd, request + length, sizeof(request) - 1 - length, 0);
		length += n > 0 ? (size_t)n : 0;
		request[length] = 0;
	}
	if (strstr(request, "\r\n\r\n"))
		answer(c, request);
	close(c->fd);
	free(c);
	return NULL;
}

/* A thread takes the connection, and c with it. */
static void start(struct server *s, int fd)
{
	struct connection *c = malloc(sizeof(*c));
	pthread_t thread;

	if (c)
		*c = (struct connection){ s, fd };
	if (!c || pthread_create(&thread, NULL, serve, c)) {
		close(fd);
		free(c);
		return;
	}
	pthread_detach(thread);
}

int main(int argc, char **argv)
{
	static struct server s;
	int fd;

	s.requests = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	s.notes = calloc(s.requests + 1, sizeof(*s.notes));
	example_publish("http-server", "http.route");
	if (!s.notes || (s.listening = listen_here()) < 0) {
		perror("http_server");
		return 1;
	}
	while ((fd = accept(s.listening, NULL, NULL)) >= 0)
		start(&s, fd);
	for (unsigned i = 0; i < s.requests && s.notes[i].route; i++) {
		printf("%ld %llu %llu ", s.notes[i].tid, (unsigned long long)s.notes[i].begin,
		       (unsigned long long)s.notes[i].end);
		example_span(&s.notes[i].ids);
		printf(" %s\n", s.notes[i].route->path);
	}
	return 0;
}
