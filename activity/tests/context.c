/* SPDX-License-Identifier: Apache-2.0 */
/* The process context, read as others read it: from /proc/self/maps, and byte by byte. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reticle/activity.h"
#include "test.h"

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published;
	const uint8_t *payload;
};

static const struct header *find(unsigned *count)
{
	FILE *f = fopen("/proc/self/maps", "r");
	const struct header *found = NULL;
	char line[512];

	*count = 0;
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long start, end;
		int at;

		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &start, &end, &at) == 2 &&
		    (!strncmp(line + at, "/memfd:OTEL_CTX", 15) || !strncmp(line + at, "[anon_shmem:OTEL_CTX]", 21) ||
		     !strncmp(line + at, "[anon:OTEL_CTX]", 15))) {
			found = (const struct header *)start;
			++*count;
		}
	}
	if (f)
		fclose(f);
	return found;
}

/* "service.name" = "shop", and two keys: written down by hand after process_context.proto. */
static const uint8_t want[] = "\x0a\x18\x0a\x16\x0a\x0cservice.name\x12\x06\x0a\x04shop"
			      "\x12\x2e\x0a\x1athreadlocal.schema_version\x12\x10\x0a\x0etlsdesc_v1_dev"
			      "\x12\x38\x0a\x1dthreadlocal.attribute_key_map\x12\x17\x2a\x15"
			      "\x0a\x0c\x0a\x0ahttp.route\x0a\x05\x0a\x03"
			      "abc";

static const struct activity_process again = { .service = "again" };

static void *publish_often(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < 2000; i++)
		CHECK(activity_publish(&again) == 0);
	return NULL;
}

/* A child publishes, whatever another thread of its parent was just doing. */
static void fork_beside_publishing(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, publish_often, NULL));
	for (unsigned i = 0; i < 200; i++) {
		pid_t child = fork();
		int status;

		CHECK(child >= 0);
		if (!child) {
			alarm(20);
			_exit(activity_publish(&again) ? 1 : 0);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	CHECK(!pthread_join(thread, NULL));
}

/* Without the C library's handlers of fork. */
static void child_of_clone(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	int status;

	CHECK(child >= 0);
	if (!child)
		_exit(activity_publish(&again) ? 1 : 0);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
	const char *keys[256] = { "http.route", "abc" };
	struct activity_process p = { .service = "shop", .keys = keys, .nr_keys = 2 };
	const struct header *h;
	char *huge = malloc(70000);
	uint64_t before;
	unsigned count;
	int status;
	pid_t child;

	CHECK(huge && !find(&count));
	CHECK(activity_publish(&p) == 0);
	h = find(&count);
	CHECK(h && count == 1);
	CHECK(!memcmp(h->signature, "OTEL_CTX", 8) && h->version == 2 && h->published);
	CHECK(h->size == sizeof(want) - 1 && !memcmp(h->payload, want, h->size));

	/* What cannot be is refused, and what was there stays. */
	before = h->published;
	memset(huge, 'x', 69999);
	huge[69999] = 0;
	p.service = huge;
	CHECK(activity_publish(&p) < 0);
	p.nr_keys = 257;
	CHECK(activity_publish(&p) < 0);
	CHECK(h->published == before && h->size == sizeof(want) - 1);

	/* Again: another time, the same place. */
	p = (struct activity_process){ .keys = keys, .nr_keys = 0 };
	CHECK(activity_publish(&p) == 0 && find(&count) == h && count == 1);
	CHECK(h->published > before && h->size < sizeof(want) - 1);

	/* A child has one of its own. */
	child = fork();
	if (!child) {
		const struct header *own = find(&count);

		CHECK(own && count == 1 && own->published && own->size && own->payload == (const uint8_t *)(own + 1));
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	free(huge);
	child_of_clone();
	fork_beside_publishing();
	puts("ok");
	return 0;
}
