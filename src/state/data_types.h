/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of data, from DWARF: of what lies at an address, and of what an instruction loads or stores. Not thread-safe,
 * as the file of DWARF that they are from (state/dwarf.h).
 */
#ifndef STATE_DATA_TYPES_H
#define STATE_DATA_TYPES_H

#include "base/bytes.h"
#include "state/dwarf.h"

struct data_types;

/* f outlives them. */
struct data_types *data_types_new(struct dwarf_file *f);
void data_types_free(struct data_types *t);

/* Those of a file, made when first asked for, and freed with it. */
struct data_types *dwarf_file_types(struct dwarf_file *f);

/*
 * A type and a place in it: "struct queue", 24, and "slots[].next" (empty: the type has no members). Of an array it is
 * its element. The texts are valid until the next question.
 */
struct typed_place {
	const char *type, *members;
	u64 offset;
};

/* A function's code, as it lies in the file that was mapped. */
struct data_code {
	u16 machine; /* EM_* */
	u64 start;   /* linked address of p */
	const u8 *p;
	u32 n;
};

/* Of the variable at a linked address. False: DWARF knows of none there. */
bool data_types_at(struct data_types *t, u64 vaddr, struct typed_place *out);
/* Of what the instruction at a linked address loads or stores; addr is in the code, and what is worked out for one
 * address of it serves the next ones, as long as the questions are of the same code. False: not known. */
bool data_types_of_code(struct data_types *t, const struct data_code *code, u64 addr, struct typed_place *out);

#endif
