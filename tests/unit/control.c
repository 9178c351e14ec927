/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that a recorder gets while it runs (--control). */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "record/control.h"

static void take_command(void *ctx, char *line)
{
	struct bytes *seen = ctx;

	bytes_printf(seen, "%s;", line);
}

/* in: what we read, out: where commands are written, and answers read. */
static void check_control(const int in[2], const int out[2])
{
	struct bytes seen = { 0 };
	struct control c;
	char how[32], answer[8];

	snprintf(how, sizeof(how), "fd:%d,%d", in[0], out[1]);
	control_init(&c);
	assert_int_equal(control_open(&c, how, NULL), 0);
	/* Somebody else was there first. */
	assert_true(control_read(&c, take_command, &seen, NULL));
	assert_int_equal(seen.len, 0);
	assert_int_equal(write(in[1], "a b\nc\n\0\n\0d\0e", 13), 13);
	assert_true(control_read(&c, take_command, &seen, NULL));
	assert_int_equal(seen.len, 10);
	assert_memory_equal(seen.p, "a b;c;d;e;", 10);
	control_ack(&c, NULL);
	assert_int_equal(read(out[0], answer, sizeof(answer)), 5);
	assert_memory_equal(answer, "ack\n", 5);
	/* They are ours to read and write, and not to change. */
	assert_int_equal(fcntl(in[0], F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(fcntl(out[1], F_GETFL) & O_NONBLOCK, 0);
	/* Nobody reads the answers. */
	fcntl(out[1], F_SETFL, fcntl(out[1], F_GETFL) | O_NONBLOCK);
	for (const char some[512] = { 0 }; write(out[1], some, sizeof(some)) > 0;)
		;
	fcntl(out[1], F_SETFL, fcntl(out[1], F_GETFL) & ~O_NONBLOCK);
	control_ack(&c, NULL);
	close(in[1]);
	assert_false(control_read(&c, take_command, &seen, NULL));
	control_close(&c);
	close(in[0]);
	close(out[0]);
	close(out[1]);
	bytes_free(&seen);
}

/* What would wait is ended by the alarm. */
static void test_control(void **state)
{
	int in[2], out[2];

	(void)state;
	alarm(60);
	assert_int_equal(pipe(in) | pipe(out), 0);
	check_control(in, out);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, in) | socketpair(AF_UNIX, SOCK_STREAM, 0, out), 0);
	check_control(in, out);
	alarm(0);
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_control),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
