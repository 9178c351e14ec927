/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First process of the guest that is an x86_64 machine: runs the series' own tests, whose events there are the
 * kernel's timer, as QEMU has no PMU for it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(const char *path, int out)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execl(path, path, NULL);
	_exit(127);
}

static void run_test(const char *name)
{
	char path[64], line[256], *at;
	int passes = -1, failures = -1, skips = -1, ends[2];
	FILE *in;

	snprintf(path, sizeof(path), "/selftest-%s", name);
	if (pipe(ends))
		return;
	start(path, ends[1]);
	close(ends[1]);
	in = fdopen(ends[0], "r");
	while (in && fgets(line, sizeof(line), in)) {
		fputs(line, stdout);
		if ((at = strstr(line, "# Totals:")))
			sscanf(at, "# Totals: pass:%d fail:%d xfail:%*d xpass:%*d skip:%d", &passes, &failures,
			       &skips);
	}
	wait(NULL);
	printf("lab: %s %s %d passed, %d failed, %d skipped\n", name, passes > 0 && !failures ? "ok" : "FAIL", passes,
	       failures, skips);
}

static bool exact_timers(void)
{
	char line[256];
	bool found = false;
	FILE *in = fopen("/proc/timer_list", "r");

	while (in && fgets(line, sizeof(line), in))
		found |= strstr(line, "hres_active") && strchr(line, '1');
	if (in)
		fclose(in);
	return found;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	mkdir("/proc", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	/* Until Linux trusts the time stamp counter timers are as coarse as its tick. */
	for (int i = 0; i < 100 && !exact_timers(); i++)
		usleep(100000);
	/* The kernel hands over what is on its command line behind "--". */
	for (int i = 1; i < argc; i++)
		run_test(argv[i]);
	printf("lab: end\n");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 1;
}
