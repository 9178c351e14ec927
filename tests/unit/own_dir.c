/* SPDX-License-Identifier: Apache-2.0 */
/* What tests leave behind: nothing, also when they fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "own_dir.h"

/* Runs a group of one test, that of a child. */
static int run_alone(CMUnitTestFunction test, void *arg)
{
	struct CMUnitTest group[] = { { "alone", test, NULL, NULL, arg } };
	int status;
	pid_t pid;

	fflush(NULL); /* or both write what is held back */
	pid = fork();

	if (!pid) {
		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(99);
		exit(cmocka_run_group_tests(group, NULL, NULL));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void fail_with_files(void **state)
{
	const char *told = *state;
	char dir[OWN_DIR_PATH], path[64];
	FILE *f;

	own_dir_make(dir);
	snprintf(path, sizeof(path), "%s/below", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/below/file", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	f = fopen(told, "w");
	assert_non_null(f);
	fputs(dir, f);
	fclose(f);
	assert_true(false);
}

static void test_failed(void **state)
{
	char dir[OWN_DIR_PATH], told[64], left[64] = "";
	FILE *f;

	(void)state;
	own_dir_make(dir);
	snprintf(told, sizeof(told), "%s/told", dir);
	assert_int_equal(run_alone(fail_with_files, told), 1);
	f = fopen(told, "r");
	assert_non_null(f); /* that the child made one, and that its end left ours alone */
	assert_non_null(fgets(left, sizeof(left), f));
	fclose(f);
	assert_memory_equal(left, dir, strlen(OWN_DIR_BEGIN));
	assert_int_not_equal(access(left, F_OK), 0);
	own_dir_remove(dir);
	assert_int_not_equal(access(dir, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_failed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
