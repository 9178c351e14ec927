/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz targets. Each file of this directory has one of each of these two functions; meson.build links it twice: with
 * libFuzzer (-Dfuzz=true, clang), and with replay.c, which reruns the corpus as an ordinary test.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdlib.h>

#include "recipe/recipe.h"

/* Runs the code under test; a broken promise aborts. Returns 0. */
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* Receives one input of the corpus. */
struct seed_sink {
	void (*give)(void *ctx, const void *data, size_t size);
	void *ctx;
};

/* Cuts a recording into inputs of this target. Nothing for targets whose corpus is files of their own. */
void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink);

/* A promise of the code under test. */
#define MUST(condition)                                                                                               \
	do {                                                                                                          \
		if (!(condition))                                                                                     \
			abort();                                                                                      \
	} while (0)

/* The whole recording as one input, for targets that take files. */
static inline void fuzz_whole_recording(const struct recipe *r, const struct seed_sink *sink)
{
	struct bytes file = { 0 };

	MUST(!recipe_write(r, &file));
	sink->give(sink->ctx, file.p, file.len);
	bytes_free(&file);
}

#endif
