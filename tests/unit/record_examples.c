/* SPDX-License-Identifier: Apache-2.0 */
#include "record_examples.h"

#define STR(s)                                                                                                        \
	{                                                                                                             \
		s, sizeof(s) - 1                                                                                      \
	}
#define U64S(a)                                                                                                       \
	{                                                                                                             \
		(const u8 *)(a), ARRAY_LEN(a), false                                                                  \
	}
#define OVER(a)                                                                                                       \
	{                                                                                                             \
		(const u8 *)(a), (const u8 *)(a) + sizeof(a), false, false                                            \
	}
#define OVER_ONE(a)                                                                                                   \
	{                                                                                                             \
		(const u8 *)&(a), (const u8 *)(&(a) + 1), false, false                                                \
	}
#define KIND(T) .h = { .type = PERF_RECORD_##T }
#define KIND_MISC(T, m) .h = { .type = PERF_RECORD_##T, .misc = (m) }

static const u64 words[] = { 0x101, 0x202, 0x303, 0x404 };
static const u64 chain[] = { PERF_CONTEXT_USER, 0x401000, 0x402000 };
static const u64 ids[] = { 11, 12, 13 };
static const u64 index_old[] = { 21, 1, 2, 3, 22, 4, 5, 6 };
static const u64 index_new[] = { 21, 1, 2, 3, 22, 4, 5, 6, 0, 0, 7, 8 };
static const u64 config_terms[] = { 0, 3, 2, 1 };
static const u8 poke[] = { 0x90, 0x90, 0xcc, 0xe8, 0x01 };
static const u8 zstd[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x01 };
static const u8 name_data[] = "cycles:u";
static const u8 unit_data[] = "ns";
static const double scale_data = 0.25;
static const u64 cpus_data[] = { 0x1122334455667788 };
static const u8 cpu_list[] = { 1, 0, 2, 0, 3, 0 };
static const struct {
	u64 pid;
	char name[16];
} threads[] = { { 100, "one" }, { 101, "fifteen-letters" } };
static const struct {
	char key[64], value[256];
} metadata[] = { { "key", "value" }, { "k2", "v2" } };

const struct record_example record_examples[] = {
	{ { KIND(MMAP), .mmap = { .pid = 1,
				  .tid = 2,
				  .start = 0x1000,
				  .len = 0x2000,
				  .pgoff = 0x3000,
				  .filename = STR("/bin/app") } },
	  "pid 1 tid 2 start 0x1000 len 0x2000 pgoff 0x3000 r-xp /bin/app" },
	{ { KIND_MISC(MMAP, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA),
	    .mmap = { .pid = 1,
		      .tid = 2,
		      .start = 0x1000,
		      .len = 0x2000,
		      .pgoff = 0x3000,
		      .filename = STR("//anon") } },
	  "pid 1 tid 2 start 0x1000 len 0x2000 pgoff 0x3000 r--p //anon" },
	{ { KIND(MMAP2), .mmap = { .pid = 1,
				   .tid = 2,
				   .start = 0x7f0000001000,
				   .len = 0x2000,
				   .pgoff = 0x3000,
				   .maj = 8,
				   .min = 0x11,
				   .ino = 1234,
				   .ino_generation = 5,
				   .prot = 3,
				   .flags = 1,
				   .filename = STR("/a \x1b[31m b") } },
	  "pid 1 tid 2 start 0x7f0000001000 len 0x2000 pgoff 0x3000 dev 08:11 ino 1234 gen 5 rw-s /a ?[31m b" },
	{ { KIND(MMAP2), .mmap = { .pid = 1,
				   .tid = 2,
				   .start = 0x1000,
				   .len = 0x2000,
				   .pgoff = 0x3000,
				   .prot = 5,
				   .flags = 2,
				   .build_id = { 0xde, 0xad, 0xbe, 0xef, 1 },
				   .build_id_size = 5,
				   .filename = STR("/lib/x") } },
	  "pid 1 tid 2 start 0x1000 len 0x2000 pgoff 0x3000 build-id deadbeef01 r-xp /lib/x" },
	{ { KIND(LOST), .lost = { 7, 99 } }, "id 7 lost 99" },
	{ { KIND(COMM), .comm = { 1, 2, STR("app"), false } }, "pid 1 tid 2 app" },
	{ { KIND(COMM), .comm = { 1, 2, STR("exec'd app"), true } }, "pid 1 tid 2 exec exec'd app" },
	{ { KIND(EXIT), .task = { 1, 2, 3, 4, 5 } }, "pid 1 tid 3 ppid 2 ptid 4 time 5" },
	{ { KIND(THROTTLE), .throttle = { 5, 6, 7 } }, "time 5 id 6 stream 7" },
	{ { KIND(UNTHROTTLE), .throttle = { 8, 9, 10 } }, "time 8 id 9 stream 10" },
	{ { KIND(FORK), .task = { 1, 2, 3, 4, 5 } }, "pid 1 tid 3 ppid 2 ptid 4 time 5" },
	{ { KIND(READ), .read = { 1, 2, OVER(words) } }, "pid 1 tid 2 values 257 514 771 1028" },
	{ { KIND(AUX), .aux = { 0x10, 0x20, 3 } }, "offset 0x10 size 0x20 flags 0x3" },
	{ { KIND(ITRACE_START), .itrace_start = { 1, 2 } }, "pid 1 tid 2" },
	{ { KIND(LOST_SAMPLES), .lost = { 0, 99 } }, "lost 99" },
	{ { KIND(SWITCH) }, "in" },
	{ { KIND_MISC(SWITCH, PERF_RECORD_MISC_SWITCH_OUT) }, "out" },
	{ { KIND_MISC(SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT),
	    .sw = { 1, 2 } },
	  "out preempted next pid 1 tid 2" },
	{ { KIND(SWITCH_CPU_WIDE), .sw = { 1, 2 } }, "in prev pid 1 tid 2" },
	{ { KIND(NAMESPACES), .namespaces = { 1, 2, U64S(words) } }, "pid 1 tid 2 net 0x101:0x202 uts 0x303:0x404" },
	{ { KIND(KSYMBOL), .ksymbol = { 0xffffffffc0001000, 0x20, 1, 2, STR("bpf_prog_1") } },
	  "addr 0xffffffffc0001000 len 0x20 type 1 flags 0x2 bpf_prog_1" },
	{ { KIND(BPF_EVENT), .bpf_event = { 1, 2, 3, { 1, 2, 3, 4, 5, 6, 7, 8 } } },
	  "type 1 flags 0x2 id 3 tag 0102030405060708" },
	{ { KIND(CGROUP), .cgroup = { 5, STR("/system.slice") } }, "id 5 /system.slice" },
	{ { KIND(TEXT_POKE), .text_poke = { 0xffffffff81000000, 2, 3, poke } },
	  "addr 0xffffffff81000000 old 9090 new cce801" },
	{ { KIND(AUX_OUTPUT_HW_ID), .aux_output_hw_id = { 0x123 } }, "hw-id 0x123" },
	{ { KIND(CALLCHAIN_DEFERRED), .callchain_deferred = { 0x77, U64S(chain) } },
	  "cookie 0x77 chain 0xfffffffffffffe00 0x401000 0x402000" },
	{ { KIND(TLS_USER), .tls_user = { 0x78, OVER(name_data), 6 } }, "cookie 0x78 tls 6379636c6573" },
	{ { KIND(TLS_USER), .tls_user = { .cookie = 0x79 } }, "cookie 0x79 tls " },

	{ { KIND(HEADER_ATTR),
	    .header_attr = { { .type = 1,
			       .size = 64,
			       .config = 2,
			       .sample_period = 3,
			       .sample_type = 4,
			       .read_format = 5,
			       .flags = ATTR_DISABLED | ATTR_SAMPLE_ID_ALL | 1ull << ATTR_PRECISE_IP_SHIFT },
			     U64S(ids) } },
	  "type 1 config 0x2 period 3 sample 0x4 read 0x5 flags 0x48001 ids 11 12 13" },
	{ { KIND(HEADER_EVENT_TYPE), .event_type = { 9, STR("cycles") } }, "config 0x9 cycles" },
	{ { KIND(HEADER_TRACING_DATA), .tracing_data = { 4096 } }, "size 4096" },
	{ { KIND(HEADER_BUILD_ID), .build_id = { UINT32_MAX, { 0xab, 0xcd }, 2, STR("[kernel.kallsyms]") } },
	  "pid -1 build-id abcd [kernel.kallsyms]" },
	{ { KIND(FINISHED_ROUND) }, "" },
	{ { KIND(ID_INDEX), .id_index = { U64S(index_old), false, 2 } },
	  "nr 2 {id 21 idx 1 cpu 2 tid 3} {id 22 idx 4 cpu 5 tid 6}" },
	{ { KIND(ID_INDEX), .id_index = { U64S(index_new), true, 2 } },
	  "nr 2 {id 21 idx 1 cpu 2 tid 3} {id 22 idx 4 cpu 5 tid 6}" },
	{ { KIND(AUXTRACE_INFO), .auxtrace_info = { 4, U64S(words) } }, "type 4 priv 0x101 0x202 0x303 0x404" },
	{ { KIND(AUXTRACE), .auxtrace = { 0x10, 0x20, 0x30, 4, 5, 6 } },
	  "size 0x10 offset 0x20 ref 0x30 idx 4 tid 5 cpu 6" },
	{ { KIND(AUXTRACE_ERROR), .auxtrace_error = { 1, 2, 3, 4, 5, 1, 0x400000, 8, STR("overflow") } },
	  "type 1 code 2 cpu 3 pid 4 tid 5 ip 0x400000 time 8 overflow" },
	{ { KIND(AUXTRACE_ERROR), .auxtrace_error = { 1, 2, 3, 4, 5, 0, 0x400000, 0, STR("overflow") } },
	  "type 1 code 2 cpu 3 pid 4 tid 5 ip 0x400000 time 0 overflow" },
	{ { KIND(THREAD_MAP), .thread_map = { 2, OVER(threads) } }, "nr 2 {100 one} {101 fifteen-letters}" },
	{ { KIND(CPU_MAP), .cpu_map = { 0, OVER(cpu_list) } }, "cpus 010002000300" },
	{ { KIND(STAT_CONFIG), .stat_config = { 2, U64S(config_terms) } }, "nr 2 aggr-mode 3 scale 1" },
	{ { KIND(STAT), .stat = { 1, 2, 3, 4, 5, 6 } }, "id 1 cpu 2 thread 3 value 4 enabled 5 running 6" },
	{ { KIND(STAT_ROUND), .stat_round = { 1, 5 } }, "final time 5" },
	{ { KIND(EVENT_UPDATE), .event_update = { 2, 11, OVER(name_data) } }, "id 11 name cycles:u" },
	{ { KIND(EVENT_UPDATE), .event_update = { 0, 11, OVER(unit_data) } }, "id 11 unit ns" },
	{ { KIND(EVENT_UPDATE), .event_update = { 1, 11, OVER_ONE(scale_data) } }, "id 11 scale 0.25" },
	{ { KIND(EVENT_UPDATE), .event_update = { 3, 11, OVER(cpus_data) } }, "id 11 cpus 8877665544332211" },
	{ { KIND(TIME_CONV), .time_conv = { 1, 2, 3, 4, 0xff, true, true } },
	  "shift 1 mult 2 zero 3 cycles 4 mask 0xff cap-zero cap-short" },
	{ { KIND(HEADER_FEATURE), .feature = { 3, OVER(words) } }, "feature 3 size 32" },
	{ { KIND(COMPRESSED), .compressed = { zstd, 5 } }, "size 5" },
	{ { KIND(FINISHED_INIT) }, "" },
	{ { KIND(COMPRESSED2), .compressed = { zstd, 5 } }, "size 5" },
	{ { KIND(BPF_METADATA), .bpf_metadata = { STR("bpf_prog_9"), 2, OVER(metadata) } },
	  "prog bpf_prog_9 key=value k2=v2" },
	{ { KIND(SIMPLEPERF_KERNEL_SYMBOL), .opaque = OVER(zstd) }, "size 5" },
	{ { KIND(SIMPLEPERF_DSO), .opaque = OVER(zstd) }, "size 5" },
	{ { KIND(SIMPLEPERF_SYMBOL), .opaque = OVER(zstd) }, "size 5" },
	{ { KIND(SIMPLEPERF_SPLIT), .opaque = OVER(zstd) }, "size 5" },
	{ { KIND(SIMPLEPERF_SPLIT_END) }, "size 0" },
	{ { KIND(SIMPLEPERF_EVENT_ID), .opaque = OVER(zstd) }, "size 5" },
	{ { KIND(SIMPLEPERF_CALLCHAIN), .opaque = OVER(zstd) }, "size 5" },
	{ { KIND(SIMPLEPERF_UNWINDING_RESULT), .opaque = OVER(zstd) }, "size 5" },
	{ { KIND(SIMPLEPERF_TRACING_DATA), .opaque = OVER(zstd) }, "size 5" },
	{ { KIND(SIMPLEPERF_DEBUG), .opaque = OVER(zstd) }, "size 5" },
};
const u32 nr_record_examples = ARRAY_LEN(record_examples);
