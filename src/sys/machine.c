/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sys/cpulist.h"
#include "sys/smallfile.h"

#define CPU_DIR "/sys/devices/system/cpu"
#define NODE_DIR "/sys/devices/system/node"
#define PMU_DIR "/sys/bus/event_source/devices"
#define CPUINFO_LIMIT (16u << 20)
#define CACHES_MAX 16

static const char *keep(struct arena *a, const char *s)
{
	return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

static const char *keep_line(struct arena *a, const char *path)
{
	char *line = smallfile_line(path);
	const char *kept = keep(a, line);

	free(line);
	return kept;
}

/* The value of "key : value" in /proc/cpuinfo or /proc/meminfo text; NULL when absent. */
static const char *value_of(struct arena *a, const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = text; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
		const char *at = p + n;

		if (strncmp(p, key, n))
			continue;
		at += strspn(at, " \t");
		if (*at++ != ':')
			continue;
		at += strspn(at, " \t");
		return arena_strndup(a, at, strcspn(at, "\n"));
	}
	return NULL;
}

static void names(struct features *f, struct arena *a)
{
	struct utsname u;

	if (uname(&u))
		return;
	f->hostname = keep(a, u.nodename);
	f->osrelease = keep(a, u.release);
	f->arch = keep(a, u.machine);
	f->version = "reticle " RETICLE_VERSION;
	feature_mark(f, FEAT_HOSTNAME);
	feature_mark(f, FEAT_OSRELEASE);
	feature_mark(f, FEAT_ARCH);
	feature_mark(f, FEAT_VERSION);
}

bool machine_midr(u32 cpu, u64 *out)
{
	char path[96], *line;

	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/regs/identification/midr_el1", cpu);
	line = smallfile_line(path);
	*out = line ? strtoull(line, NULL, 16) : 0;
	free(line);
	return *out != 0;
}

static const char *cpuid(struct arena *a, const char *cpuinfo)
{
	const char *vendor = value_of(a, cpuinfo, "vendor_id"), *family = value_of(a, cpuinfo, "cpu family");
	const char *model = value_of(a, cpuinfo, "model"), *stepping = value_of(a, cpuinfo, "stepping"), *kept;
	char *text;

	if (!vendor || !family || !model || !stepping)
		return keep_line(a, CPU_DIR "/cpu0/regs/identification/midr_el1");
	text = mem_printf("%s,%s,%s,%s", vendor, family, model, stepping);
	kept = keep(a, text);
	free(text);
	return kept;
}

enum event_machine machine_events(void)
{
	struct arena a = { 0 };
	struct bytes b = { 0 };
	struct utsname u = { 0 };
	enum event_machine machine;

	uname(&u);
	machine = event_machine_of(u.machine, smallfile_read(AT_FDCWD, "/proc/cpuinfo", CPUINFO_LIMIT, &b) ?
						      NULL :
						      cpuid(&a, (const char *)b.p));
	bytes_free(&b);
	arena_free(&a);
	return machine;
}

static void cpus_and_memory(struct features *f, struct arena *a)
{
	struct bytes b = { 0 };
	const char *total;

	f->nr_cpus_online = (u32)sysconf(_SC_NPROCESSORS_ONLN);
	f->nr_cpus_avail = (u32)sysconf(_SC_NPROCESSORS_CONF);
	feature_mark(f, FEAT_NRCPUS);
	if (!smallfile_read(AT_FDCWD, "/proc/cpuinfo", CPUINFO_LIMIT, &b)) {
		f->cpudesc = value_of(a, (const char *)b.p, "model name");
		f->cpuid = cpuid(a, (const char *)b.p);
	}
	if (f->cpudesc)
		feature_mark(f, FEAT_CPUDESC);
	if (f->cpuid)
		feature_mark(f, FEAT_CPUID);
	if (!smallfile_read(AT_FDCWD, "/proc/meminfo", CPUINFO_LIMIT, &b)) {
		total = value_of(a, (const char *)b.p, "MemTotal");
		f->total_mem_kb = total ? strtoull(total, NULL, 10) : 0;
		if (f->total_mem_kb)
			feature_mark(f, FEAT_TOTAL_MEM);
	}
	bytes_free(&b);
}

static void command_line(struct features *f, struct arena *a)
{
	struct bytes b = { 0 };
	const char **words, *p, *end;
	char exe[4096];
	ssize_t n;

	if (!smallfile_read(AT_FDCWD, "/proc/self/cmdline", 16u << 20, &b) && b.len) {
		words = arena_array(a, const char *, b.len);
		end = (const char *)b.p + b.len;
		for (p = (const char *)b.p; p < end; p += strlen(p) + 1)
			words[f->nr_cmdline++] = keep(a, p);
		/* The program by its full path, as perf gives it. */
		n = readlink("/proc/self/exe", exe, sizeof(exe));
		if (n > 0 && n < (ssize_t)sizeof(exe))
			words[0] = arena_strndup(a, exe, (size_t)n);
		f->cmdline = words;
		feature_mark(f, FEAT_CMDLINE);
	}
	bytes_free(&b);
}

/* The distinct values of a topology file over all CPUs. */
static const char *const *distinct(struct arena *a, const struct cpulist *cpus, const char *name, u32 *nr)
{
	const char **list = arena_array(a, const char *, cpus->v.n + 1);

	*nr = 0;
	for (size_t i = 0; i < cpus->v.n; i++) {
		char path[128];
		const char *value;
		bool known = false;

		snprintf(path, sizeof(path), CPU_DIR "/cpu%u/topology/%s", cpus->v.v[i], name);
		value = keep_line(a, path);
		for (u32 k = 0; value && k < *nr; k++)
			known |= !strcmp(list[k], value);
		if (value && !known)
			list[(*nr)++] = value;
	}
	return list;
}

static u32 topology_number(u32 cpu, const char *name)
{
	char path[128];
	u64 v;

	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/topology/%s", cpu, name);
	return smallfile_u64(path, &v) ? (u32)v : UINT32_MAX;
}

static void cpu_topology(struct features *f, struct arena *a, const struct cpulist *cpus)
{
	struct feat_cpu *list = arena_array(a, struct feat_cpu, f->nr_cpus_avail + 1);

	f->core_siblings = distinct(a, cpus, "package_cpus_list", &f->nr_core_siblings);
	if (!f->nr_core_siblings)
		f->core_siblings = distinct(a, cpus, "core_siblings_list", &f->nr_core_siblings);
	f->thread_siblings = distinct(a, cpus, "thread_siblings_list", &f->nr_thread_siblings);
	f->die_siblings = distinct(a, cpus, "die_cpus_list", &f->nr_die_siblings);
	if (!f->nr_core_siblings || !f->nr_thread_siblings)
		return;
	for (u32 cpu = 0; cpu < f->nr_cpus_avail; cpu++)
		list[cpu] = (struct feat_cpu){ topology_number(cpu, "core_id"),
					       topology_number(cpu, "physical_package_id"),
					       topology_number(cpu, "die_id") };
	f->cpus = list;
	f->nr_cpus = f->nr_cpus_avail;
	feature_mark(f, FEAT_CPU_TOPOLOGY);
}

/* Node N's line "Node N MemTotal:  123 kB". */
static u64 node_memory(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void numa_topology(struct features *f, struct arena *a)
{
	struct cpulist nodes = { 0 };
	struct bytes b = { 0 };
	char *line = smallfile_line(NODE_DIR "/online");

	if (line && !cpulist_parse(&nodes, line)) {
		for (size_t i = 0; i < nodes.v.n; i++) {
			struct feat_numa_node n = { .node = nodes.v.v[i] };
			char path[128];

			snprintf(path, sizeof(path), NODE_DIR "/node%u/meminfo", n.node);
			if (smallfile_read(AT_FDCWD, path, CPUINFO_LIMIT, &b))
				continue;
			n.mem_total = node_memory((const char *)b.p, "MemTotal:");
			n.mem_free = node_memory((const char *)b.p, "MemFree:");
			snprintf(path, sizeof(path), NODE_DIR "/node%u/cpulist", n.node);
			n.cpus = keep_line(a, path);
			n.cpus = n.cpus ? n.cpus : "";
			vec_push(&f->numa, n);
		}
	}
	if (f->numa.n)
		feature_mark(f, FEAT_NUMA_TOPOLOGY);
	free(line);
	bytes_free(&b);
	cpulist_free(&nodes);
}

#define CAPS_MAX 32

/* What a PMU says that it can do, such as how many branch records it keeps. */
static void pmu_caps(struct features *f, struct arena *a, const char *pmu)
{
	struct feat_caps caps = { .pmu = keep(a, pmu) };
	const char **names = arena_array(a, const char *, CAPS_MAX), **values = arena_array(a, const char *, CAPS_MAX);
	char path[1024];
	DIR *dir;
	struct dirent *e;

	snprintf(path, sizeof(path), PMU_DIR "/%s/caps", pmu);
	dir = opendir(path);
	while (dir && caps.nr < CAPS_MAX && (e = readdir(dir))) {
		const char *value;

		snprintf(path, sizeof(path), PMU_DIR "/%s/caps/%s", pmu, e->d_name);
		value = e->d_name[0] == '.' ? NULL : keep_line(a, path);
		if (!value)
			continue;
		names[caps.nr] = keep(a, e->d_name);
		values[caps.nr++] = value;
	}
	if (dir)
		closedir(dir);
	if (!caps.nr)
		return;
	caps.names = names;
	caps.values = values;
	vec_push(&f->caps, caps);
	feature_mark(f, strcmp(pmu, "cpu") ? FEAT_PMU_CAPS : FEAT_CPU_PMU_CAPS);
}

static void pmus(struct features *f, struct arena *a)
{
	DIR *dir = opendir(PMU_DIR);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char path[512];
		u64 type;

		snprintf(path, sizeof(path), PMU_DIR "/%s/type", e->d_name);
		if (e->d_name[0] != '.' && smallfile_u64(path, &type))
			vec_push(&f->pmus, (struct feat_pmu){ (u32)type, keep(a, e->d_name) });
		if (e->d_name[0] != '.')
			pmu_caps(f, a, e->d_name);
	}
	if (dir)
		closedir(dir);
	if (f->pmus.n)
		feature_mark(f, FEAT_PMU_MAPPINGS);
}

static const char *cache_line(struct arena *a, u32 cpu, u32 index, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/cache/index%u/%s", cpu, index, name);
	return keep_line(a, path);
}

static u32 cache_number(struct arena *a, u32 cpu, u32 index, const char *name)
{
	const char *line = cache_line(a, cpu, index, name);

	return line ? (u32)strtoul(line, NULL, 10) : 0;
}

static bool cache_known(const struct features *f, const struct feat_cache *c)
{
	for (size_t i = 0; i < f->caches.n; i++)
		if (f->caches.v[i].level == c->level && !strcmp(f->caches.v[i].type, c->type) &&
		    !strcmp(f->caches.v[i].map, c->map))
			return true;
	return false;
}

static void caches(struct features *f, struct arena *a, const struct cpulist *cpus)
{
	for (size_t i = 0; i < cpus->v.n; i++) {
		for (u32 index = 0; index < CACHES_MAX; index++) {
			u32 cpu = cpus->v.v[i];
			struct feat_cache c = { .level = cache_number(a, cpu, index, "level"),
						.type = cache_line(a, cpu, index, "type"),
						.size = cache_line(a, cpu, index, "size"),
						.map = cache_line(a, cpu, index, "shared_cpu_list") };

			if (!c.level || !c.type || !c.size || !c.map)
				break;
			c.line_size = cache_number(a, cpu, index, "coherency_line_size");
			c.sets = cache_number(a, cpu, index, "number_of_sets");
			c.ways = cache_number(a, cpu, index, "ways_of_associativity");
			if (!cache_known(f, &c))
				vec_push(&f->caches, c);
		}
	}
	if (f->caches.n)
		feature_mark(f, FEAT_CACHE);
}

void machine_software_features(struct features *f, struct arena *arena)
{
	names(f, arena);
	command_line(f, arena);
}

void machine_features(struct features *f, struct arena *arena)
{
	struct cpulist cpus = { 0 };

	machine_software_features(f, arena);
	cpus_and_memory(f, arena);
	numa_topology(f, arena);
	pmus(f, arena);
	if (!cpulist_online(&cpus, NULL)) {
		cpu_topology(f, arena, &cpus);
		caches(f, arena, &cpus);
	}
	cpulist_free(&cpus);
}
