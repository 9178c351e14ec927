/* SPDX-License-Identifier: Apache-2.0 */
/* What tests share: a check that names its line, and what readers of the thread context know of it. */
#ifndef TEST_H
#define TEST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(what)                                                                                                   \
	do {                                                                                                          \
		if (!(what)) {                                                                                        \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                            \
			exit(1);                                                                                      \
		}                                                                                                     \
	} while (0)

/* OTEP 4947, and what stands before each record of this library. */
struct seen_record {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t size;
	uint8_t attrs[84];
};

struct seen_head {
	const struct seen_record *around;
	uint32_t magic, depth;
};

#define SEEN_MAGIC 0x61637431u

#ifdef __cplusplus
extern "C" thread_local const struct seen_record *volatile otel_thread_ctx_v1;
#else
extern _Thread_local const struct seen_record *volatile otel_thread_ctx_v1;
#endif
#endif
