/* SPDX-License-Identifier: Apache-2.0 */
/* Features as text, line for line as perf shows them, so that scripts written for perf find what they look for. */
#include <inttypes.h>
#include <time.h>

#include "codec/features_impl.h"

#define NSEC_PER_SEC ((u64)1000000000)

typedef void (*print_fn)(const struct features *f, struct bytes *out);

static void put_text(struct bytes *out, const char *s)
{
	if (s)
		bytes_plain(out, s, strlen(s));
}

static void put_line(struct bytes *out, const char *label, const char *text)
{
	bytes_printf(out, "# %s : ", label);
	put_text(out, text);
	bytes_char(out, '\n');
}

static void hostname(const struct features *f, struct bytes *out)
{
	put_line(out, "hostname", f->hostname);
}
static void osrelease(const struct features *f, struct bytes *out)
{
	put_line(out, "os release", f->osrelease);
}
static void version(const struct features *f, struct bytes *out)
{
	put_line(out, "perf version", f->version);
}
static void arch(const struct features *f, struct bytes *out)
{
	put_line(out, "arch", f->arch);
}
static void cpudesc(const struct features *f, struct bytes *out)
{
	put_line(out, "cpudesc", f->cpudesc);
}
static void cpuid(const struct features *f, struct bytes *out)
{
	put_line(out, "cpuid", f->cpuid);
}

static void nrcpus(const struct features *f, struct bytes *out)
{
	bytes_printf(out, "# nrcpus online : %u\n# nrcpus avail : %u\n", f->nr_cpus_online, f->nr_cpus_avail);
}

static void total_mem(const struct features *f, struct bytes *out)
{
	bytes_printf(out, "# total memory : %" PRIu64 " kB\n", f->total_mem_kb);
}

static void cmdline(const struct features *f, struct bytes *out)
{
	bytes_str(out, "# cmdline : ");
	for (u32 i = 0; i < f->nr_cmdline; i++) {
		for (const char *s = f->cmdline[i]; *s;) {
			size_t n = strcspn(s, "'");

			bytes_plain(out, s, n);
			s += n;
			if (*s == '\'') {
				bytes_str(out, "\\'");
				s++;
			}
		}
		bytes_char(out, ' ');
	}
	bytes_char(out, '\n');
}

static void event_desc(const struct features *f, struct bytes *out)
{
	for (size_t i = 0; i < f->event_desc.n; i++) {
		const struct feat_event_desc *e = &f->event_desc.v[i];

		bytes_str(out, "# event : name = ");
		put_text(out, e->name);
		bytes_str(out, ", ");
		for (u32 k = 0; k < e->nr_ids; k++)
			bytes_printf(out, "%s %" PRIu64, k ? "," : ", id = {", e->ids[k]);
		bytes_str(out, e->nr_ids ? " }, " : ", ");
		attr_print(&e->attr, " = ", out);
		bytes_char(out, '\n');
	}
}

static void put_siblings(struct bytes *out, const char *label, const char *const *v, u32 n)
{
	for (u32 i = 0; i < n; i++)
		put_line(out, label, v[i]);
}

static void cpu_topology(const struct features *f, struct bytes *out)
{
	put_siblings(out, "sibling sockets", f->core_siblings, f->nr_core_siblings);
	put_siblings(out, "sibling dies   ", f->die_siblings, f->nr_die_siblings);
	put_siblings(out, "sibling threads", f->thread_siblings, f->nr_thread_siblings);
	for (u32 i = 0; i < f->nr_cpus; i++) {
		bytes_printf(out, "# CPU %u: Core ID %d, ", i, (s32)f->cpus[i].core);
		if (f->nr_die_siblings)
			bytes_printf(out, "Die ID %d, ", (s32)f->cpus[i].die);
		bytes_printf(out, "Socket ID %d\n", (s32)f->cpus[i].socket);
	}
	if (!f->nr_cpus)
		bytes_printf(out, "# Core ID%s and Socket ID information is not available\n",
			     f->nr_die_siblings ? ", Die ID" : "");
}

static void numa_topology(const struct features *f, struct bytes *out)
{
	for (size_t i = 0; i < f->numa.n; i++) {
		const struct feat_numa_node *n = &f->numa.v[i];

		bytes_printf(out, "# node%u meminfo  : total = %" PRIu64 " kB, free = %" PRIu64 " kB\n", n->node,
			     n->mem_total, n->mem_free);
		bytes_printf(out, "# node%u cpu list : ", n->node);
		put_text(out, n->cpus);
		bytes_char(out, '\n');
	}
}

static void branch_stack(const struct features *f, struct bytes *out)
{
	(void)f;
	bytes_str(out, "# contains samples with branch stack\n");
}

static void pmu_mappings(const struct features *f, struct bytes *out)
{
	for (size_t i = 0; i < f->pmus.n; i++) {
		bytes_str(out, i ? ", " : "# pmu mappings: ");
		put_text(out, f->pmus.v[i].name);
		bytes_printf(out, " = %u", f->pmus.v[i].type);
	}
	bytes_str(out, f->pmus.n ? "\n" : "# pmu mappings: not available\n");
}

/* Groups name their members by number; EVENT_DESC knows what those are called. */
static void group_desc(const struct features *f, struct bytes *out)
{
	size_t n = f->event_desc.n;

	for (size_t i = 0; i < f->groups.n; i++) {
		const struct feat_group *g = &f->groups.v[i];

		if (g->leader >= n || g->members < 2 || g->members > n - g->leader)
			continue;
		bytes_str(out, "# group: ");
		if (strcmp(g->name, "{anon_group}"))
			put_text(out, g->name);
		for (u32 k = 0; k < g->members; k++) {
			bytes_char(out, k ? ',' : '{');
			put_text(out, f->event_desc.v[g->leader + k].name);
		}
		bytes_str(out, "}\n");
	}
}

static void auxtrace(const struct features *f, struct bytes *out)
{
	(void)f;
	bytes_str(out, "# contains AUX area data (e.g. instruction trace)\n");
}

static void stat(const struct features *f, struct bytes *out)
{
	(void)f;
	bytes_str(out, "# contains stat data\n");
}

static void cache(const struct features *f, struct bytes *out)
{
	bytes_str(out, "# CPU cache info:\n");
	for (size_t i = 0; i < f->caches.n; i++) {
		const struct feat_cache *e = &f->caches.v[i];
		size_t start;

		bytes_printf(out, "#  L%u ", e->level);
		start = out->len;
		put_text(out, e->type);
		bytes_repeat(out, ' ', 15 - (int)(out->len - start));
		bytes_repeat(out, ' ', 1 + 8 - (int)strlen(e->size));
		put_text(out, e->size);
		bytes_str(out, " [");
		put_text(out, e->map);
		bytes_str(out, "]\n");
	}
}

static void put_usec(struct bytes *out, const char *label, u64 ns)
{
	bytes_printf(out, "# %s : %" PRIu64 ".%06" PRIu64 "\n", label, ns / NSEC_PER_SEC, ns % NSEC_PER_SEC / 1000);
}

static void sample_time(const struct features *f, struct bytes *out)
{
	put_usec(out, "time of first sample", f->first_sample_time);
	put_usec(out, "time of last sample", f->last_sample_time);
	bytes_printf(out, "# sample duration : %10.3f ms\n",
		     (double)(f->last_sample_time - f->first_sample_time) / 1e6);
}

static bool has_block(const struct feat_mem_node *n, u64 i)
{
	return i < n->nr_bits && n->bitmap[i / 64] >> i % 64 & 1;
}

static u64 count_blocks(const struct feat_mem_node *n)
{
	u64 blocks = 0;

	for (u64 i = 0; i < n->nr_words; i++)
		blocks += (u64)__builtin_popcountll(n->bitmap[i]);
	return blocks;
}

/* Like "24G": the unit in which there is at least 2 of it. */
static void put_size(struct bytes *out, u64 size)
{
	const char *unit = "BKMG";

	for (; unit[1] && size / 1024 > 1; unit++)
		size /= 1024;
	bytes_printf(out, "%" PRIu64 "%c", size, *unit);
}

static void mem_topology(const struct features *f, struct bytes *out)
{
	bytes_printf(out, "# memory nodes (nr %zu, block size %#" PRIx64 "):\n", f->mem_nodes.n, f->mem_block_size);
	for (size_t i = 0; i < f->mem_nodes.n; i++) {
		const struct feat_mem_node *n = &f->mem_nodes.v[i];
		const char *between = "";

		bytes_printf(out, "#  %3" PRIu64 " [", n->node);
		put_size(out, f->mem_block_size * count_blocks(n));
		bytes_str(out, "]: ");
		for (u64 b = 0; b < n->nr_bits; b++) {
			u64 first = b;

			if (!has_block(n, b))
				continue;
			while (has_block(n, b + 1))
				b++;
			bytes_printf(out, "%s%" PRIu64, between, first);
			if (b > first)
				bytes_printf(out, "-%" PRIu64, b);
			between = ",";
		}
		bytes_char(out, '\n');
	}
}

static void clockid(const struct features *f, struct bytes *out)
{
	bytes_printf(out, "# clockid frequency: %" PRIu64 " MHz\n", f->clockid_res_ns * 1000);
}

static void dir_format(const struct features *f, struct bytes *out)
{
	bytes_printf(out, "# directory data version : %" PRIu64 "\n", f->dir_version);
}

static void bpf_prog_info(const struct features *f, struct bytes *out)
{
	if (f->nr_bpf_progs)
		bytes_printf(out, "# bpf programs : %u\n", f->nr_bpf_progs);
}

static void bpf_btf(const struct features *f, struct bytes *out)
{
	if (f->nr_btfs)
		bytes_printf(out, "# bpf type descriptions : %u\n", f->nr_btfs);
}

static void compressed(const struct features *f, struct bytes *out)
{
	bytes_printf(out, "# compressed : %s, level = %u, ratio = %u\n", f->compressed_type == 1 ? "Zstd" : "Unknown",
		     f->compressed_level, f->compressed_ratio);
}

static void put_caps(const struct feat_caps *caps, struct bytes *out)
{
	bytes_str(out, "# ");
	put_text(out, caps->pmu);
	bytes_str(out, " pmu capabilities: ");
	if (!caps->nr)
		bytes_str(out, "not available");
	for (u32 i = 0; i < caps->nr; i++) {
		bytes_str(out, i ? ", " : "");
		put_text(out, caps->names[i]);
		bytes_char(out, '=');
		put_text(out, caps->values[i]);
	}
	bytes_char(out, '\n');
}

/* CPU_PMU_CAPS and PMU_CAPS fill one list; it is shown where the first of the two stands. */
static void cpu_pmu_caps(const struct features *f, struct bytes *out)
{
	for (size_t i = 0; i < f->caps.n; i++)
		put_caps(&f->caps.v[i], out);
}

static void pmu_caps(const struct features *f, struct bytes *out)
{
	if (!(f->present[0] >> FEAT_CPU_PMU_CAPS & 1))
		cpu_pmu_caps(f, out);
}

static const char *clock_name(u32 id)
{
	static const char *const names[] = { "realtime",	  "monotonic",	   "process_cputime_id",
					     "thread_cputime_id", "monotonic_raw", "realtime_coarse",
					     "monotonic_coarse",  "boottime",	   "realtime_alarm",
					     "boottime_alarm",	  "sgi_cycle",	   "tai" };

	return id < ARRAY_LEN(names) ? names[id] : "not found";
}

static void clock_data(const struct features *f, struct bytes *out)
{
	const char *name = clock_name(f->clock_data_clockid);
	time_t wall_s = (time_t)(f->clock_data_wall_ns / NSEC_PER_SEC);
	u64 wall_us = f->clock_data_wall_ns % NSEC_PER_SEC / 1000, clock = f->clock_data_clockid_ns;
	char date[64] = "";
	struct tm tm;

	if (localtime_r(&wall_s, &tm))
		strftime(date, sizeof(date), "%F %T", &tm);
	bytes_printf(out, "# clockid: %s (%u)\n", name, f->clock_data_clockid);
	bytes_printf(out, "# reference time: %s.%06" PRIu64 " = %" PRIu64 ".%06" PRIu64 " (TOD) = ", date, wall_us,
		     (u64)wall_s, wall_us);
	bytes_printf(out, "%" PRIu64 ".%09" PRIu64 " (%s)\n", clock / NSEC_PER_SEC, clock % NSEC_PER_SEC, name);
}

static void hybrid_topology(const struct features *f, struct bytes *out)
{
	bytes_str(out, "# hybrid cpu system:\n");
	for (size_t i = 0; i < f->hybrid.n; i++) {
		bytes_str(out, "# ");
		put_text(out, f->hybrid.v[i].pmu);
		bytes_str(out, " cpu list : ");
		put_text(out, f->hybrid.v[i].cpus);
		bytes_char(out, '\n');
	}
}

static const struct {
	print_fn print;
	bool is_long; /* only named unless all is asked for */
} printers[FEAT_MAX] = {
	[FEAT_HOSTNAME] = { hostname },
	[FEAT_OSRELEASE] = { osrelease },
	[FEAT_VERSION] = { version },
	[FEAT_ARCH] = { arch },
	[FEAT_NRCPUS] = { nrcpus },
	[FEAT_CPUDESC] = { cpudesc },
	[FEAT_CPUID] = { cpuid },
	[FEAT_TOTAL_MEM] = { total_mem },
	[FEAT_CMDLINE] = { cmdline },
	[FEAT_EVENT_DESC] = { event_desc },
	[FEAT_CPU_TOPOLOGY] = { cpu_topology, true },
	[FEAT_NUMA_TOPOLOGY] = { numa_topology, true },
	[FEAT_BRANCH_STACK] = { branch_stack },
	[FEAT_PMU_MAPPINGS] = { pmu_mappings },
	[FEAT_GROUP_DESC] = { group_desc },
	[FEAT_AUXTRACE] = { auxtrace },
	[FEAT_STAT] = { stat },
	[FEAT_CACHE] = { cache, true },
	[FEAT_SAMPLE_TIME] = { sample_time },
	[FEAT_MEM_TOPOLOGY] = { mem_topology, true },
	[FEAT_CLOCKID] = { clockid },
	[FEAT_DIR_FORMAT] = { dir_format },
	[FEAT_BPF_PROG_INFO] = { bpf_prog_info },
	[FEAT_BPF_BTF] = { bpf_btf },
	[FEAT_COMPRESSED] = { compressed },
	[FEAT_CPU_PMU_CAPS] = { cpu_pmu_caps },
	[FEAT_CLOCK_DATA] = { clock_data },
	[FEAT_HYBRID_TOPOLOGY] = { hybrid_topology, true },
	[FEAT_PMU_CAPS] = { pmu_caps },
};

static void unwound(const struct features *f, struct bytes *out)
{
	u64 cut = 0;

	if (!(f->present[FEAT_UNWOUND / 64] >> FEAT_UNWOUND % 64 & 1))
		return;
	for (size_t i = 0; i < f->unwound_cuts.n; i++)
		cut += f->unwound_cuts.v[i].stacks;
	bytes_printf(out, "# stacks unwound while recording : %" PRIu64 ", %" PRIu64 " of them cut\n",
		     f->unwound_stacks, cut);
}

static void print(const struct features *f, bool all, struct bytes *out)
{
	for (u32 id = 0; id < FEAT_MAX; id++) {
		if (!(f->present[id / 64] >> id % 64 & 1) || !printers[id].print)
			continue;
		if (printers[id].is_long && !all)
			bytes_printf(out, "# %s info available, use -I to display\n", feature_name(id));
		else
			printers[id].print(f, out);
	}
	simpleperf_print(f, out);
	unwound(f, out);
}

void features_print(const struct features *f, struct bytes *out)
{
	print(f, false, out);
}

void features_print_all(const struct features *f, struct bytes *out)
{
	print(f, true, out);
}

void features_print_missing(const u64 present[4], struct bytes *out)
{
	bytes_str(out, "# missing features: ");
	for (u32 id = 1; id < FEAT_CPU_DOMAIN_INFO; id++)
		if (!(present[id / 64] >> id % 64 & 1))
			bytes_printf(out, "%s ", feature_name(id));
	bytes_char(out, '\n');
}
