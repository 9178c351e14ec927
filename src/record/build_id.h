/* SPDX-License-Identifier: Apache-2.0 */
/* GNU build ids: of ELF files, of the running kernel, its modules and the vdso. Reads headers and notes only. */
#ifndef RECORD_BUILD_ID_H
#define RECORD_BUILD_ID_H

#include "base/types.h"

#define BUILD_ID_MAX 20

struct build_id {
	u8 size; /* 0: none */
	u8 id[BUILD_ID_MAX];
};

/* Finds NT_GNU_BUILD_ID in a sequence of ELF notes. swap: they are in the other byte order. */
bool build_id_in_notes(const void *notes, size_t len, bool swap, struct build_id *out);

bool build_id_of_file(const char *path, struct build_id *out);
/* Of an open ELF file. */
bool build_id_of_fd(int fd, struct build_id *out);
bool build_id_of_kernel(struct build_id *out);
bool build_id_of_module(const char *name, struct build_id *out);
bool build_id_of_vdso(struct build_id *out);

#endif
