/* SPDX-License-Identifier: Apache-2.0 */
/* First process of a lab guest: runs the scenarios that the kernel's command line names, switches the machine off. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"
#include "tls.h"

static void figures_set(char *figures, const char *format, va_list ap)
{
	vsnprintf(figures, FIGURES_MAX, format, ap);
}

bool passed(char *figures, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	figures_set(figures, format, ap);
	va_end(ap);
	return true;
}

bool failed(char *figures, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	figures_set(figures, format, ap);
	va_end(ap);
	return false;
}

/* The value of NAME=VALUE on the kernel's command line; empty when it is not there. */
static void argument(const char *name, char *value, size_t size)
{
	char line[2048] = " ", key[32];
	int fd = open("/proc/cmdline", O_RDONLY);

	value[0] = 0;
	if (fd < 0)
		return;
	ssize_t n = read(fd, line + 1, sizeof(line) - 2);
	close(fd);
	line[n > 0 ? n + 1 : 1] = 0;
	snprintf(key, sizeof(key), " %s=", name);
	const char *at = strstr(line, key);
	if (at)
		snprintf(value, size, "%.*s", (int)strcspn(at + strlen(key), " \n"), at + strlen(key));
}

/* Is NAME one of the comma separated names? A trailing * of these matches any end. */
static bool is_wanted(const char *list, const char *name)
{
	char copy[1024], *rest = copy, *one;

	snprintf(copy, sizeof(copy), "%s", list);
	while ((one = strsep(&rest, ","))) {
		size_t n = strlen(one);

		if (!strcmp(one, "all") || !strcmp(one, name) ||
		    (n && one[n - 1] == '*' && !strncmp(one, name, n - 1)))
			return true;
	}
	return false;
}

static void run_scenarios(const struct scenario *s, const char *wanted, int where)
{
	for (; s->name; s++) {
		char figures[FIGURES_MAX] = "";

		if (!(s->where & where & ~ALONE) || (s->where & ALONE) != (where & ALONE) ||
		    (s->where & COUNTS && where & WATCHED))
			continue;
		if (!strcmp(wanted, "list")) {
			printf("lab: %s skip\n", s->name);
		} else if (is_wanted(wanted, s->name)) {
			bool ok = s->run(figures);
			printf("lab: %s %s %s\n", s->name, ok ? "ok" : "FAIL", figures);
		}
	}
}

static int scenarios_of(const char *kernel)
{
	if (!strcmp(kernel, "perf-test"))
		return PERF;
	if (!strcmp(kernel, "kasan"))
		return PATCHED | WATCHED;
	return strcmp(kernel, "plain") && strncmp(kernel, "debian", 6) ? PATCHED : UNPATCHED;
}

static void set_up(void)
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	if (!set_sysctl("perf_event_paranoid", "-1") || !set_sample_rate("10000000"))
		printf("lab: set-up FAIL perf's limits could not be set\n");
}

int main(int argc, char **argv)
{
	char wanted[1024], kernel[32];

	/* Under these names it is what perf's tests start. */
	if (!strcmp(argv[0], "sleep") || !strcmp(argv[0], "true"))
		return argc > 1 ? (int)sleep(strtoul(argv[1], NULL, 10)) : 0;
	/* Scenarios execute /init again as a program that only works. */
	if (argc == 3 && !strcmp(argv[1], "work")) {
		work(strtoull(argv[2], NULL, 10));
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "tls"))
		return tls_program(strtoull(argv[2], NULL, 10));
	setvbuf(stdout, NULL, _IOLBF, 0);
	set_up();
	argument("lab", wanted, sizeof(wanted));
	argument("kernel", kernel, sizeof(kernel));
	int where = scenarios_of(kernel) | (sysconf(_SC_NPROCESSORS_ONLN) == 1 ? ALONE : 0);
	run_scenarios(burst_scenarios, wanted, where);
	run_scenarios(task_scenarios, wanted, where);
	run_scenarios(churn_scenarios, wanted, where);
	run_scenarios(perf_scenarios, wanted, where);
	run_scenarios(tls_scenarios, wanted, where);
	run_scenarios(compat_scenarios, wanted, where);
	run_scenarios(rseq_scenarios, wanted, where);
	run_scenarios(deferred_scenarios, wanted, where);
	run_scenarios(rights_scenarios, wanted, where);
	printf("lab: end\n");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 1;
}
