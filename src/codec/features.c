/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding features. Each decoder reads the fields of its section that it knows, and stores nothing if the cursor
 * became bad. Counts are never trusted: loops end with the bytes, and the size of arrays is checked against the number
 * of bytes.
 */
#include "codec/features_impl.h"

typedef void (*decode_fn)(struct features *f, struct cursor *c, struct arena *arena);

/* A string: u32 length, padding included, then its bytes. NULL when it is not there. */
static const char *get_text(struct cursor *c, struct arena *arena)
{
	u32 len = cursor_u32(c);
	struct str s = cursor_text(c, len);

	if (c->bad)
		return NULL;
	return s.len ? arena_strndup(arena, s.p, s.len) : "";
}

/* n strings, in the arena; NULL (and bad) when there cannot be that many. */
static const char **get_texts(struct cursor *c, struct arena *arena, u32 n)
{
	const char **v;

	if (c->bad || n > cursor_left(c) / 4) {
		c->bad = true;
		return NULL;
	}
	v = arena_array(arena, const char *, n);
	for (u32 i = 0; i < n && !c->bad; i++)
		v[i] = get_text(c, arena);
	return c->bad ? NULL : v;
}

static const u64 *get_u64s(struct cursor *c, struct arena *arena, u64 n)
{
	struct u64s in = cursor_u64s(c, n);
	u64 *v;

	c->bad |= n > UINT32_MAX;
	if (c->bad)
		return NULL;
	v = arena_array(arena, u64, in.n);
	for (u32 i = 0; i < in.n; i++)
		v[i] = u64s_at(&in, i);
	return v;
}

static void tracing_data(struct features *f, struct cursor *c, struct arena *arena)
{
	(void)arena;
	f->tracing_data = c->p;
	f->tracing_data_size = cursor_left(c);
	cursor_skip(c, f->tracing_data_size);
}

/*
 * The table's entries look like HEADER_BUILD_ID records but for their type, which perf leaves 0. The build id takes 24
 * bytes; with BUILD_ID_SIZE in misc the 21st is its length, else it is 20.
 */
static void build_ids(struct features *f, struct cursor *c, struct arena *arena)
{
	while (cursor_left(c) && !c->bad) {
		struct rec_build_id b = { 0 };
		struct cursor entry;
		u16 misc, size;
		const u8 *id;
		struct str name;

		cursor_skip(c, 4);
		misc = cursor_u16(c);
		size = cursor_u16(c);
		if (size < 8) {
			c->bad = true;
			break;
		}
		entry = cursor_sub(c, size - 8u);
		b.pid = cursor_u32(&entry);
		id = cursor_bytes(&entry, 24);
		name = cursor_text(&entry, cursor_left(&entry));
		if (entry.bad) {
			c->bad = true;
			break;
		}
		b.size = misc & PERF_RECORD_MISC_BUILD_ID_SIZE ? MIN(id[20], sizeof(b.build_id)) : sizeof(b.build_id);
		memcpy(b.build_id, id, b.size);
		b.filename = (struct str){ arena_strndup(arena, name.p, name.len), name.len };
		vec_push(&f->build_ids, b);
		vec_push(&f->build_id_misc, misc);
	}
	if (c->bad)
		f->build_ids.n = f->build_id_misc.n = 0;
}

static void hostname(struct features *f, struct cursor *c, struct arena *arena)
{
	f->hostname = get_text(c, arena);
}
static void osrelease(struct features *f, struct cursor *c, struct arena *arena)
{
	f->osrelease = get_text(c, arena);
}
static void version(struct features *f, struct cursor *c, struct arena *arena)
{
	f->version = get_text(c, arena);
}
static void arch(struct features *f, struct cursor *c, struct arena *arena)
{
	f->arch = get_text(c, arena);
}
static void cpudesc(struct features *f, struct cursor *c, struct arena *arena)
{
	f->cpudesc = get_text(c, arena);
}
static void cpuid(struct features *f, struct cursor *c, struct arena *arena)
{
	f->cpuid = get_text(c, arena);
}

static void nrcpus(struct features *f, struct cursor *c, struct arena *arena)
{
	u32 avail = cursor_u32(c), online = cursor_u32(c);

	(void)arena;
	f->nr_cpus_avail = c->bad ? 0 : avail;
	f->nr_cpus_online = c->bad ? 0 : online;
}

static void total_mem(struct features *f, struct cursor *c, struct arena *arena)
{
	(void)arena;
	f->total_mem_kb = cursor_u64(c);
}

static void cmdline(struct features *f, struct cursor *c, struct arena *arena)
{
	u32 n = cursor_u32(c);

	f->cmdline = get_texts(c, arena, n);
	f->nr_cmdline = c->bad ? 0 : n;
}

static void event_desc(struct features *f, struct cursor *c, struct arena *arena)
{
	u32 n = cursor_u32(c), attr_size = cursor_u32(c);

	f->event_desc.n = 0;
	c->bad |= n > DESCRIBED_MAX;
	for (u32 i = 0; i < n && !c->bad; i++) {
		struct feat_event_desc e = { 0 };

		if (attr_decode(c, attr_size, &e.attr, NULL))
			c->bad = true;
		e.nr_ids = cursor_u32(c);
		e.name = get_text(c, arena);
		e.ids = get_u64s(c, arena, e.nr_ids);
		vec_push(&f->event_desc, e);
	}
	if (c->bad)
		f->event_desc.n = 0;
}

/*
 * Sibling lists of cores and threads; then, from perf 3.x on, core and socket of every CPU; then, from 5.x on, the
 * sibling lists of dies and the die of every CPU. How many CPUs only NRCPUS says, which stands before.
 */
static void cpu_topology(struct features *f, struct cursor *c, struct arena *arena)
{
	u32 nr_cores = cursor_u32(c), nr_threads, nr_dies = 0, nr_cpus = f->nr_cpus_avail;
	const char **cores = get_texts(c, arena, nr_cores), **threads, **dies = NULL;
	struct feat_cpu *cpus = NULL;

	nr_threads = cursor_u32(c);
	threads = get_texts(c, arena, nr_threads);
	if (c->bad)
		return;
	if (nr_cpus && nr_cpus <= cursor_left(c) / 8) {
		cpus = arena_array(arena, struct feat_cpu, nr_cpus);
		for (u32 i = 0; i < nr_cpus; i++) {
			u32 core = cursor_u32(c), socket = cursor_u32(c);

			cpus[i] = (struct feat_cpu){ .core = core, .socket = socket };
		}
		if (cursor_left(c) >= 4) {
			nr_dies = cursor_u32(c);
			dies = get_texts(c, arena, nr_dies);
			for (u32 i = 0; i < nr_cpus; i++)
				cpus[i].die = cursor_u32(c);
		}
	}
	if (c->bad)
		return;
	f->core_siblings = cores;
	f->nr_core_siblings = nr_cores;
	f->thread_siblings = threads;
	f->nr_thread_siblings = nr_threads;
	f->die_siblings = dies;
	f->nr_die_siblings = nr_dies;
	f->cpus = cpus;
	f->nr_cpus = cpus ? nr_cpus : 0;
}

static void numa_topology(struct features *f, struct cursor *c, struct arena *arena)
{
	u32 n = cursor_u32(c);

	f->numa.n = 0;
	for (u32 i = 0; i < n && !c->bad; i++) {
		struct feat_numa_node node = { .node = cursor_u32(c) };

		node.mem_total = cursor_u64(c);
		node.mem_free = cursor_u64(c);
		node.cpus = get_text(c, arena);
		vec_push(&f->numa, node);
	}
	if (c->bad)
		f->numa.n = 0;
}

static void pmu_mappings(struct features *f, struct cursor *c, struct arena *arena)
{
	u32 n = cursor_u32(c);

	f->pmus.n = 0;
	for (u32 i = 0; i < n && !c->bad; i++) {
		struct feat_pmu pmu = { .type = cursor_u32(c) };

		pmu.name = get_text(c, arena);
		vec_push(&f->pmus, pmu);
	}
	if (c->bad)
		f->pmus.n = 0;
}

static void group_desc(struct features *f, struct cursor *c, struct arena *arena)
{
	u32 n = cursor_u32(c);

	f->groups.n = 0;
	for (u32 i = 0; i < n && !c->bad; i++) {
		struct feat_group g = { .name = get_text(c, arena) };

		g.leader = cursor_u32(c);
		g.members = cursor_u32(c);
		vec_push(&f->groups, g);
	}
	if (c->bad)
		f->groups.n = 0;
}

/* perf says how many entries there are; simpleperf does not, so that its section is a multiple of their size. */
static void auxtrace(struct features *f, struct cursor *c, struct arena *arena)
{
	u64 n = cursor_left(c) % 16 ? cursor_u64(c) : cursor_left(c) / 16;

	(void)arena;
	f->auxtrace_index.n = 0;
	for (u64 i = 0; i < n && !c->bad; i++) {
		struct feat_auxtrace_index e = { .file_offset = cursor_u64(c) };

		e.size = cursor_u64(c);
		vec_push(&f->auxtrace_index, e);
	}
	if (c->bad)
		f->auxtrace_index.n = 0;
}

static void nothing(struct features *f, struct cursor *c, struct arena *arena)
{
	(void)f;
	(void)c;
	(void)arena;
}

static void cache(struct features *f, struct cursor *c, struct arena *arena)
{
	u32 n;

	cursor_skip(c, 4); /* version: 1 is the only one */
	n = cursor_u32(c);
	f->caches.n = 0;
	for (u32 i = 0; i < n && !c->bad; i++) {
		struct feat_cache e = { .level = cursor_u32(c) };

		e.line_size = cursor_u32(c);
		e.sets = cursor_u32(c);
		e.ways = cursor_u32(c);
		e.type = get_text(c, arena);
		e.size = get_text(c, arena);
		e.map = get_text(c, arena);
		vec_push(&f->caches, e);
	}
	if (c->bad)
		f->caches.n = 0;
}

static void sample_time(struct features *f, struct cursor *c, struct arena *arena)
{
	u64 first = cursor_u64(c), last = cursor_u64(c);

	(void)arena;
	f->first_sample_time = c->bad ? 0 : first;
	f->last_sample_time = c->bad ? 0 : last;
}

static void mem_topology(struct features *f, struct cursor *c, struct arena *arena)
{
	u64 block_size, n;

	cursor_skip(c, 8); /* version: 1 is the only one */
	block_size = cursor_u64(c);
	n = cursor_u64(c);
	f->mem_nodes.n = 0;
	for (u64 i = 0; i < n && !c->bad; i++) {
		struct feat_mem_node node = { .node = cursor_u64(c) };

		node.size = cursor_u64(c);
		node.nr_bits = cursor_u64(c);
		node.nr_words = node.nr_bits / 64 + (node.nr_bits % 64 != 0);
		node.bitmap = get_u64s(c, arena, node.nr_words);
		vec_push(&f->mem_nodes, node);
	}
	f->mem_block_size = c->bad ? 0 : block_size;
	if (c->bad)
		f->mem_nodes.n = 0;
}

static void clockid(struct features *f, struct cursor *c, struct arena *arena)
{
	(void)arena;
	f->clockid_res_ns = cursor_u64(c);
}

static void dir_format(struct features *f, struct cursor *c, struct arena *arena)
{
	(void)arena;
	f->dir_version = cursor_u64(c);
}

static void bpf_prog_info(struct features *f, struct cursor *c, struct arena *arena)
{
	u32 n = cursor_u32(c);

	(void)arena;
	for (u32 i = 0; i < n && !c->bad; i++) {
		u32 info_len = cursor_u32(c), data_len = cursor_u32(c);

		cursor_skip(c, 8); /* which arrays the data holds */
		cursor_skip(c, (u64)info_len + data_len);
	}
	f->nr_bpf_progs = c->bad ? 0 : n;
}

static void bpf_btf(struct features *f, struct cursor *c, struct arena *arena)
{
	u32 n = cursor_u32(c);

	(void)arena;
	for (u32 i = 0; i < n && !c->bad; i++) {
		cursor_skip(c, 4); /* id */
		cursor_skip(c, cursor_u32(c));
	}
	f->nr_btfs = c->bad ? 0 : n;
}

static void compressed(struct features *f, struct cursor *c, struct arena *arena)
{
	u32 type, level, ratio, mmap_len;

	(void)arena;
	cursor_skip(c, 4); /* version: 1 is the only one */
	type = cursor_u32(c);
	level = cursor_u32(c);
	ratio = cursor_u32(c);
	mmap_len = cursor_u32(c);
	if (c->bad)
		return;
	f->compressed_type = type;
	f->compressed_level = level;
	f->compressed_ratio = ratio;
	f->compressed_mmap_len = mmap_len;
}

static struct feat_caps get_caps(struct cursor *c, struct arena *arena)
{
	struct feat_caps caps = { .nr = cursor_u32(c) };
	const char **names, **values;

	if (c->bad || caps.nr > cursor_left(c) / 8) {
		c->bad = true;
		return (struct feat_caps){ 0 };
	}
	names = arena_array(arena, const char *, caps.nr);
	values = arena_array(arena, const char *, caps.nr);
	for (u32 i = 0; i < caps.nr && !c->bad; i++) {
		names[i] = get_text(c, arena);
		values[i] = get_text(c, arena);
	}
	caps.names = names;
	caps.values = values;
	return caps;
}

static void cpu_pmu_caps(struct features *f, struct cursor *c, struct arena *arena)
{
	struct feat_caps caps = get_caps(c, arena);

	caps.pmu = "cpu";
	if (!c->bad)
		vec_push(&f->caps, caps);
}

static void pmu_caps(struct features *f, struct cursor *c, struct arena *arena)
{
	u32 n = cursor_u32(c);
	size_t before = f->caps.n;

	for (u32 i = 0; i < n && !c->bad; i++) {
		struct feat_caps caps = get_caps(c, arena);

		caps.pmu = get_text(c, arena);
		vec_push(&f->caps, caps);
	}
	if (c->bad)
		f->caps.n = before;
}

static void clock_data(struct features *f, struct cursor *c, struct arena *arena)
{
	u32 id;
	u64 wall, clock;

	(void)arena;
	cursor_skip(c, 4); /* version: 1 is the only one */
	id = cursor_u32(c);
	wall = cursor_u64(c);
	clock = cursor_u64(c);
	if (c->bad)
		return;
	f->clock_data_clockid = id;
	f->clock_data_wall_ns = wall;
	f->clock_data_clockid_ns = clock;
}

static void hybrid_topology(struct features *f, struct cursor *c, struct arena *arena)
{
	u32 n = cursor_u32(c);

	f->hybrid.n = 0;
	for (u32 i = 0; i < n && !c->bad; i++) {
		struct feat_hybrid h = { .pmu = get_text(c, arena) };

		h.cpus = get_text(c, arena);
		vec_push(&f->hybrid, h);
	}
	if (c->bad)
		f->hybrid.n = 0;
}

static void unwound(struct features *f, struct cursor *c, struct arena *arena)
{
	u64 stacks = cursor_u64(c), frames = cursor_u64(c), by_fp = cursor_u64(c);
	u32 bytes = cursor_u32(c), n = cursor_u32(c);

	f->unwound_cuts.n = 0;
	c->bad |= n > DESCRIBED_MAX;
	for (u32 i = 0; i < n && !c->bad; i++) {
		struct feat_stack_cut cut = { .stacks = cursor_u64(c) };

		cut.why = get_text(c, arena);
		cut.file = get_text(c, arena);
		vec_push(&f->unwound_cuts, cut);
	}
	if (c->bad) {
		f->unwound_cuts.n = 0;
		return;
	}
	f->unwound_stacks = stacks;
	f->unwound_frames = frames;
	f->unwound_by_fp = by_fp;
	f->unwound_bytes = bytes;
}

bool round_body_is(struct cursor c)
{
	return cursor_u64(&c) == ROUND_BODY_MAGIC && !c.bad;
}

bool round_body_decode(struct features *f, struct cursor c)
{
	if (!round_body_is(c))
		return false;
	cursor_skip(&c, sizeof(u64));
	arena_free(&f->unwound_texts);
	unwound(f, &c, &f->unwound_texts);
	f->present[FEAT_UNWOUND / 64] &= ~(1ull << FEAT_UNWOUND % 64);
	if (c.bad)
		return false;
	f->unwound_so_far = true;
	f->present[FEAT_UNWOUND / 64] |= 1ull << FEAT_UNWOUND % 64;
	return true;
}

struct kind {
	const char *name;
	decode_fn decode;
};

static const struct kind kinds[FEAT_MAX] = {
	[FEAT_TRACING_DATA] = { "TRACING_DATA", tracing_data },
	[FEAT_BUILD_ID] = { "BUILD_ID", build_ids },
	[FEAT_HOSTNAME] = { "HOSTNAME", hostname },
	[FEAT_OSRELEASE] = { "OSRELEASE", osrelease },
	[FEAT_VERSION] = { "VERSION", version },
	[FEAT_ARCH] = { "ARCH", arch },
	[FEAT_NRCPUS] = { "NRCPUS", nrcpus },
	[FEAT_CPUDESC] = { "CPUDESC", cpudesc },
	[FEAT_CPUID] = { "CPUID", cpuid },
	[FEAT_TOTAL_MEM] = { "TOTAL_MEM", total_mem },
	[FEAT_CMDLINE] = { "CMDLINE", cmdline },
	[FEAT_EVENT_DESC] = { "EVENT_DESC", event_desc },
	[FEAT_CPU_TOPOLOGY] = { "CPU_TOPOLOGY", cpu_topology },
	[FEAT_NUMA_TOPOLOGY] = { "NUMA_TOPOLOGY", numa_topology },
	[FEAT_BRANCH_STACK] = { "BRANCH_STACK", nothing },
	[FEAT_PMU_MAPPINGS] = { "PMU_MAPPINGS", pmu_mappings },
	[FEAT_GROUP_DESC] = { "GROUP_DESC", group_desc },
	[FEAT_AUXTRACE] = { "AUXTRACE", auxtrace },
	[FEAT_STAT] = { "STAT", nothing },
	[FEAT_CACHE] = { "CACHE", cache },
	[FEAT_SAMPLE_TIME] = { "SAMPLE_TIME", sample_time },
	[FEAT_MEM_TOPOLOGY] = { "MEM_TOPOLOGY", mem_topology },
	[FEAT_CLOCKID] = { "CLOCKID", clockid },
	[FEAT_DIR_FORMAT] = { "DIR_FORMAT", dir_format },
	[FEAT_BPF_PROG_INFO] = { "BPF_PROG_INFO", bpf_prog_info },
	[FEAT_BPF_BTF] = { "BPF_BTF", bpf_btf },
	[FEAT_COMPRESSED] = { "COMPRESSED", compressed },
	[FEAT_CPU_PMU_CAPS] = { "CPU_PMU_CAPS", cpu_pmu_caps },
	[FEAT_CLOCK_DATA] = { "CLOCK_DATA", clock_data },
	[FEAT_HYBRID_TOPOLOGY] = { "HYBRID_TOPOLOGY", hybrid_topology },
	[FEAT_PMU_CAPS] = { "PMU_CAPS", pmu_caps },
	[FEAT_CPU_DOMAIN_INFO] = { "CPU_DOMAIN_INFO", nothing },
};

static const struct kind simpleperf_kinds[] = {
	{ "SIMPLEPERF_FILE", simpleperf_files },
	{ "SIMPLEPERF_META_INFO", simpleperf_meta },
	{ "SIMPLEPERF_DEBUG_UNWIND", simpleperf_unwind_files },
	{ "SIMPLEPERF_DEBUG_UNWIND_FILE", nothing },
	{ "SIMPLEPERF_FILE2", simpleperf_file_messages },
	{ "SIMPLEPERF_ETM_BRANCH_LIST", nothing },
	{ "SIMPLEPERF_INIT_MAP", nothing },
};

static const struct kind *kind_of(u32 id)
{
	static const struct kind none = { NULL, NULL }, unwound_kind = { "RETICLE_UNWOUND", unwound };

	if (id < FEAT_MAX)
		return &kinds[id];
	if (id == FEAT_UNWOUND)
		return &unwound_kind;
	return id - FEAT_SIMPLEPERF < ARRAY_LEN(simpleperf_kinds) ? &simpleperf_kinds[id - FEAT_SIMPLEPERF] : &none;
}

const char *feature_name(u32 id)
{
	return kind_of(id)->name;
}

int feature_decode(struct features *f, enum feature id, struct cursor c, struct arena *arena)
{
	if (id >= sizeof(f->present) * 8)
		return ERR_FORMAT;
	if (kind_of(id)->decode)
		kind_of(id)->decode(f, &c, arena);
	if (c.bad)
		return ERR_TRUNCATED;
	f->present[id / 64] |= 1ull << id % 64;
	return 0;
}

void features_free(struct features *f)
{
	vec_free(&f->event_desc);
	vec_free(&f->build_ids);
	vec_free(&f->build_id_misc);
	vec_free(&f->numa);
	vec_free(&f->pmus);
	vec_free(&f->groups);
	vec_free(&f->caches);
	vec_free(&f->mem_nodes);
	vec_free(&f->caps);
	vec_free(&f->hybrid);
	vec_free(&f->auxtrace_index);
	vec_free(&f->files);
	vec_free(&f->meta);
	vec_free(&f->unwind_files);
	arena_free(&f->unwound_texts);
	vec_free(&f->unwound_cuts);
	*f = (struct features){ 0 };
}

u32 features_branch_depth(const struct features *f)
{
	u32 depth = 0;

	for (size_t i = 0; i < f->caps.n; i++)
		for (u32 k = 0; k < f->caps.v[i].nr; k++)
			if (!strcmp(f->caps.v[i].names[k], "branches"))
				depth = MAX(depth, (u32)MIN(strtoul(f->caps.v[i].values[k], NULL, 10), 1024ul));
	return depth;
}
