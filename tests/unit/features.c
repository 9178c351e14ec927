/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codec/features.h"

static const char *const words[] = { "perf", "record", "it's", "" };
static const char *const siblings[] = { "0-1", "2-3" };
static const struct feat_cpu cpus[] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 1 }, { 1, 1, 1 } };
static const char *const caps[] = { "branches", "max_precise" };
static const char *const caps_values[] = { "32", "3" };
static const u64 ids[] = { 11, 12, 13 };
static const u64 blocks[] = { 0xfffffffff0ffffff, 0xff };

/* Symbols of one file, in both of simpleperf's layouts. */
static const char plain_symbols[] = "\x10\x20\0\0\0\0\0\0"
				    "\x30\0\0\0main\0"
				    "\x40\x20\0\0\0\0\0\0"
				    "\x08\0\0\0last";
static const char symbol_messages[] = "\x22\x0a\x08\x90\x40\x10\x30\x1a\x03run"
				      "\x22\x09\x08\x01\x10\x02\x1a\x03"
				      "end";

static void fill_simpleperf(struct features *f)
{
	vec_push(&f->files, (struct feat_file){ .path = { "/system/lib/libc.so", 19 },
						.type = FILE_ELF,
						.has_offset = true,
						.start = 0x2000,
						.start_offset = 0x1000,
						.nr_symbols = 2,
						.symbols = cursor_over(plain_symbols, sizeof(plain_symbols), false) });
	vec_push(&f->files,
		 (struct feat_file){ .path = { "base.vdex", 9 },
				     .type = FILE_MODULE,
				     .has_offset = true,
				     .is_message = true,
				     .start_offset = 0x300,
				     .nr_symbols = 2,
				     .symbols = cursor_over(symbol_messages, sizeof(symbol_messages) - 1, false) });
	vec_push(&f->meta, (struct feat_meta){ { "clockid", 7 }, { "monotonic", 9 } });
	vec_push(&f->unwind_files, (struct feat_unwind_file){ { "/a.so", 5 }, 4096 });
}

static void fill_unwound(struct features *f)
{
	f->unwound_stacks = 1000;
	f->unwound_frames = 20000;
	f->unwound_by_fp = 30;
	f->unwound_bytes = 16384;
	vec_push(&f->unwound_cuts, (struct feat_stack_cut){ "/a.so", "no_information", 7 });
}

/* Every feature that we write, each field with a value of its own. */
static void fill(struct features *f)
{
	const struct attr a = { .type = 1, .size = 128, .sample_period = 4000, .sample_type = 7, .flags = ATTR_FREQ };

	*f = (struct features){
		.hostname = "host",
		.osrelease = "6.1.0",
		.version = "0.1",
		.arch = "x86_64",
		.cpudesc = "A CPU whose name is longer than the sixty-three bytes that one unit of padding holds",
		.cpuid = "AuthenticAMD,26,2,1",
		.nr_cpus_online = 3,
		.nr_cpus_avail = 4,
		.total_mem_kb = 0x123456789a,
		.cmdline = words,
		.nr_cmdline = ARRAY_LEN(words),
		.core_siblings = siblings,
		.nr_core_siblings = 2,
		.thread_siblings = siblings,
		.nr_thread_siblings = 2,
		.die_siblings = siblings,
		.nr_die_siblings = 2,
		.cpus = cpus,
		.nr_cpus = ARRAY_LEN(cpus),
		.first_sample_time = 1643973242000,
		.last_sample_time = 1644275491999,
		.mem_block_size = 0x8000000,
		.clockid_res_ns = 1,
		.clock_data_clockid = 1,
		.clock_data_wall_ns = 1795154884867138123,
		.clock_data_clockid_ns = 405068949598,
		.compressed_type = 1,
		.compressed_level = 3,
		.compressed_ratio = 9,
		.compressed_mmap_len = 528384,
		.tracing_data = (const u8 *)"\x17\x08\x44tracing",
		.tracing_data_size = 10,
	};
	vec_push(&f->event_desc, (struct feat_event_desc){ a, "cpu-clock:u", ids, 2 });
	vec_push(&f->event_desc, (struct feat_event_desc){ a, "faults", ids + 2, 1 });
	vec_push(&f->build_ids, (struct rec_build_id){ 7, { 1, 2, 3 }, 20, { "/bin/ls", 7 } });
	vec_push(&f->build_ids, (struct rec_build_id){ UINT32_MAX, { 9, 8, 7 }, 16, { "[kernel.kallsyms]", 17 } });
	vec_push(&f->build_id_misc, 2);
	vec_push(&f->build_id_misc, 1);
	vec_push(&f->numa, (struct feat_numa_node){ 1, 17131732, 15574356, "0-3" });
	vec_push(&f->pmus, (struct feat_pmu){ 1, "software" });
	vec_push(&f->pmus, (struct feat_pmu){ 9, "msr" });
	vec_push(&f->caps, (struct feat_caps){ "cpu_core", 2, caps, caps_values });
	vec_push(&f->caps, (struct feat_caps){ "cpu", 1, caps, caps_values });
	vec_push(&f->caps, (struct feat_caps){ "cpu_atom", 0, caps, caps_values });
	vec_push(&f->groups, (struct feat_group){ "{anon_group}", 0, 2 });
	vec_push(&f->caches, (struct feat_cache){ 1, 64, 128, 12, "Data", "48K", "0" });
	vec_push(&f->mem_nodes, (struct feat_mem_node){ 0, 72, blocks, 72, 2 });
	vec_push(&f->auxtrace_index, (struct feat_auxtrace_index){ 0x1234, 0x5678 });
	fill_unwound(f);
	fill_simpleperf(f);
}

/* All ids that the table may have a row for. */
static u32 next_id(u32 id)
{
	if (id + 1 == FEAT_MAX)
		return FEAT_SIMPLEPERF;
	return id + 1 == FEAT_SIMPLEPERF_MAX ? FEAT_UNWOUND : id + 1;
}

static bool is_present(const struct features *f, u32 id)
{
	return f->present[id / 64] >> id % 64 & 1;
}

/* The bytes as a heap block of exactly that size, so that a sanitizer sees a read behind them. */
static u8 *exact_copy(const void *p, size_t n)
{
	u8 *copy = malloc(n ? n : 1);

	if (n)
		memcpy(copy, p, n);
	return copy;
}

static void check_symbol(const struct feat_file *f, struct cursor *at, u64 start, u32 len, const char *name)
{
	struct feat_file_symbol s;

	assert_true(feat_file_symbol(f, at, &s));
	assert_int_equal(s.start, start);
	assert_int_equal(s.len, len);
	assert_int_equal(s.name.len, strlen(name));
	assert_memory_equal(s.name.p, name, s.name.len);
}

static void check_simpleperf(const struct features *f)
{
	const struct feat_file *plain = &f->files.v[0], *message = &f->files.v[1];
	struct cursor at = plain->symbols;
	struct feat_file_symbol none;

	assert_int_equal(f->files.n, 2);
	assert_int_equal(plain->start, 0x2000);
	assert_int_equal(plain->start_offset, 0x1000);
	assert_int_equal(plain->nr_symbols, 2);
	check_symbol(plain, &at, 0x2010, 0x30, "main");
	check_symbol(plain, &at, 0x2040, 8, "last");
	assert_false(feat_file_symbol(plain, &at, &none));
	at = message->symbols;
	assert_int_equal(message->type, FILE_MODULE);
	assert_int_equal(message->start_offset, 0x300);
	assert_int_equal(message->nr_symbols, 2);
	check_symbol(message, &at, 0x2010, 0x30, "run");
	check_symbol(message, &at, 1, 2, "end");
	assert_false(feat_file_symbol(message, &at, &none));
	assert_memory_equal(f->meta.v[0].value.p, "monotonic", 9);
	assert_int_equal(f->unwind_files.v[0].size, 4096);
}

static void what_is_written_reads_back(void **state)
{
	struct features in, out = { 0 };
	struct arena arena = { 0 };

	(void)state;
	fill(&in);
	for (u32 id = 0; id <= FEAT_UNWOUND; id = next_id(id)) {
		struct bytes once = { 0 }, twice = { 0 };
		const u8 *kept;

		if (feature_encode(&in, id, &once) == ERR_UNSUPPORTED)
			continue;
		if (id == FEAT_BUILD_ID) /* as perf writes it: each begins with a header without a type */
			assert_memory_equal(once.p, "\0\0\0\0", 4);
		kept = arena_copy(&arena, once.p, once.len); /* TRACING_DATA points into its input */
		assert_int_equal(feature_decode(&out, id, cursor_over(kept, once.len, false), &arena), 0);
		assert_true(is_present(&out, id));
		assert_int_equal(feature_encode(&out, id, &twice), 0);
		assert_int_equal(once.len, twice.len);
		if (once.len)
			assert_memory_equal(once.p, twice.p, once.len);
		bytes_free(&twice);
		bytes_free(&once);
	}
	assert_string_equal(out.cpudesc, in.cpudesc);
	assert_string_equal(out.cmdline[2], "it's");
	assert_int_equal(out.nr_cpus_avail, 4);
	assert_int_equal(out.unwound_bytes, 16384);
	assert_string_equal(out.unwound_cuts.v[0].why, "no_information");
	assert_string_equal(out.unwound_cuts.v[0].file, "/a.so");
	assert_int_equal(out.nr_cpus_online, 3);
	assert_string_equal(out.event_desc.v[1].name, "faults");
	assert_int_equal(out.event_desc.v[0].ids[1], 12);
	assert_int_equal(out.event_desc.v[0].attr.sample_period, 4000);
	assert_int_equal(out.build_ids.v[1].size, 16);
	assert_int_equal(out.build_ids.v[1].pid, UINT32_MAX);
	assert_string_equal(out.build_ids.v[0].filename.p, "/bin/ls");
	assert_int_equal(out.build_id_misc.v[1] & 7, 1);
	assert_int_equal(out.cpus[2].socket, 1);
	assert_int_equal(out.cpus[3].die, 1);
	assert_int_equal(out.numa.v[0].mem_free, 15574356);
	assert_int_equal(out.caches.v[0].ways, 12);
	assert_int_equal(out.mem_nodes.v[0].bitmap[1], 0xff);
	assert_int_equal(out.clock_data_wall_ns, 1795154884867138123);
	check_simpleperf(&out);
	features_free(&in);
	features_free(&out);
	arena_free(&arena);
}

/* How much of a section is whole in itself: the rest of it may be missing. */
static bool may_end_at(u32 id, size_t n, const struct bytes *whole)
{
	const size_t entry = 8 + 4 + 24 + 64, text = 4 + 64;

	if (id == FEAT_UNWOUND)
		return false;
	if (id == FEAT_TRACING_DATA)
		return true;
	if (id == FEAT_BUILD_ID)
		return n % entry == 0;
	/* Without a count, as simpleperf writes it. */
	if (id == FEAT_AUXTRACE)
		return n % 16 == 0;
	if (id >= FEAT_SIMPLEPERF)
		return n == 0;
	/* Without NRCPUS the ids of the CPUs are not looked for. */
	if (id == FEAT_CPU_TOPOLOGY)
		return n >= 4 + 2 * text + 4 + 2 * text;
	return n == whole->len;
}

static void a_cut_section_is_absent(void **state)
{
	struct features in;

	(void)state;
	fill(&in);
	for (u32 id = 0; id <= FEAT_UNWOUND; id = next_id(id)) {
		struct bytes whole = { 0 };

		if (feature_encode(&in, id, &whole))
			continue;
		for (size_t n = 0; n < whole.len; n++) {
			struct features f = { 0 };
			struct arena arena = { 0 };
			u8 *cut = exact_copy(whole.p, n);
			int err = feature_decode(&f, id, cursor_over(cut, n, false), &arena);

			assert_int_equal(err, may_end_at(id, n, &whole) ? 0 : ERR_TRUNCATED);
			assert_int_equal(is_present(&f, id), !err);
			if (err) {
				struct bytes text = { 0 };

				features_print_all(&f, &text);
				assert_int_equal(text.len, 0);
				bytes_free(&text);
				for (size_t i = 0; i < sizeof(f.present) / 8; i++)
					assert_int_equal(f.present[i], 0);
			}
			features_free(&f);
			arena_free(&arena);
			free(cut);
		}
		bytes_free(&whole);
	}
	features_free(&in);
}

/* Each 32-bit word in turn becomes huge: counts and lengths among them. Nothing may be read or allocated that is not
 * there; what comes out must be printable. */
static void a_huge_count_is_no_allocation(void **state)
{
	struct features in;

	(void)state;
	fill(&in);
	for (u32 id = 0; id <= FEAT_UNWOUND; id = next_id(id)) {
		struct bytes whole = { 0 };

		if (feature_encode(&in, id, &whole))
			continue;
		for (size_t at = 0; at + 4 <= whole.len; at += 4) {
			struct features f = { .nr_cpus_avail = UINT32_MAX };
			struct arena arena = { 0 };
			struct bytes text = { 0 };
			u8 *bad = exact_copy(whole.p, whole.len);

			memset(bad + at, 0xff, 4);
			(void)feature_decode(&f, id, cursor_over(bad, whole.len, false), &arena);
			assert_true(arena.bytes <= (2 * whole.len + (64 << 10)));
			features_print_all(&f, &text);
			bytes_free(&text);
			features_free(&f);
			arena_free(&arena);
			free(bad);
		}
		bytes_free(&whole);
	}
	features_free(&in);
}

static void put_text(struct bytes *b, const char *s)
{
	bytes_u32(b, (u32)strlen(s) + 1);
	bytes_put(b, s, strlen(s) + 1);
}

static void expect_print(const struct features *f, const char *want)
{
	struct bytes text = { 0 };

	features_print_all(f, &text);
	bytes_u8(&text, 0);
	assert_string_equal((char *)text.p, want);
	bytes_free(&text);
}

/* In the unit of which there are at least two. */
static void sizes_of_memory(void **state)
{
	static const struct {
		u64 block;
		const char *size;
	} rows[] = {
		{ 1, "1B" },	      { 2047, "2047B" },  { 2048, "2K" },	   { 3 << 20, "3M" },
		{ 1 << 20, "1024K" }, { 2u << 30, "2G" }, { 1ull << 40, "1024G" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct features f = { .mem_block_size = rows[i].block };
		const u64 one[] = { 1 };
		char want[200];

		vec_push(&f.mem_nodes, (struct feat_mem_node){ 0, 1, one, 1, 1 });
		f.present[FEAT_MEM_TOPOLOGY / 64] |= 1ull << FEAT_MEM_TOPOLOGY % 64;
		snprintf(want, sizeof(want), "# memory nodes (nr 1, block size %#llx):\n#    0 [%s]: 0\n",
			 (unsigned long long)rows[i].block, rows[i].size);
		expect_print(&f, want);
		vec_free(&f.mem_nodes);
	}
}

/* What perf writes and we do not, from its bytes. */
static void what_only_perf_writes(void **state)
{
	struct features f = { 0 };
	struct arena arena = { 0 };
	struct bytes b = { 0 };

	(void)state;
	bytes_u32(&b, 2); /* two PMUs, the second without capabilities */
	bytes_u32(&b, 2);
	put_text(&b, "branches");
	put_text(&b, "32");
	put_text(&b, "max_precise");
	put_text(&b, "3");
	put_text(&b, "cpu_core");
	bytes_u32(&b, 0);
	put_text(&b, "cpu_atom");
	assert_int_equal(feature_decode(&f, FEAT_PMU_CAPS, cursor_over(b.p, b.len, false), &arena), 0);
	b.len = 0;
	bytes_u32(&b, 1);
	put_text(&b, "cpu_core");
	put_text(&b, "0-3");
	assert_int_equal(feature_decode(&f, FEAT_HYBRID_TOPOLOGY, cursor_over(b.p, b.len, false), &arena), 0);
	b.len = 0;
	bytes_u64(&b, 1);
	assert_int_equal(feature_decode(&f, FEAT_DIR_FORMAT, cursor_over(b.p, b.len, false), &arena), 0);
	b.len = 0;
	bytes_u32(&b, 2);
	for (u32 i = 0; i < 2; i++) {
		bytes_u32(&b, 8);
		bytes_u32(&b, 16);
		bytes_zero(&b, 8 + 8 + 16);
	}
	assert_int_equal(feature_decode(&f, FEAT_BPF_PROG_INFO, cursor_over(b.p, b.len, false), &arena), 0);
	assert_int_equal(feature_decode(&f, FEAT_BPF_PROG_INFO, cursor_over(b.p, b.len - 1, false), &arena),
			 ERR_TRUNCATED);
	assert_int_equal(f.nr_bpf_progs, 0);
	assert_int_equal(feature_decode(&f, FEAT_STAT, cursor_over(b.p, 0, false), &arena), 0);
	assert_int_equal(feature_decode(&f, 200, cursor_over(b.p, 4, false), &arena), 0);
	assert_int_equal(f.present[3], 1ull << (200 - 192));
	assert_int_equal(feature_decode(&f, 256, cursor_over(b.p, 4, false), &arena), ERR_FORMAT);
	expect_print(&f, "# contains stat data\n"
			 "# directory data version : 1\n"
			 "# hybrid cpu system:\n"
			 "# cpu_core cpu list : 0-3\n"
			 "# cpu_core pmu capabilities: branches=32, max_precise=3\n"
			 "# cpu_atom pmu capabilities: not available\n");
	bytes_free(&b);
	features_free(&f);
	arena_free(&arena);
}

/* In the order and words of perf 6.1, from the same values. */
static void prints_as_perf(void **state)
{
	struct features f;

	(void)state;
	fill(&f);
	f.present[0] = 1ull << FEAT_HOSTNAME | 1ull << FEAT_NRCPUS | 1ull << FEAT_TOTAL_MEM | 1ull << FEAT_CMDLINE |
		       1ull << FEAT_EVENT_DESC | 1ull << FEAT_CPU_TOPOLOGY | 1ull << FEAT_NUMA_TOPOLOGY |
		       1ull << FEAT_PMU_MAPPINGS | 1ull << FEAT_GROUP_DESC | 1ull << FEAT_CACHE |
		       1ull << FEAT_SAMPLE_TIME | 1ull << FEAT_MEM_TOPOLOGY | 1ull << FEAT_CLOCKID |
		       1ull << FEAT_COMPRESSED;
	expect_print(&f,
		     "# hostname : host\n"
		     "# nrcpus online : 3\n"
		     "# nrcpus avail : 4\n"
		     "# total memory : 78187493530 kB\n"
		     "# cmdline : perf record it\\'s  \n"
		     "# event : name = cpu-clock:u, , id = { 11, 12 }, type = 1, size = 128, { sample_period, "
		     "sample_freq } = 4000, sample_type = IP|TID|TIME, freq = 1\n"
		     "# event : name = faults, , id = { 13 }, type = 1, size = 128, { sample_period, sample_freq } = "
		     "4000, sample_type = IP|TID|TIME, freq = 1\n"
		     "# sibling sockets : 0-1\n"
		     "# sibling sockets : 2-3\n"
		     "# sibling dies    : 0-1\n"
		     "# sibling dies    : 2-3\n"
		     "# sibling threads : 0-1\n"
		     "# sibling threads : 2-3\n"
		     "# CPU 0: Core ID 0, Die ID 0, Socket ID 0\n"
		     "# CPU 1: Core ID 1, Die ID 0, Socket ID 0\n"
		     "# CPU 2: Core ID 0, Die ID 1, Socket ID 1\n"
		     "# CPU 3: Core ID 1, Die ID 1, Socket ID 1\n"
		     "# node1 meminfo  : total = 17131732 kB, free = 15574356 kB\n"
		     "# node1 cpu list : 0-3\n"
		     "# pmu mappings: software = 1, msr = 9\n"
		     "# group: {cpu-clock:u,faults}\n"
		     "# CPU cache info:\n"
		     "#  L1 Data                 48K [0]\n"
		     "# time of first sample : 1643.973242\n"
		     "# time of last sample : 1644.275491\n"
		     "# sample duration :    302.250 ms\n"
		     "# memory nodes (nr 1, block size 0x8000000):\n"
		     "#    0 [8G]: 0-23,28-71\n"
		     "# clockid frequency: 1000 MHz\n"
		     "# compressed : Zstd, level = 3, ratio = 9\n");
	features_free(&f);
}

/* What a round tells, again and again: the newest counts. Another body, and a damaged one, tell nothing. */
static void rounds(void **state)
{
	struct features in = { 0 }, out = { 0 };
	struct bytes b = { 0 };

	(void)state;
	fill_unwound(&in);
	for (u32 i = 0; i < 3; i++) {
		in.unwound_stacks = 1000 + i;
		b.len = 0;
		round_body_encode(&in, &b);
		assert_int_equal(b.len % 8, 0);
		assert_true(round_body_is(cursor_over(b.p, b.len, false)));
		assert_true(round_body_decode(&out, cursor_over(b.p, b.len, false)));
		assert_true(out.unwound_so_far && out.present[FEAT_UNWOUND / 64] >> FEAT_UNWOUND % 64 & 1);
		assert_int_equal(out.unwound_stacks, 1000 + i);
		assert_int_equal(out.unwound_cuts.n, 1);
		assert_string_equal(out.unwound_cuts.v[0].why, "no_information");
	}
	features_free(&out);
	memset(&out, 0, sizeof(out));
	assert_false(round_body_decode(&out, cursor_over(b.p, 20, false)));
	b.p[0] ^= 1;
	assert_false(round_body_is(cursor_over(b.p, b.len, false)));
	assert_false(round_body_decode(&out, cursor_over(b.p, b.len, false)));
	assert_false(round_body_is(cursor_over(b.p, 0, false)));
	assert_int_equal(out.unwound_stacks + out.present[FEAT_UNWOUND / 64], 0);
	features_free(&out);
	features_free(&in);
	bytes_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_reads_back),
		cmocka_unit_test(a_cut_section_is_absent),
		cmocka_unit_test(a_huge_count_is_no_allocation),
		cmocka_unit_test(what_only_perf_writes),
		cmocka_unit_test(sizes_of_memory),
		cmocka_unit_test(prints_as_perf),
		cmocka_unit_test(rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
