/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP server that answers from a sqlite database: sqlite_server DATABASE. It makes the database, which does not
 * exist yet, prints the port that it listens at on 127.0.0.1, and serves until it gets SIGTERM. A connection has a
 * thread, and stays open.
 *
 * A request is a span of a trace of its own; its attribute is the route. What the server prints at its end is how many
 * requests of each route there were, and the ns of CPU time between begin and end of their spans, by the thread's
 * clock.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "example.h"
#include "listen.h"

#define MOST_REQUEST 4096
#define MOST_ANSWER 16384
#define ITEMS 2000
#define NR_ROUTES (sizeof(routes) / sizeof(*routes))

static const struct route {
	const char *path, *query;
} routes[] = {
	{ "/items", "select name, price from items where id between ?1 and ?1 + 40" },
	{ "/cart", "select c.user, sum(i.price * c.count) from cart c join items i on i.id = c.item "
		   "where c.user between ?1 % 100 and ?1 % 100 + 5 group by c.user" },
	{ "/search", "select name, price from items where name like '%' || (?1 % 100) || '%' limit 20" },
};

struct totals {
	atomic_uint_least64_t requests, cpu;
};

struct connection {
	const char *database;
	struct totals *totals; /* of each route */
	int fd;
};

struct server {
	struct totals totals[NR_ROUTES];
	const char *database;
	int listening;
};

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool make_database(const char *path)
{
	static const char sql[] =
		"create table items(id integer primary key, name text, price int);"
		"create table cart(user int, item int, count int); create index cart_user on cart(user);"
		"with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)"
		" insert into items select i, 'item ' || (i * 7919 % 10007), i * 31 % 1000 from n;"
		"insert into cart select id % 100, id, id % 7 + 1 from items;";
	sqlite3 *db = NULL;
	bool made = sqlite3_open(path, &db) == SQLITE_OK && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;

	if (!made)
		fprintf(stderr, "sqlite_server: %s: %s\n", path, db ? sqlite3_errmsg(db) : "no memory");
	sqlite3_close(db);
	return made;
}

static bool say(int fd, const char *text, size_t length, int flags)
{
	ssize_t n = 1;

	for (; length && (n = send(fd, text, length, MSG_NOSIGNAL | flags)) > 0; length -= (size_t)n)
		text += n;
	return !length;
}

/* -> bytes of the answer's body */
static size_t run_query(sqlite3_stmt *query, int n, char *body)
{
	size_t length = 0;

	sqlite3_bind_int(query, 1, n);
	while (sqlite3_step(query) == SQLITE_ROW && length < MOST_ANSWER - 256)
		length += (size_t)snprintf(body + length, MOST_ANSWER - length, "%.100s\t%d\n",
					   (const char *)sqlite3_column_text(query, 0), sqlite3_column_int(query, 1));
	sqlite3_reset(query);
	return length;
}

static struct activity_ids next_ids(uint64_t *state)
{
	struct activity_ids ids = { .flags = 1 };
	uint64_t id[3];

	for (unsigned i = 0; i < 3; i++) {
		uint64_t x = *state += 0x9e3779b97f4a7c15u;

		x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
		id[i] = (x ^ x >> 27) | 1;
	}
	memcpy(ids.trace, id, sizeof(ids.trace));
	memcpy(ids.span, id + 2, sizeof(ids.span));
	return ids;
}

/* False: the connection is to be closed. */
static bool answer(struct connection *c, sqlite3_stmt **queries, const char *path, const struct activity_ids *ids)
{
	static const char not_found[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
	char head[128], body[MOST_ANSWER];
	uint64_t begin = cpu_time();
	unsigned r = 0;
	size_t length;
	bool sent;

	while (r < NR_ROUTES && strncmp(path, routes[r].path, strlen(routes[r].path)))
		r++;
	if (r == NR_ROUTES) {
		say(c->fd, not_found, sizeof(not_found) - 1, 0);
		return false;
	}
	ACTIVITY_SCOPE(ids);
	example_attribute(routes[r].path);
	length = run_query(queries[r], atoi(path + strcspn(path, "0123456789")) % ITEMS, body);
	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n",
		 length);
	sent = say(c->fd, head, strlen(head), MSG_MORE) && say(c->fd, body, length, 0);
	atomic_fetch_add(&c->totals[r].requests, 1);
	atomic_fetch_add(&c->totals[r].cpu, cpu_time() - begin);
	return sent;
}

/* One request after another; they have no bodies. */
static void serve_all(struct connection *c, sqlite3_stmt **queries)
{
	uint64_t state = cpu_time() + (uint64_t)(uintptr_t)c;
	char request[MOST_REQUEST + 1];
	size_t length = 0;
	ssize_t n;

	while ((n = recv(c->fd, request + length, MOST_REQUEST - length, 0)) > 0) {
		char *end, *next = request;

		length += (size_t)n;
		request[length] = 0;
		for (; (end = strstr(next, "\r\n\r\n")) != NULL; next = end + 4) {
			struct activity_ids ids = next_ids(&state);

			*end = 0;
			if (strncmp(next, "GET ", 4) || !answer(c, queries, next + 4, &ids))
				return;
		}
		length -= (size_t)(next - request);
		memmove(request, next, length);
	}
}

static void *serve(void *arg)
{
	sqlite3_stmt *queries[NR_ROUTES] = { NULL };
	struct connection *c = arg;
	sqlite3 *db = NULL;
	bool ready = sqlite3_open_v2(c->database, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK;

	for (unsigned r = 0; ready && r < NR_ROUTES; r++)
		ready = sqlite3_prepare_v2(db, routes[r].query, -1, &queries[r], NULL) == SQLITE_OK;
	if (ready)
		serve_all(c, queries);
	else
		fprintf(stderr, "sqlite_server: %s\n", db ? sqlite3_errmsg(db) : "no memory");
	for (unsigned r = 0; r < NR_ROUTES; r++)
		sqlite3_finalize(queries[r]);
	sqlite3_close(db);
	close(c->fd);
	free(c);
	return NULL;
}

static void *accept_all(void *arg)
{
	struct server *s = arg;
	int fd;

	while ((fd = accept(s->listening, NULL, NULL)) >= 0) {
		struct connection *c = malloc(sizeof(*c));
		pthread_t thread;

		if (c)
			*c = (struct connection){ s->database, s->totals, fd };
		if (!c || pthread_create(&thread, NULL, serve, c)) {
			close(fd);
			free(c);
			continue;
		}
		pthread_detach(thread);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct server s;
	pthread_t accepting;
	sigset_t ends;
	int signal;

	s.database = argv[argc - 1];
	if (argc != 2 || !make_database(s.database))
		return 1;
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	example_publish("sqlite-server", "http.route");
	if ((s.listening = listen_here()) < 0 || pthread_create(&accepting, NULL, accept_all, &s)) {
		perror("sqlite_server");
		return 1;
	}
	sigwait(&ends, &signal);
	shutdown(s.listening, SHUT_RDWR); /* accept returns */
	pthread_join(accepting, NULL);
	for (unsigned r = 0; r < NR_ROUTES; r++)
		printf("%s %" PRIu64 " %" PRIu64 "\n", routes[r].path, s.totals[r].requests, s.totals[r].cpu);
	return 0;
}
