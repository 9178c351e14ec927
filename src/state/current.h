/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address spaces of now: what code is mapped where in each process that exists, for who gets records while they
 * come, in order of time. procs.h keeps all versions for the questions of later; this keeps the last one only, so what
 * it needs does not grow with the length of a recording.
 *
 * Unwind information is read from the file that a mapping names, and what is found there may be another file than the
 * one that was mapped: one that was built anew, or one of our root directory instead of the process's own. Files are
 * therefore compared by their inode numbers, and one that differs gives no information.
 *
 * Processes, their files and their mappings may be hostile: what is kept of each, and of all together, has limits.
 */
#ifndef STATE_CURRENT_H
#define STATE_CURRENT_H

#include "codec/record.h"
#include "state/dso.h"

struct current;

/* dsos outlives it; it adds those that it finds. notify (may be NULL) is told of limits that are reached. */
struct current *current_new(struct dsos *dsos, const struct notify *notify);
void current_free(struct current *c);

/* Applies a record; those that say nothing of mappings are ignored. */
void current_apply(struct current *c, const struct record *r);

/* Records were lost since all mappings of this process were known, or they were too many: some may be missing. */
bool current_doubtful(struct current *c, u32 pid);
/* From here on the mappings of the process are told anew, */
void current_again(struct current *c, u32 pid);
/* or nobody can tell them: what is known has to do. */
void current_settle(struct current *c, u32 pid);

struct current_space;
/* The address space of a process, until the next record; NULL: nothing is known of it. */
struct current_space *current_space(struct current *c, u32 pid);
/* What is mapped at an address. */
struct current_code {
	u64 start, end;		 /* its mapping, end exclusive */
	u64 shift;		 /* to be added to an address in it for what its information takes */
	u32 file;		 /* the same file has the same number */
	struct cfi_index *index; /* of the file; NULL: none is known, for now */
};
/* False: no code is mapped there. */
bool current_find(struct current *c, struct current_space *s, u64 pc, struct current_code *out);
/* The rules that hold at an address of the file of code, whose index is not NULL (cfi_index_find). */
u32 current_rules(struct current *c, struct current_space *s, const struct current_code *code, u64 addr);
/* The path by which a file was mapped: of current_code.file. "" for memory without a file. */
const char *current_file_path(const struct current *c, u32 file);
/* Changes when the index of a file that nobody maps any more was freed, by one of these two. */
u32 current_generation(const struct current *c);

#endif
