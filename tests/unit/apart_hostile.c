/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers that names have taken over: what stands for libiberty here does what a name says, in the process apart. */
#include "state/apart.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/sanitized.h"
#include "state/apart_impl.h"
#include "state/demangle.h"
#include "state/dso.h"
#include "state/readable.h"

static void sleep_ms(long ms)
{
	u32 word = 0;

	/* One of the system calls that the parser has. */
	syscall(SYS_futex, &word, FUTEX_WAIT, 0, &(struct timespec){ .tv_nsec = ms * 1000000 }, NULL, 0);
}

static void put(const void *p, size_t n)
{
	struct iovec part = { (void *)p, n };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (sendmsg(APART_SOCKET, &m, MSG_NOSIGNAL) < 0)
		_exit(1);
}

static void work_ms(size_t ms)
{
	struct timespec t;
	size_t start = 0, now;

	do {
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
		now = (size_t)t.tv_sec * 1000 + (size_t)t.tv_nsec / 1000000;
		start = start ? start : now + 1;
	} while (now + 1 < start + ms);
}

/* The socket, twice, with a byte. */
static void put_two_descriptors(void)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { "", 1 };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room };
	const int fds[] = { APART_SOCKET, APART_SOCKET };
	struct cmsghdr *c;

	m.msg_controllen = CMSG_SPACE(sizeof(fds));
	c = CMSG_FIRSTHDR(&m);
	*c = (struct cmsghdr){ CMSG_LEN(sizeof(fds)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	if (sendmsg(APART_SOCKET, &m, MSG_NOSIGNAL) < 0)
		_exit(1);
}

/* An answer that ends after hours, a byte at a time. */
static void trickle(void)
{
	const struct apart_head head = { APART_ANSWER, 1u << 20 };

	put(&head, sizeof(head));
	for (u32 i = 0; i < head.size; i++) {
		sleep_ms(15);
		put("", 1);
	}
}

char *demangle(const char *name)
{
	size_t n = 0;
	char *text;

	/* "long N": that many bytes. */
	if (sscanf(name, "long %zu", &n) == 1) {
		text = mem_alloc(n + 1);
		memset(text, 'a', n);
		text[n] = 0;
		return text;
	}
	/* "work N": so many ms. */
	if (sscanf(name, "work %zu", &n) == 1)
		work_ms(n);
	if (!strcmp(name, "die"))
		_exit(1);
	if (!strcmp(name, "trickle"))
		trickle();
	else if (!strcmp(name, "two descriptors"))
		put_two_descriptors();
	return mem_strdup(name);
}

bool demangle_is_mangled(const char *name)
{
	(void)name;
	return true;
}

/* One name. */
static int ask_of(struct apart *a, u64 identity, const char *name, struct bytes *reply, const char **why)
{
	struct bytes names = { 0 };
	int err;

	bytes_put(&names, name, strlen(name) + 1);
	err = apart_names(a, identity, &names, reply, why);
	bytes_free(&names);
	return err;
}

static int ask(struct apart *a, const char *name, struct bytes *reply, const char **why)
{
	return ask_of(a, 0, name, reply, why);
}

static void one_that_trickles_is_given_up(void **state)
{
	struct apart *a = apart_new();
	struct bytes reply = { 0 };
	const char *why;

	(void)state;
	assert_non_null(a);
	assert_int_equal(ask(a, "trickle", &reply, &why), ERR_LIMIT);
	assert_non_null(strstr(why, "fell asleep"));
	assert_int_equal(ask(a, "step", &reply, &why), 0);
	assert_string_equal((const char *)reply.p, "step");
	bytes_free(&reply);
	apart_free(a);
}

static u32 open_descriptors(void)
{
	u32 n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void two_descriptors_are_closed(void **state)
{
	struct apart *a = apart_new();
	struct bytes reply = { 0 };
	const char *why;
	u32 before;

	(void)state;
	assert_non_null(a);
	before = open_descriptors();
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(ask(a, "two descriptors", &reply, &why), ERR_LIMIT);
	assert_int_equal(open_descriptors(), before);
	bytes_free(&reply);
	apart_free(a);
}

static void names_are_as_long_as_they_may_be(void **state)
{
	struct apart *a = apart_new();
	struct bytes reply = { 0 };
	const char *why;

	(void)state;
	assert_non_null(a);
	assert_int_equal(ask(a, "long 65536", &reply, &why), 0);
	assert_int_equal(reply.len, DEMANGLE_LONGEST + 1);
	assert_int_equal(ask(a, "long 65537", &reply, &why), ERR_LIMIT);
	assert_int_equal(reply.len, 0);
	bytes_free(&reply);
	apart_free(a);
}

/* Code at 0x1000 * i. What is left of a table is not passed by more than one name, however many come together. */
static void no_more_names_than_are_left(void **state)
{
	struct apart *a = apart_new();
	struct dsos *d = dsos_new(
		&(struct symbol_opts){ .demangle = true, .offline = true, .no_lines = true, .apart = a }, NULL);
	u32 dso = dsos_get(d, &(struct dso_key){ .kind = DSO_JIT, .path = { "jitted-7-1.so", 13 }, .pid = 7 });
	u64 all = 0, most = readable_most(100 * sizeof("long 65000"));

	(void)state;
	for (u64 i = 1; i <= 100; i++)
		dsos_add_symbol(d, dso, 0x1000 * i, 0x1000 * i + 16, (struct str){ "long 65000", 10 });
	for (u64 i = 1; i <= 100; i++)
		(void)dsos_symbol_at(d, dso, 0x1000 * i);
	for (u64 i = 1; i <= 100; i++) {
		size_t len = strlen(dsos_symbol_name(d, dso, dsos_symbol_at(d, dso, 0x1000 * i)));

		all += len > 10 ? len : 0;
	}
	assert_true(all >= most);
	assert_true(all < most + 65000);
	dsos_free(d);
	apart_free(a);
}

/* Time is for all, but who has taken little of it gets an answer. Sanitizers are granted 16 times as much. */
static void others_time_costs_nothing(void **state)
{
	struct apart *a = apart_new();
	struct bytes reply = { 0 };
	const char *why;

	(void)state;
	assert_non_null(a);
	assert_int_equal(ask(a, "work 100000", &reply, &why), ERR_LIMIT);
	assert_non_null(strstr(why, "time"));
	assert_int_equal(ask(a, "step", &reply, &why), 0);
	assert_int_equal(ask(a, "work 100", &reply, &why), 0);
	/* Nearly all is taken, and the next one has to be asked again. */
	if (!SANITIZED) {
		assert_int_equal(ask(a, "work 850", &reply, &why), 0);
		assert_int_equal(ask(a, "work 200", &reply, &why), 0);
		assert_string_equal((const char *)reply.p, "work 200");
	}
	/* Four deaths in all, which take too long with sanitizers. */
	for (u32 i = 0; i < 4 && !SANITIZED; i++)
		(void)ask(a, "work 100000", &reply, &why);
	assert_int_equal(ask(a, "step", &reply, &why), SANITIZED ? 0 : ERR_LIMIT);
	bytes_free(&reply);
	apart_free(a);
}

/* As top does: each time all is named anew. */
static void what_one_died_of_is_not_tried_again(void **state)
{
	struct apart *a = apart_new();
	struct bytes reply = { 0 };
	const char *why;
	u32 good = 0;

	(void)state;
	assert_non_null(a);
	for (u32 i = 0; i < 10; i++) {
		assert_int_equal(ask_of(a, 77, "die", &reply, &why), ERR_LIMIT);
		assert_true(!why == (i > 0));
		assert_int_equal(ask_of(a, 78, "step", &reply, &why), 0);
		apart_renew(a);
	}
	/* Others that die are forgiven as well, but not for ever. */
	for (u32 i = 0; i < 30; i++) {
		good += !ask_of(a, 78, "step", &reply, &why);
		(void)ask_of(a, 100 + i, "die", &reply, &why);
		apart_renew(a);
	}
	assert_int_equal(good, 19);
	bytes_free(&reply);
	apart_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_trickles_is_given_up),
		cmocka_unit_test(two_descriptors_are_closed),
		cmocka_unit_test(others_time_costs_nothing),
		cmocka_unit_test(what_one_died_of_is_not_tried_again),
		cmocka_unit_test(names_are_as_long_as_they_may_be),
		cmocka_unit_test(no_more_names_than_are_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
