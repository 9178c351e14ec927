/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An -e text and what sysfs and tracefs say of this machine, both hostile. The input's lines: the text, then the
 * contents of a PMU's type, cpumask, a format file and two events, then of a tracepoint's id.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "events/spec.h"
#include "fuzz.h"

#define DEVICE "/bus/event_source/devices/pmu"

static const char *const files[] = {
	DEVICE "/type",	       DEVICE "/cpumask",      DEVICE "/format/field",
	DEVICE "/events/name", DEVICE "/events/other", "/events/sched/sched_switch/id",
};

static char dir[64];

static void remove_tree(void)
{
	char path[256];

	for (u32 i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s%s", dir, files[i]);
		remove(path);
		for (char *slash; (slash = strrchr(path, '/')) && (size_t)(slash - path) >= strlen(dir);) {
			*slash = 0;
			rmdir(path); /* fails until the last one in it is gone */
		}
	}
}

static void make_tree(void)
{
	char path[256];

	/* In memory where that can be: every run rewrites all files. */
	strcpy(dir, "/dev/shm/reticle-fuzz-XXXXXX");
	if (!mkdtemp(dir)) {
		strcpy(dir, "/tmp/reticle-fuzz-XXXXXX");
		MUST(mkdtemp(dir) != NULL);
	}
	for (u32 i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s%s", dir, files[i]);
		for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')); *p++ = '/') {
			*p = 0;
			mkdir(path, 0700);
		}
	}
	atexit(remove_tree);
}

static void write_file(const char *name, const char *text, size_t n)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	MUST(fd >= 0 && write(fd, text, n) == (ssize_t)n);
	close(fd);
}

static void count_notes(void *ctx, const struct note *note)
{
	MUST(note->text && *note->text);
	++*(u32 *)ctx;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct event_env env = { .sysfs = dir, .tracefs = dir, .procfs = dir };
	struct event_specs specs = { 0 };
	u32 notes = 0;
	struct notify to = { count_notes, &notes };
	char *input = mem_strndup((const char *)data, size), *line = input, *end;
	int err;

	if (!*dir)
		make_tree();
	end = line + strcspn(line, "\n");
	for (u32 i = 0; i < ARRAY_LEN(files); i++) {
		const char *next = *end ? end + 1 : end;
		size_t n = strcspn(next, "\n");

		write_file(files[i], next, n);
		*end = 0;
		end = (char *)next + n;
	}
	err = event_specs_parse(&specs, line, &env, &to);
	MUST(err <= 0 && (err ? notes == 1 && !specs.v.n : specs.v.n > 0));
	for (size_t i = 0; i < specs.v.n; i++) {
		const struct event_spec *s = &specs.v.v[i];

		MUST(s->name && s->leader <= i && specs.v.v[s->leader].leader == s->leader);
		MUST(attr_precise_ip(&s->attr) <= 3);
	}
	event_specs_free(&specs);
	free(input);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
