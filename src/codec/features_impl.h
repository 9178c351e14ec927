/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the features' codec: the declarations that its files share. */
#ifndef CODEC_FEATURES_IMPL_H
#define CODEC_FEATURES_IMPL_H

#include "codec/features.h"

/* Events, files and the like that a section describes: each takes a multiple of its bytes, so more of them would take
 * too much memory. */
#define DESCRIBED_MAX (1u << 16)

#define ROUND_BODY_MAGIC 0x31444e554f574e55ull /* "UNWOUND1" */

void simpleperf_files(struct features *f, struct cursor *c, struct arena *arena);
void simpleperf_file_messages(struct features *f, struct cursor *c, struct arena *arena);
void simpleperf_meta(struct features *f, struct cursor *c, struct arena *arena);
void simpleperf_unwind_files(struct features *f, struct cursor *c, struct arena *arena);
int simpleperf_encode(const struct features *f, enum feature id, struct bytes *out);
void simpleperf_print(const struct features *f, struct bytes *out);

#endif
