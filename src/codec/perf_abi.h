/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The perf ABI as far as perf.data carries it: <linux/perf_event.h> plus what newer kernels and the perf tool add.
 * Sources: include/uapi/linux/perf_event.h, tools/lib/perf/include/perf/event.h,
 * tools/perf/Documentation/perf.data-file-format.txt.
 */
#ifndef CODEC_PERF_ABI_H
#define CODEC_PERF_ABI_H

#include <linux/perf_event.h>

#include "base/types.h"

/* Newer than the headers of Debian 12. A macro of the name of an enumerator is harmless where the enumerator exists.
 */
#define PERF_RECORD_CALLCHAIN_DEFERRED 22
#define PERF_RECORD_TLS_USER 23			 /* kernel/: what samples could not read at once */
#define PERF_RECORD_MISC_BUILD_ID_SIZE (1 << 15) /* perf tool: the byte behind a build id is its length */
#define PERF_READ_LOST (1ull << 4)		 /* PERF_FORMAT_LOST */
#define PERF_SAMPLE_TLS_USER (1ull << 25)	 /* kernel/: bytes of the thread's own memory */
#define PERF_SAMPLE_TLS_DEREF (1u << 0)		 /* in sample_tls_flags: those that a pointer there leads to */
#define PERF_SAMPLE_TLS_DEFER (1u << 1) /* likewise: samples have a cookie, which a TLS_USER record has, too */
#define PERF_CONTEXT_USER_DEFERRED ((u64)-640)

/* Records that the perf tool writes itself. */
enum {
	PERF_RECORD_USER_TYPE_START = 64,
	PERF_RECORD_HEADER_ATTR = 64,
	PERF_RECORD_HEADER_EVENT_TYPE = 65,
	PERF_RECORD_HEADER_TRACING_DATA = 66,
	PERF_RECORD_HEADER_BUILD_ID = 67,
	PERF_RECORD_FINISHED_ROUND = 68,
	PERF_RECORD_ID_INDEX = 69,
	PERF_RECORD_AUXTRACE_INFO = 70,
	PERF_RECORD_AUXTRACE = 71,
	PERF_RECORD_AUXTRACE_ERROR = 72,
	PERF_RECORD_THREAD_MAP = 73,
	PERF_RECORD_CPU_MAP = 74,
	PERF_RECORD_STAT_CONFIG = 75,
	PERF_RECORD_STAT = 76,
	PERF_RECORD_STAT_ROUND = 77,
	PERF_RECORD_EVENT_UPDATE = 78,
	PERF_RECORD_TIME_CONV = 79,
	PERF_RECORD_HEADER_FEATURE = 80,
	PERF_RECORD_COMPRESSED = 81,
	PERF_RECORD_FINISHED_INIT = 82,
	PERF_RECORD_COMPRESSED2 = 83,
	PERF_RECORD_BPF_METADATA = 84,
	/* simpleperf's, whose header has the upper half of the size where others have misc. */
	PERF_RECORD_SIMPLEPERF_START = 32768,
	PERF_RECORD_SIMPLEPERF_KERNEL_SYMBOL,
	PERF_RECORD_SIMPLEPERF_DSO,
	PERF_RECORD_SIMPLEPERF_SYMBOL,
	PERF_RECORD_SIMPLEPERF_SPLIT,
	PERF_RECORD_SIMPLEPERF_SPLIT_END,
	PERF_RECORD_SIMPLEPERF_EVENT_ID,
	PERF_RECORD_SIMPLEPERF_CALLCHAIN,
	PERF_RECORD_SIMPLEPERF_UNWINDING_RESULT,
	PERF_RECORD_SIMPLEPERF_TRACING_DATA,
	PERF_RECORD_SIMPLEPERF_DEBUG,
};

/* The bits of perf_event_attr's flag word, as one u64 in this machine's order. */
#define ATTR_DISABLED (1ull << 0)
#define ATTR_INHERIT (1ull << 1)
#define ATTR_PINNED (1ull << 2)
#define ATTR_EXCLUSIVE (1ull << 3)
#define ATTR_EXCLUDE_USER (1ull << 4)
#define ATTR_EXCLUDE_KERNEL (1ull << 5)
#define ATTR_EXCLUDE_HV (1ull << 6)
#define ATTR_EXCLUDE_IDLE (1ull << 7)
#define ATTR_MMAP (1ull << 8)
#define ATTR_COMM (1ull << 9)
#define ATTR_FREQ (1ull << 10)
#define ATTR_INHERIT_STAT (1ull << 11)
#define ATTR_ENABLE_ON_EXEC (1ull << 12)
#define ATTR_TASK (1ull << 13)
#define ATTR_WATERMARK (1ull << 14)
#define ATTR_PRECISE_IP_SHIFT 15 /* 2 bits */
#define ATTR_MMAP_DATA (1ull << 17)
#define ATTR_SAMPLE_ID_ALL (1ull << 18)
#define ATTR_EXCLUDE_HOST (1ull << 19)
#define ATTR_EXCLUDE_GUEST (1ull << 20)
#define ATTR_EXCLUDE_CALLCHAIN_KERNEL (1ull << 21)
#define ATTR_EXCLUDE_CALLCHAIN_USER (1ull << 22)
#define ATTR_MMAP2 (1ull << 23)
#define ATTR_COMM_EXEC (1ull << 24)
#define ATTR_USE_CLOCKID (1ull << 25)
#define ATTR_CONTEXT_SWITCH (1ull << 26)
#define ATTR_WRITE_BACKWARD (1ull << 27)
#define ATTR_NAMESPACES (1ull << 28)
#define ATTR_KSYMBOL (1ull << 29)
#define ATTR_BPF_EVENT (1ull << 30)
#define ATTR_AUX_OUTPUT (1ull << 31)
#define ATTR_CGROUP (1ull << 32)
#define ATTR_TEXT_POKE (1ull << 33)
#define ATTR_BUILD_ID (1ull << 34)
#define ATTR_INHERIT_THREAD (1ull << 35)
#define ATTR_REMOVE_ON_EXEC (1ull << 36)
#define ATTR_SIGTRAP (1ull << 37)
#define ATTR_DEFER_CALLCHAIN (1ull << 38)
#define ATTR_DEFER_OUTPUT (1ull << 39)

/* Sizes of the attr through the ages (PERF_ATTR_SIZE_VER0..). */
#define ATTR_SIZE_MIN 64
#define ATTR_SIZE_VER7 128
#define ATTR_SIZE_VER8 136
#define ATTR_SIZE_VER9 144
/* With the patches of kernel/ only. Other kernels may come to have other things there. */
#define ATTR_SIZE_BURST 160
#define ATTR_SIZE_TLS 168
#define ATTR_SIZE_MAX_KNOWN 168

#endif
