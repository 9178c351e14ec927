/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header features of a perf.data file (HEADER_* of tools/perf/util/header.h): the machine and the command of a
 * recording. In file mode they are in sections after the data, and in pipe mode in HEADER_FEATURE records, with the
 * same bytes.
 */
#ifndef CODEC_FEATURES_H
#define CODEC_FEATURES_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/vec.h"
#include "codec/record.h"

enum feature {
	FEAT_TRACING_DATA = 1,
	FEAT_BUILD_ID,
	FEAT_HOSTNAME,
	FEAT_OSRELEASE,
	FEAT_VERSION,
	FEAT_ARCH,
	FEAT_NRCPUS,
	FEAT_CPUDESC,
	FEAT_CPUID,
	FEAT_TOTAL_MEM,
	FEAT_CMDLINE,
	FEAT_EVENT_DESC,
	FEAT_CPU_TOPOLOGY,
	FEAT_NUMA_TOPOLOGY,
	FEAT_BRANCH_STACK,
	FEAT_PMU_MAPPINGS,
	FEAT_GROUP_DESC,
	FEAT_AUXTRACE,
	FEAT_STAT,
	FEAT_CACHE,
	FEAT_SAMPLE_TIME,
	FEAT_MEM_TOPOLOGY,
	FEAT_CLOCKID,
	FEAT_DIR_FORMAT,
	FEAT_BPF_PROG_INFO,
	FEAT_BPF_BTF,
	FEAT_COMPRESSED,
	FEAT_CPU_PMU_CAPS,
	FEAT_CLOCK_DATA,
	FEAT_HYBRID_TOPOLOGY,
	FEAT_PMU_CAPS,
	FEAT_CPU_DOMAIN_INFO,
	FEAT_MAX,
	FEAT_SIMPLEPERF = 128, /* those of Android's simpleperf */
	FEAT_SIMPLEPERF_FILE = FEAT_SIMPLEPERF,
	FEAT_SIMPLEPERF_META_INFO,
	FEAT_SIMPLEPERF_DEBUG_UNWIND,
	FEAT_SIMPLEPERF_DEBUG_UNWIND_FILE,
	FEAT_SIMPLEPERF_FILE2,
	FEAT_SIMPLEPERF_ETM_BRANCH_LIST,
	FEAT_SIMPLEPERF_INIT_MAP,
	FEAT_SIMPLEPERF_MAX,
	FEAT_UNWOUND = 192 /* reticle's own: what became of the stacks that the recorder unwound */
};

/* All text is NUL-terminated and lives in the arena that features_decode was given. Absent: NULL, 0 or n == 0. */
struct feat_event_desc {
	struct attr attr;
	const char *name;
	const u64 *ids;
	u32 nr_ids;
};
struct feat_numa_node {
	u32 node;
	u64 mem_total, mem_free;
	const char *cpus;
};
struct feat_pmu {
	u32 type;
	const char *name;
};
struct feat_group {
	const char *name;
	u32 leader, members;
}; /* leader: event index */
struct feat_cache {
	u32 level, line_size, sets, ways;
	const char *type, *size, *map;
};
struct feat_caps {
	const char *pmu;
	u32 nr;
	const char *const *names, *const *values;
};
struct feat_cpu {
	u32 core, socket, die;
};
struct feat_mem_node {
	u64 node, size;
	const u64 *bitmap; /* which memory blocks the node has */
	u64 nr_bits, nr_words;
};
struct feat_hybrid {
	const char *pmu, *cpus;
};
struct feat_auxtrace_index {
	u64 file_offset, size;
};

/*
 * simpleperf: the symbols of one file that samples fell into, by the addresses to which the file was linked, and the
 * place of these addresses in the file. Strings point into the input and have a length instead of a NUL.
 */
enum feat_file_type { FILE_KERNEL, FILE_MODULE, FILE_ELF, FILE_DEX, FILE_SYMBOL_MAP, FILE_UNKNOWN };
struct feat_file {
	struct str path;
	u32 type;
	bool is_message;  /* it comes from FILE2, which has protobuf messages; else from FILE */
	bool has_offset;  /* the oldest files do not have the next fields */
	u64 start;	  /* ELF: the address of its first executable segment. MODULE: where it was loaded */
	u64 start_offset; /* the place of that address in the file (ELF), or its distance from the beginning of its map
			     (MODULE) */
	u32 nr_symbols;
	struct cursor symbols;
};
struct feat_file_symbol {
	u64 start;
	u32 len;
	struct str name;
};
struct feat_meta {
	struct str key, value;
};
/* Stacks that end in a file, for a reason that is named as in attrib/stack_ends.h. */
struct feat_stack_cut {
	const char *file, *why;
	u64 stacks;
};
struct feat_unwind_file {
	struct str path;
	u64 size; /* of its copy in DEBUG_UNWIND_FILE, where the copies follow one another */
};

struct features {
	u64 present[4]; /* bitmap of the file header */
	const char *hostname, *osrelease, *version, *arch, *cpudesc, *cpuid;
	u32 nr_cpus_online, nr_cpus_avail;
	u64 total_mem_kb;
	const char *const *cmdline;
	u32 nr_cmdline;
	VEC(struct feat_event_desc) event_desc;
	VEC(struct rec_build_id) build_ids; /* filename points into the arena; with header misc in misc_of */
	VEC(u16) build_id_misc;		    /* parallel to build_ids */
	const char *const *core_siblings, *const *thread_siblings, *const *die_siblings;
	u32 nr_core_siblings, nr_thread_siblings, nr_die_siblings;
	const struct feat_cpu *cpus; /* CPU_TOPOLOGY: nr_cpus of them, or none in old files */
	u32 nr_cpus;
	VEC(struct feat_numa_node) numa;
	VEC(struct feat_pmu) pmus;
	VEC(struct feat_group) groups;
	VEC(struct feat_cache) caches;
	u64 first_sample_time, last_sample_time;
	u64 mem_block_size;
	VEC(struct feat_mem_node) mem_nodes;
	u64 clockid_res_ns;
	u32 clock_data_clockid;
	u64 clock_data_wall_ns, clock_data_clockid_ns;
	u64 dir_version;
	u32 compressed_type, compressed_level, compressed_ratio, compressed_mmap_len;
	VEC(struct feat_caps) caps; /* CPU_PMU_CAPS as pmu "cpu", and PMU_CAPS */
	VEC(struct feat_hybrid) hybrid;
	VEC(struct feat_auxtrace_index) auxtrace_index;
	u32 nr_bpf_progs, nr_btfs;
	const u8 *tracing_data;
	u64 tracing_data_size; /* points into the input */
	VEC(struct feat_file) files;
	VEC(struct feat_meta) meta;
	VEC(struct feat_unwind_file) unwind_files;
	u64 unwound_stacks, unwound_frames, unwound_by_fp;
	u32 unwound_bytes;	    /* that were copied of each, at most */
	struct arena unwound_texts; /* of a round; each replaces the one before */
	bool unwound_so_far;	    /* a round has told it (round_body_decode), and a later one knows more */
	VEC(struct feat_stack_cut) unwound_cuts;
};

/*
 * Decodes one feature's section into f. Unknown ids are accepted, and only marked in present[]. If a section is
 * malformed, the feature stays absent: ERR_TRUNCATED or ERR_FORMAT, and the caller continues with the next section.
 */
int feature_decode(struct features *f, enum feature id, struct cursor c, struct arena *arena);

/* Appends the section's bytes, this machine's order. ERR_UNSUPPORTED for a feature that we never write. */
int feature_encode(const struct features *f, enum feature id, struct bytes *out);

/*
 * FEAT_UNWOUND so far, as the body of a FINISHED_ROUND record, which other readers skip: for pipes, and for files that
 * the recorder did not finish. Appended, a multiple of 8 bytes.
 */
void round_body_encode(const struct features *f, struct bytes *out);
/* Is it one of these? c: over a round's body. */
bool round_body_is(struct cursor c);
/* False: it is none, or damaged: f has no FEAT_UNWOUND then. */
bool round_body_decode(struct features *f, struct cursor c);

const char *feature_name(u32 id); /* "HOSTNAME", ...; NULL when unknown */
/* As perf report --header-only shows them, "# hostname : ..."; the second one as with its -I, topologies in full. */
void features_print(const struct features *f, struct bytes *out);
void features_print_all(const struct features *f, struct bytes *out);
/* "# missing features: ..." of a file header's bitmap: those that perf 6.1 knows. */
void features_print_missing(const u64 present[4], struct bytes *out);
void features_free(struct features *f);

/* Symbol by symbol; *at begins as f->symbols. False at the end. */
bool feat_file_symbol(const struct feat_file *f, struct cursor *at, struct feat_file_symbol *out);

/* How many branch records the recorded CPU has ("branches" of its capabilities, of several PMUs the most); 0: not
 * known. */
u32 features_branch_depth(const struct features *f);

#endif
