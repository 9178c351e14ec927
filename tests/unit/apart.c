/* SPDX-License-Identifier: Apache-2.0 */
/* A parser that neither computes nor reads while it owes an answer is given up, and others go on. What begins anew has
 * what it had at first. */
#include "state/apart.h"

#include <fcntl.h>
#include <lzma.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "parser.h"
#include "state/elf_file.h"

static struct apart_file *fixture_that(struct apart *a, const char *name, bool alone)
{
	const char *dir = getenv("FIXTURE_DIR");
	char path[4096];
	int fd;

	assert_non_null(dir);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return apart_file_new(a, fd, alone, true);
}

static struct apart_file *fixture(struct apart *a, const char *name)
{
	return fixture_that(a, name, true);
}

static int ask(struct apart_file *f, const char **why)
{
	struct bytes reply = { 0 };
	u64 addr = 0x1000;
	int err = apart_lines(f, &addr, 1, &reply, why);

	bytes_free(&reply);
	return err;
}

static void one_that_sleeps_is_given_up(void **state)
{
	struct apart *a = apart_new();
	struct apart_file *first, *second;
	const char *why;

	(void)state;
	assert_non_null(a);
	first = fixture(a, "markers_pie");
	second = fixture(a, "markers_fixed");
	assert_int_equal(ask(first, &why), 0);
	assert_true(find_parser() > 0);
	assert_int_equal(kill(find_parser(), SIGSTOP), 0);
	assert_int_equal(ask(first, &why), ERR_LIMIT);
	assert_non_null(strstr(why, "fell asleep"));
	/* That file is not tried again, and the next parser takes the others. */
	assert_int_equal(ask(first, &why), ERR_LIMIT);
	assert_null(why);
	assert_int_equal(ask(second, &why), 0);
	apart_file_free(first);
	apart_file_free(second);
	/* Nor is it when all begins anew. */
	apart_renew(a);
	first = fixture(a, "markers_pie");
	assert_int_equal(ask(first, &why), ERR_LIMIT);
	assert_null(why);
	apart_file_free(first);
	apart_free(a);
}

/* What is opened ahead answers as everything does, whatever is asked meanwhile; and is to blame if the parser is given
 * up over it. */
static void opens_ahead(void **state)
{
	struct bytes names = { 0 }, reply = { 0 };
	struct apart *a = apart_new();
	struct apart_file *first, *second, *third;
	const char *why;

	(void)state;
	assert_non_null(a);
	first = fixture(a, "markers_pie");
	second = fixture(a, "markers_fixed");
	apart_file_ahead(first);
	apart_file_ahead(first);
	apart_file_ahead(second);
	bytes_put(&names, "_ZN4demo4stepEv", 16);
	assert_int_equal(apart_names(a, 0, &names, &reply, &why), 0);
	assert_string_equal((const char *)reply.p, "demo::step");
	assert_int_equal(ask(second, &why), 0);
	assert_int_equal(ask(first, &why), 0);
	apart_file_ahead(first); /* which is open */
	assert_int_equal(ask(first, &why), 0);
	apart_file_free(first);
	apart_file_free(second);
	apart_renew(a);
	first = fixture(a, "markers_pie");
	second = fixture(a, "markers_fixed");
	third = fixture(a, "markers_static");
	assert_int_equal(ask(second, &why), 0);
	assert_int_equal(kill(find_parser(), SIGSTOP), 0);
	apart_file_ahead(first);
	apart_file_ahead(third);
	assert_int_equal(apart_names(a, 0, &names, &reply, &why), 0);
	assert_int_equal(ask(first, &why), ERR_LIMIT);
	assert_non_null(why);
	assert_int_equal(ask(second, &why), 0);
	assert_int_equal(ask(third, &why), 0);
	apart_file_free(first);
	apart_file_free(second);
	apart_file_free(third);
	/* What was begun is ended, and what was not is forgotten. */
	first = fixture(a, "markers_fixed");
	second = fixture(a, "markers_static");
	apart_file_ahead(first);
	apart_file_ahead(second);
	apart_file_free(second);
	apart_file_free(first);
	assert_int_equal(apart_names(a, 0, &names, &reply, &why), 0);
	bytes_free(&names);
	bytes_free(&reply);
	apart_free(a);
}

/* What is opened ahead may not ask for another file, in whatever way: the next one has its own answers then. */
static void others_are_not_asked_for_ahead(void **state)
{
	struct apart *a = apart_new();
	struct apart_file *first = fixture_that(a, "two_alternates", false), *second = fixture(a, "markers_pie");
	const char *why;

	(void)state;
	apart_file_ahead(first);
	apart_file_ahead(second);
	assert_int_equal(ask(second, &why), 0);
	ask(first, &why);
	assert_int_equal(ask(second, &why), 0);
	apart_file_free(first);
	apart_file_free(second);
	apart_free(a);
}

static rlim_t memory_of_parser(void)
{
	struct rlimit r = { 0 };

	assert_int_equal(prlimit(find_parser(), RLIMIT_DATA, NULL, &r), 0);
	return r.rlim_cur;
}

/* A copy that is another file, so that none is known from before. */
static struct apart_file *copied(struct apart *a, const char *name)
{
	char path[4096];
	static u8 bytes[1u << 20];
	int from, fd = memfd_create(name, MFD_CLOEXEC);
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", getenv("FIXTURE_DIR"), name);
	from = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(from >= 0 && fd >= 0);
	n = read(from, bytes, sizeof(bytes));
	assert_true(n > 0 && n < (ssize_t)sizeof(bytes));
	assert_int_equal(write(fd, bytes, (size_t)n), n);
	close(from);
	return apart_file_new(a, fd, true, true);
}

/* The parser dies of opening a copy ahead. */
static struct apart_file *kills_ahead(struct apart *a)
{
	struct apart_file *f = copied(a, "markers_pie");
	int parser = find_parser();

	assert_true(parser > 0);
	assert_int_equal(kill(parser, SIGSTOP), 0);
	apart_file_ahead(f);
	assert_int_equal(kill(parser, SIGKILL), 0);
	return f;
}

/* The parser dies of a question. */
static void kills(struct apart *a)
{
	struct apart_file *f = copied(a, "markers_fixed");
	const char *why;

	assert_int_equal(ask(f, &why), 0);
	assert_int_equal(kill(find_parser(), SIGKILL), 0);
	assert_int_equal(ask(f, &why), ERR_LIMIT);
	apart_file_free(f);
}

/* A death that nobody asked for is none of those after which nothing more is asked, until somebody does ask. */
static void deaths_ahead(void **state)
{
	struct bytes names = { 0 }, reply = { 0 };
	const char *why;

	(void)state;
	bytes_put(&names, "_ZN4demo4stepEv", 16);
	for (u32 asked = 0; asked < 2; asked++) {
		struct apart *a = apart_new();
		struct apart_file *dead, *f;
		rlim_t memory;

		assert_int_equal(apart_names(a, 0, &names, &reply, &why), 0);
		dead = kills_ahead(a);
		assert_int_equal(apart_names(a, 0, &names, &reply, &why), 0);
		if (asked) {
			assert_int_equal(ask(dead, &why), ERR_LIMIT);
			assert_non_null(why);
		}
		/* From now on nothing is opened ahead: the parser is not granted what it would need. */
		f = copied(a, "markers_pie");
		memory = memory_of_parser();
		apart_file_ahead(f);
		assert_int_equal(memory_of_parser(), memory);
		assert_int_equal(ask(f, &why), 0);
		for (u32 i = 0; i < 3; i++)
			kills(a);
		assert_int_equal(apart_names(a, 0, &names, &reply, &why), asked ? ERR_LIMIT : 0);
		assert_int_equal(asked && strstr(why, "too often"), asked);
		apart_file_free(f);
		apart_file_free(dead);
		apart_free(a);
	}
	bytes_free(&names);
	bytes_free(&reply);
}

/* A question that does not fit into the socket is not waited with for ever, either. */
static void one_that_does_not_read_is_given_up(void **state)
{
	struct bytes names = { 0 }, reply = { 0 };
	struct apart *a = apart_new();
	const char *why = NULL;

	(void)state;
	assert_non_null(a);
	bytes_put(&names, "_ZN4demo4stepEv", 16);
	assert_int_equal(apart_names(a, 0, &names, &reply, &why), 0);
	assert_int_equal(kill(find_parser(), SIGSTOP), 0);
	for (size_t i = 1; i < APART_NAMES_BYTES / 16; i++)
		bytes_put(&names, "_ZN4demo4stepEv", 16);
	assert_int_equal(apart_names(a, 0, &names, &reply, &why), ERR_LIMIT);
	assert_non_null(strstr(why, "fell asleep"));
	names.len = 16;
	assert_int_equal(apart_names(a, 0, &names, &reply, &why), 0);
	assert_string_equal((const char *)reply.p, "demo::step");
	bytes_free(&names);
	bytes_free(&reply);
	apart_free(a);
}

static void begins_anew(void **state)
{
	struct apart *a = apart_new();
	struct apart_file *f;
	rlim_t memory = 0;
	const char *why;

	(void)state;
	assert_non_null(a);
	/* More often than parsers may die; each parser is granted what the first one was. */
	for (u32 i = 0; i < 6; i++) {
		f = fixture(a, "markers_pie");
		assert_int_equal(ask(f, &why), 0);
		if (!i)
			memory = memory_of_parser();
		assert_int_equal(memory_of_parser(), memory);
		apart_file_free(f);
		apart_renew(a);
	}
	apart_renew(a); /* without a parser */
	apart_free(a);
}

/* f<A<int, int>, A<A<..>, A<..>>, ...>: each argument is twice as long as the one before it. */
static void put_doubling(struct bytes *names, u32 times)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	bytes_str(names, "_Z1fI1AIiiE");
	for (u32 i = 1; i <= times; i++)
		bytes_printf(names, "S0_IS%c_S%c_E", digits[i], digits[i]);
	bytes_str(names, "Evv");
	bytes_char(names, 0);
}

static void names_cost_what_they_take(void **state)
{
	struct bytes names = { 0 }, reply = { 0 };
	struct apart *a = apart_new();
	const char *why = NULL;
	int err = 0;

	(void)state;
	bytes_put(&names, "_ZN4demo4stepEv\0puts\0_Znwm@plt", 31);
	assert_int_equal(apart_names(a, 0, &names, &reply, &why), 0);
	assert_int_equal(reply.len, 29);
	assert_memory_equal(reply.p, "demo::step\0\0operator new@plt\0", 29);
	names.len = 0;
	for (u32 i = 0; i < APART_BATCH; i++)
		put_doubling(&names, 11);
	for (u32 i = 0; i < 20000 && !err; i++)
		err = apart_names(a, 0, &names, &reply, &why);
	assert_int_equal(err, ERR_LIMIT);
	assert_true(strstr(why, "too often") || strstr(why, "time"));
	assert_int_equal(reply.len, 0);
	bytes_free(&names);
	bytes_free(&reply);
	apart_free(a);
}

/* The embedded symbols of a fixture, and what they are not any more when somebody has changed or cut them. */
static void unpacks(void **state)
{
	struct bytes reply = { 0 };
	struct apart *a = apart_new();
	const struct elf_section *packed;
	struct elf_file f;
	const char *why;
	char path[4096];
	u8 *raw, *zeros, small[16384];
	size_t n = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/stripped/mini", getenv("FIXTURE_DIR"));
	assert_int_equal(elf_file_open(&f, path), 0);
	packed = elf_section_named(&f, ".gnu_debugdata");
	assert_non_null(packed);
	assert_int_equal(elf_section_read(&f, packed, &raw), 0);
	assert_int_equal(apart_unxz(a, raw, packed->size, &reply, &why), 0);
	assert_memory_equal(reply.p, "\177ELF", 4);
	assert_int_equal(apart_unxz(a, raw, packed->size - 1, &reply, &why), ERR_FORMAT);
	assert_null(why);
	assert_int_equal(reply.len, 0);
	raw[packed->size / 2] ^= 1;
	assert_int_equal(apart_unxz(a, raw, packed->size, &reply, &why), ERR_FORMAT);
	assert_int_equal(apart_unxz(a, raw, APART_PACKED_BYTES + 1ull, &reply, &why), ERR_FORMAT);
	/* What stands for more than symbols would. */
	zeros = calloc(1, 8u << 20);
	assert_non_null(zeros);
	assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, zeros, 8u << 20, small, &n, sizeof(small)),
			 LZMA_OK);
	assert_int_equal(apart_unxz(a, small, n, &reply, &why), ERR_FORMAT);
	free(zeros);
	assert_int_equal(kill(find_parser(), SIGKILL), 0);
	assert_int_equal(apart_unxz(a, raw, packed->size, &reply, &why), ERR_LIMIT);
	assert_non_null(strstr(why, "died"));
	/* The same bytes are not tried again, and others are. */
	assert_int_equal(apart_unxz(a, raw, packed->size, &reply, &why), ERR_LIMIT);
	assert_null(why);
	assert_int_equal(apart_unxz(a, raw, packed->size - 1, &reply, &why), ERR_FORMAT);
	bytes_free(&reply);
	free(raw);
	elf_file_close(&f);
	apart_free(a);
}

/* No more than what an answer may have, whatever its size allows: that is refused, and nobody dies of it. */
static void unpacks_no_more_than_an_answer(void **state)
{
	const size_t random = 3u << 20, all = 70u << 20, room = 4u << 20;
	struct bytes reply = { 0 };
	struct apart *a = apart_new();
	u8 *plain = calloc(1, all), *packed = malloc(room);
	const char *why;
	size_t n = 0;
	u32 x = 1;

	(void)state;
	assert_non_null(plain);
	assert_non_null(packed);
	for (size_t i = 0; i < random; i++)
		plain[i] = (u8)((x = x * 1664525 + 1013904223) >> 24);
	assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, plain, all, packed, &n, room), LZMA_OK);
	assert_int_equal(apart_unxz(a, packed, n, &reply, &why), ERR_FORMAT);
	assert_null(why);
	assert_int_equal(reply.len, 0);
	free(plain);
	free(packed);
	bytes_free(&reply);
	apart_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_sleeps_is_given_up),	      cmocka_unit_test(opens_ahead),
		cmocka_unit_test(one_that_does_not_read_is_given_up), cmocka_unit_test(begins_anew),
		cmocka_unit_test(names_cost_what_they_take),	      cmocka_unit_test(unpacks),
		cmocka_unit_test(unpacks_no_more_than_an_answer),     cmocka_unit_test(deaths_ahead),
		cmocka_unit_test(others_are_not_asked_for_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
