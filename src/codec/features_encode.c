/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding the features that a recorder writes. Each function is the inverse of the decoder of the same name. */
#include "codec/features_impl.h"

#include <string.h>

#define NAME_ALIGN 64 /* text takes a multiple of that, its NUL included */

typedef void (*encode_fn)(const struct features *f, struct bytes *out);

static size_t padded(size_t len)
{
	return (len + 1 + NAME_ALIGN - 1) / NAME_ALIGN * NAME_ALIGN;
}

static void put_text(struct bytes *out, const char *s)
{
	size_t len = s ? strlen(s) : 0;

	bytes_u32(out, (u32)padded(len));
	bytes_put(out, s, len);
	bytes_zero(out, padded(len) - len);
}

static void put_texts(struct bytes *out, const char *const *v, u32 n)
{
	bytes_u32(out, n);
	for (u32 i = 0; i < n; i++)
		put_text(out, v[i]);
}

static void tracing_data(const struct features *f, struct bytes *out)
{
	bytes_put(out, f->tracing_data, f->tracing_data_size);
}

static void build_ids(const struct features *f, struct bytes *out)
{
	for (size_t i = 0; i < f->build_ids.n; i++) {
		const struct rec_build_id *b = &f->build_ids.v[i];
		u32 name = MIN(b->filename.len, 4095u);

		bytes_u32(out, 0); /* as perf leaves the type here */
		bytes_u16(out, f->build_id_misc.v[i] | PERF_RECORD_MISC_BUILD_ID_SIZE);
		bytes_u16(out, (u16)(8 + 4 + 24 + padded(name)));
		bytes_u32(out, b->pid);
		bytes_put(out, b->build_id, sizeof(b->build_id));
		bytes_u32(out, 0);
		out->p[out->len - 4] = b->size;
		bytes_put(out, b->filename.p, name);
		bytes_zero(out, padded(name) - name);
	}
}

static void hostname(const struct features *f, struct bytes *out)
{
	put_text(out, f->hostname);
}
static void osrelease(const struct features *f, struct bytes *out)
{
	put_text(out, f->osrelease);
}
static void version(const struct features *f, struct bytes *out)
{
	put_text(out, f->version);
}
static void arch(const struct features *f, struct bytes *out)
{
	put_text(out, f->arch);
}
static void cpudesc(const struct features *f, struct bytes *out)
{
	put_text(out, f->cpudesc);
}
static void cpuid(const struct features *f, struct bytes *out)
{
	put_text(out, f->cpuid);
}

static void nrcpus(const struct features *f, struct bytes *out)
{
	bytes_u32(out, f->nr_cpus_avail);
	bytes_u32(out, f->nr_cpus_online);
}

static void total_mem(const struct features *f, struct bytes *out)
{
	bytes_u64(out, f->total_mem_kb);
}

static void cmdline(const struct features *f, struct bytes *out)
{
	put_texts(out, f->cmdline, f->nr_cmdline);
}

static void event_desc(const struct features *f, struct bytes *out)
{
	u32 size = ATTR_SIZE_MIN;

	for (size_t i = 0; i < f->event_desc.n; i++)
		size = MAX(size, attr_least_size(&f->event_desc.v[i].attr));
	bytes_u32(out, (u32)f->event_desc.n);
	bytes_u32(out, size);
	for (size_t i = 0; i < f->event_desc.n; i++) {
		const struct feat_event_desc *e = &f->event_desc.v[i];

		attr_encode(&e->attr, size, out);
		bytes_u32(out, e->nr_ids);
		put_text(out, e->name);
		bytes_put(out, e->ids, e->nr_ids * sizeof(*e->ids));
	}
}

static void cpu_topology(const struct features *f, struct bytes *out)
{
	put_texts(out, f->core_siblings, f->nr_core_siblings);
	put_texts(out, f->thread_siblings, f->nr_thread_siblings);
	for (u32 i = 0; i < f->nr_cpus; i++) {
		bytes_u32(out, f->cpus[i].core);
		bytes_u32(out, f->cpus[i].socket);
	}
	if (!f->die_siblings)
		return;
	put_texts(out, f->die_siblings, f->nr_die_siblings);
	for (u32 i = 0; i < f->nr_cpus; i++)
		bytes_u32(out, f->cpus[i].die);
}

static void numa_topology(const struct features *f, struct bytes *out)
{
	bytes_u32(out, (u32)f->numa.n);
	for (size_t i = 0; i < f->numa.n; i++) {
		bytes_u32(out, f->numa.v[i].node);
		bytes_u64(out, f->numa.v[i].mem_total);
		bytes_u64(out, f->numa.v[i].mem_free);
		put_text(out, f->numa.v[i].cpus);
	}
}

static void nothing(const struct features *f, struct bytes *out)
{
	(void)f;
	(void)out;
}

static void pmu_mappings(const struct features *f, struct bytes *out)
{
	bytes_u32(out, (u32)f->pmus.n);
	for (size_t i = 0; i < f->pmus.n; i++) {
		bytes_u32(out, f->pmus.v[i].type);
		put_text(out, f->pmus.v[i].name);
	}
}

static void group_desc(const struct features *f, struct bytes *out)
{
	bytes_u32(out, (u32)f->groups.n);
	for (size_t i = 0; i < f->groups.n; i++) {
		put_text(out, f->groups.v[i].name);
		bytes_u32(out, f->groups.v[i].leader);
		bytes_u32(out, f->groups.v[i].members);
	}
}

static void auxtrace(const struct features *f, struct bytes *out)
{
	bytes_u64(out, f->auxtrace_index.n);
	for (size_t i = 0; i < f->auxtrace_index.n; i++) {
		bytes_u64(out, f->auxtrace_index.v[i].file_offset);
		bytes_u64(out, f->auxtrace_index.v[i].size);
	}
}

static void cache(const struct features *f, struct bytes *out)
{
	bytes_u32(out, 1);
	bytes_u32(out, (u32)f->caches.n);
	for (size_t i = 0; i < f->caches.n; i++) {
		const struct feat_cache *e = &f->caches.v[i];

		bytes_u32(out, e->level);
		bytes_u32(out, e->line_size);
		bytes_u32(out, e->sets);
		bytes_u32(out, e->ways);
		put_text(out, e->type);
		put_text(out, e->size);
		put_text(out, e->map);
	}
}

static void sample_time(const struct features *f, struct bytes *out)
{
	bytes_u64(out, f->first_sample_time);
	bytes_u64(out, f->last_sample_time);
}

static void mem_topology(const struct features *f, struct bytes *out)
{
	bytes_u64(out, 1);
	bytes_u64(out, f->mem_block_size);
	bytes_u64(out, f->mem_nodes.n);
	for (size_t i = 0; i < f->mem_nodes.n; i++) {
		const struct feat_mem_node *n = &f->mem_nodes.v[i];

		bytes_u64(out, n->node);
		bytes_u64(out, n->size);
		bytes_u64(out, n->nr_bits);
		bytes_put(out, n->bitmap, n->nr_words * sizeof(*n->bitmap));
	}
}

static void clockid(const struct features *f, struct bytes *out)
{
	bytes_u64(out, f->clockid_res_ns);
}

static void clock_data(const struct features *f, struct bytes *out)
{
	bytes_u32(out, 1);
	bytes_u32(out, f->clock_data_clockid);
	bytes_u64(out, f->clock_data_wall_ns);
	bytes_u64(out, f->clock_data_clockid_ns);
}

static void put_caps(const struct feat_caps *caps, struct bytes *out)
{
	bytes_u32(out, caps->nr);
	for (u32 i = 0; i < caps->nr; i++) {
		put_text(out, caps->names[i]);
		put_text(out, caps->values[i]);
	}
}

/* Of the PMU that is called "cpu"; */
static void cpu_pmu_caps(const struct features *f, struct bytes *out)
{
	for (size_t i = 0; i < f->caps.n; i++)
		if (!strcmp(f->caps.v[i].pmu, "cpu")) {
			put_caps(&f->caps.v[i], out);
			return;
		}
	bytes_u32(out, 0);
}

/* of all others. */
static void pmu_caps(const struct features *f, struct bytes *out)
{
	size_t at = out->len;
	u32 n = 0;

	bytes_u32(out, 0);
	for (size_t i = 0; i < f->caps.n; i++) {
		if (!strcmp(f->caps.v[i].pmu, "cpu"))
			continue;
		put_caps(&f->caps.v[i], out);
		put_text(out, f->caps.v[i].pmu);
		n++;
	}
	memcpy(out->p + at, &n, sizeof(n));
}

static void compressed(const struct features *f, struct bytes *out)
{
	bytes_u32(out, 1);
	bytes_u32(out, f->compressed_type);
	bytes_u32(out, f->compressed_level);
	bytes_u32(out, f->compressed_ratio);
	bytes_u32(out, f->compressed_mmap_len);
}

static void unwound(const struct features *f, struct bytes *out)
{
	bytes_u64(out, f->unwound_stacks);
	bytes_u64(out, f->unwound_frames);
	bytes_u64(out, f->unwound_by_fp);
	bytes_u32(out, f->unwound_bytes);
	bytes_u32(out, (u32)f->unwound_cuts.n);
	for (size_t i = 0; i < f->unwound_cuts.n; i++) {
		bytes_u64(out, f->unwound_cuts.v[i].stacks);
		put_text(out, f->unwound_cuts.v[i].why);
		put_text(out, f->unwound_cuts.v[i].file);
	}
}

void round_body_encode(const struct features *f, struct bytes *out)
{
	size_t start = out->len;

	bytes_u64(out, ROUND_BODY_MAGIC);
	unwound(f, out);
	bytes_repeat(out, 0, (8 - (out->len - start) % 8) % 8);
}

static const encode_fn encoders[FEAT_MAX] = {
	[FEAT_TRACING_DATA] = tracing_data,
	[FEAT_BUILD_ID] = build_ids,
	[FEAT_HOSTNAME] = hostname,
	[FEAT_OSRELEASE] = osrelease,
	[FEAT_VERSION] = version,
	[FEAT_ARCH] = arch,
	[FEAT_NRCPUS] = nrcpus,
	[FEAT_CPUDESC] = cpudesc,
	[FEAT_CPUID] = cpuid,
	[FEAT_TOTAL_MEM] = total_mem,
	[FEAT_CMDLINE] = cmdline,
	[FEAT_EVENT_DESC] = event_desc,
	[FEAT_CPU_TOPOLOGY] = cpu_topology,
	[FEAT_NUMA_TOPOLOGY] = numa_topology,
	[FEAT_BRANCH_STACK] = nothing,
	[FEAT_PMU_MAPPINGS] = pmu_mappings,
	[FEAT_GROUP_DESC] = group_desc,
	[FEAT_AUXTRACE] = auxtrace,
	[FEAT_CACHE] = cache,
	[FEAT_SAMPLE_TIME] = sample_time,
	[FEAT_MEM_TOPOLOGY] = mem_topology,
	[FEAT_CLOCKID] = clockid,
	[FEAT_CLOCK_DATA] = clock_data,
	[FEAT_COMPRESSED] = compressed,
	[FEAT_CPU_PMU_CAPS] = cpu_pmu_caps,
	[FEAT_PMU_CAPS] = pmu_caps,
};

int feature_encode(const struct features *f, enum feature id, struct bytes *out)
{
	if (id == FEAT_UNWOUND) {
		unwound(f, out);
		return 0;
	}
	if (id >= FEAT_SIMPLEPERF)
		return simpleperf_encode(f, id, out);
	if (id >= FEAT_MAX || !encoders[id])
		return ERR_UNSUPPORTED;
	encoders[id](f, out);
	return 0;
}
