/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/cpulist.h"

#include <stdlib.h>
#include <unistd.h>

#include "sys/smallfile.h"

/* One decimal number below CPULIST_MAX; *p moves behind it. */
static bool parse_cpu(const char **p, u32 *out)
{
	u32 v = 0;

	if (**p < '0' || **p > '9')
		return false;
	for (; **p >= '0' && **p <= '9'; ++*p) {
		v = v * 10 + (u32)(**p - '0');
		if (v >= CPULIST_MAX)
			return false;
	}
	*out = v;
	return true;
}

static bool mark_ranges(const char *p, u8 *seen)
{
	u32 from, to;

	do {
		if (!parse_cpu(&p, &from))
			return false;
		to = from;
		if (*p == '-' && (p++, !parse_cpu(&p, &to)))
			return false;
		if (to < from)
			return false;
		for (u32 cpu = from; cpu <= to; cpu++)
			seen[cpu] = 1;
	} while (*p == ',' && p++);
	return !*p;
}

int cpulist_parse(struct cpulist *out, const char *text)
{
	u8 *seen = mem_zalloc(CPULIST_MAX);
	bool ok = mark_ranges(text, seen);

	out->v.n = 0;
	for (u32 cpu = 0; ok && cpu < CPULIST_MAX; cpu++)
		if (seen[cpu])
			vec_push(&out->v, cpu);
	free(seen);
	return ok ? 0 : ERR_USAGE;
}

int cpulist_online_told(struct cpulist *out)
{
	char *line = smallfile_line("/sys/devices/system/cpu/online");
	int err = line ? cpulist_parse(out, line) : ERR_NOTFOUND;

	free(line);
	return err ? ERR_NOTFOUND : 0;
}

int cpulist_online(struct cpulist *out, const struct notify *to)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	if (!cpulist_online_told(out))
		return 0;
	out->v.n = 0;
	for (long cpu = 0; cpu < n; cpu++)
		vec_push(&out->v, (u32)cpu);
	return n > 0 ? 0 : notify_error(to, ERR_IO, "cannot find out which CPUs are online");
}

bool cpulist_has(const struct cpulist *l, u32 cpu)
{
	for (size_t i = 0; i < l->v.n; i++)
		if (l->v.v[i] == cpu)
			return true;
	return false;
}

void cpulist_free(struct cpulist *l)
{
	vec_free(&l->v);
}
