/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process context: a mapping with a name that profilers look for, a header of 32 bytes, and a message of Protocol
 * Buffers (opentelemetry.proto.processcontext.v1development.ProcessContext).
 *
 * A reader may come at any time, from another process. The time of publication is 0 while the context is being
 * changed, and different each time, so a reader that finds the same time before and after has read what belongs
 * together.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "journal.h"
#include "reticle/activity.h"

#define NAME "OTEL_CTX"
#define VERSION 2
#define ROOM (16u << 10) /* of a context, header included */
#define MOST_KEYS 256

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

struct header {
	char signature[8];
	uint32_t version, size;
	_Atomic uint64_t published; /* ns of CLOCK_BOOTTIME; 0: being changed */
	uint64_t payload;	    /* address */
};

_Static_assert(sizeof(struct header) == 32, "OTEP 4719");

struct message {
	uint8_t bytes[ROOM - sizeof(struct header)];
	size_t length;
	bool full;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct header *context; /* of the process `owner` */
static pid_t owner;
static struct message published; /* for children, which do not have the mapping */
static uint64_t last_time;

/* ---- Protocol Buffers ---- */

static void put(struct message *m, const void *p, size_t n)
{
	if (n > sizeof(m->bytes) - m->length) {
		m->full = true;
		return;
	}
	memcpy(m->bytes + m->length, p, n);
	m->length += n;
}

static void put_number(struct message *m, uint64_t n)
{
	uint8_t byte;

	do {
		byte = (uint8_t)(n & 0x7f) | (n > 0x7f ? 0x80 : 0);
		put(m, &byte, 1);
		n >>= 7;
	} while (n);
}

static size_t length_of(uint64_t n)
{
	size_t length = 1;

	for (; n > 0x7f; n >>= 7)
		length++;
	return length;
}

/* A field that holds bytes, a string or a message of that length, which the caller puts behind it. */
static void put_field(struct message *m, unsigned field, size_t length)
{
	put_number(m, field << 3 | 2);
	put_number(m, length);
}

static size_t field_size(size_t length)
{
	return 1 + length_of(length) + length;
}

static void put_string(struct message *m, unsigned field, const char *s)
{
	put_field(m, field, strlen(s));
	put(m, s, strlen(s));
}

/* KeyValue { key = 1, value = 2 }, the value being AnyValue { string_value = 1 }. */
static size_t pair_size(const char *key, const char *value)
{
	return field_size(strlen(key)) + field_size(field_size(strlen(value)));
}

static void put_pair(struct message *m, const char *key, const char *value)
{
	put_string(m, 1, key);
	put_field(m, 2, field_size(strlen(value)));
	put_string(m, 1, value);
}

/* ProcessContext { resource = 1: Resource { attributes = 1 }, attributes = 2 } */
static void encode(struct message *m, const struct activity_process *p)
{
	static const char schema[] = "threadlocal.schema_version", tlsdesc[] = "tlsdesc_v1_dev",
			  map[] = "threadlocal.attribute_key_map", service[] = "service.name";
	size_t names = 0;

	if (p->service) {
		put_field(m, 1, field_size(pair_size(service, p->service)));
		put_field(m, 1, pair_size(service, p->service));
		put_pair(m, service, p->service);
	}
	put_field(m, 2, pair_size(schema, tlsdesc));
	put_pair(m, schema, tlsdesc);
	/* AnyValue { array_value = 5: ArrayValue { values = 1: AnyValue } } */
	for (size_t i = 0; i < p->nr_keys; i++)
		names += field_size(field_size(strlen(p->keys[i])));
	put_field(m, 2, field_size(strlen(map)) + field_size(field_size(names)));
	put_string(m, 1, map);
	put_field(m, 2, field_size(names));
	put_field(m, 5, names);
	for (size_t i = 0; i < p->nr_keys; i++) {
		put_field(m, 1, field_size(strlen(p->keys[i])));
		put_string(m, 1, p->keys[i]);
	}
}

/* ---- The mapping ---- */

static int open_memory(void)
{
	int fd = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	return fd >= 0 ? fd : memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/* It has a name where there are memfds, or where the kernel names anonymous memory. */
static bool give_name(void *p)
{
	return !prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, ROOM, NAME);
}

static int map(void)
{
	int fd = open_memory(), error;
	void *p = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, ROOM))
		p = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED) {
		p = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return -errno;
		if (!give_name(p)) {
			error = -errno;
			munmap(p, ROOM);
			return error;
		}
	}
	if (madvise(p, ROOM, MADV_DONTFORK)) {
		error = -errno;
		munmap(p, ROOM);
		return error;
	}
	context = p;
	owner = getpid();
	return 0;
}

static uint64_t time_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Puts `published` into the mapping, which is made where there is none. With the lock held. */
static int show(void)
{
	uint64_t now = time_now();
	int err;

	/* A child that was made past in_child, as by _Fork, does not have the mapping either. */
	if (context && owner != getpid())
		context = NULL;
	err = context ? 0 : map();
	if (err)
		return err;
	atomic_store(&context->published, 0);
	atomic_thread_fence(memory_order_seq_cst);
	memcpy(context->signature, NAME, sizeof(context->signature));
	context->version = VERSION;
	context->size = (uint32_t)published.length;
	context->payload = (uint64_t)(uintptr_t)(context + 1);
	memcpy(context + 1, published.bytes, published.length);
	atomic_thread_fence(memory_order_seq_cst);
	last_time = now > last_time ? now : last_time + 1;
	atomic_store(&context->published, last_time);
	(void)give_name(context);
	activity_journal_publish(published.bytes, published.length);
	return 0;
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	if (context)
		(void)show();
	pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

int activity_publish(const struct activity_process *p)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static struct message m;
	int err;

	if (p->nr_keys > MOST_KEYS)
		return -E2BIG;
	pthread_once(&once, watch_forks); /* before anything is there to be copied */
	pthread_mutex_lock(&lock);
	m.length = 0;
	m.full = false;
	encode(&m, p);
	err = m.full ? -E2BIG : 0;
	if (!err) {
		published = m;
		err = show();
	}
	pthread_mutex_unlock(&lock);
	return err;
}
