/* SPDX-License-Identifier: Apache-2.0 */
/* TRACING_DATA sections for tests: what recordings hold of the formats of tracepoints. */
#ifndef TESTS_UNIT_TRACING_DATA_H
#define TESTS_UNIT_TRACING_DATA_H

#include "base/bytes.h"

/* The fields that each format begins with: 8 bytes. */
#define TRACING_COMMON                                                                                                \
	"format:\n"                                                                                                   \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                                        \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* One with these formats, in the system "sys". The caller frees it. */
struct bytes tracing_data(const char *const *formats, u32 n);

#endif
