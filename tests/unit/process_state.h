/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for what another process comes to: on a busy machine that may take seconds. */
#ifndef TESTS_PROCESS_STATE_H
#define TESTS_PROCESS_STATE_H

#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/types.h"

/* Until /proc says that the process is in this state: 'S' sleeps, 'Z' is dead. Fails after 10 s and more. */
static inline void wait_for_state(pid_t pid, char state)
{
	char path[32], text[256] = "", is = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (u32 i = 0; i < 10000 && is != state; i++) {
		FILE *file = fopen(path, "re");

		assert_non_null(file);
		assert_non_null(fgets(text, sizeof(text), file));
		fclose(file);
		assert_non_null(strrchr(text, ')'));
		is = strrchr(text, ')')[2];
		usleep(1000);
	}
	assert_int_equal(is, state);
}

#endif
