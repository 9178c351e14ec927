/* SPDX-License-Identifier: Apache-2.0 */
/* Debian's perf in the guest: its own tests, line by line, for lab/run to compare. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static pid_t start_perf(int out)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	setenv("PATH", "/bin", 1);
	setenv("HOME", "/tmp", 1);
	setenv("LD_LIBRARY_PATH", "/lib", 1);
	execl("/bin/perf", "perf", "test", NULL);
	_exit(127);
}

static bool run_perf_test(char *figures)
{
	char line[512];
	int ends[2], status = -1, lines = 0;

	mkdir("/tmp", 0755);
	mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
	if (pipe(ends))
		return failed(figures, "no pipe");
	pid_t pid = start_perf(ends[1]);
	close(ends[1]);
	FILE *out = fdopen(ends[0], "r");
	while (out && fgets(line, sizeof(line), out)) {
		line[strcspn(line, "\n")] = 0;
		printf("perf: %s\n", line);
		lines++;
	}
	waitpid(pid, &status, 0);
	if (out)
		fclose(out);
	snprintf(figures, FIGURES_MAX, "%d lines of perf test", lines);
	return WIFEXITED(status) && WEXITSTATUS(status) != 127 && lines > 20;
}

const struct scenario perf_scenarios[] = {
	{ "perf-test-runs", run_perf_test, PERF },
	{ 0 },
};
