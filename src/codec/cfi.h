/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information says, for each address of a function, where the function's caller was, and where the caller's
 * registers are saved. Files have it in .eh_frame (for exceptions; it is kept when symbols are stripped) and in
 * .debug_frame. Sources: DWARF 5, 6.4; Linux Standard Base, core, "Exception Frames"; DWARF for the Arm 64-bit
 * Architecture.
 *
 * It is a small program per function, which is run from the function's first address to the wanted address. An
 * unwinder needs the same addresses a million times, so every program is run completely once, and gives rows: from
 * this address on, these rules hold. Functions have few ways of saving registers, so rules are shared, and a row has
 * only 8 bytes.
 *
 * The rules come from files that anybody may have made, and they are applied to the contents of a stack that somebody
 * recorded. Whatever they say, a step reads only what its caller's memory function provides, and it ends.
 */
#ifndef CODEC_CFI_H
#define CODEC_CFI_H

#include "base/bytes.h"
#include "base/cursor.h"
#include "base/map.h"
#include "base/set.h"
#include "base/vec.h"

/* Registers have DWARF's numbers: 0 to 15 and the return address on x86_64, x0 to x30 and sp on aarch64. */
#define CFI_REGS 33
#define CFI_X86_SP 7
#define CFI_X86_FP 6
#define CFI_X86_PC 16
#define CFI_ARM64_FP 29
#define CFI_ARM64_LR 30
#define CFI_ARM64_SP 31
#define CFI_ARM64_PC                                                                                                  \
	32 /* DWARF has no such number, because the return address is x30. Ours is the frame's own address in the     \
	      code */

/* ---- a section's entries */

struct cfi_section {
	const u8 *bytes;
	u64 size, addr; /* addr: where it is linked to */
	bool swap, is64;
	bool debug; /* .debug_frame: it refers to CIEs in another way */
};

/* What several functions have in common (CIE). */
struct cfi_common {
	u64 code_align, data_align;
	u32 return_reg;
	u8 encoding; /* of addresses: DW_EH_PE_* */
	bool sized;  /* FDEs say how many bytes there are before their program */
	bool signal; /* the frame is that of a signal handler's return: it was not called */
	bool known;  /* false: its FDEs cannot be used */
	struct cursor program;
};

/* A function (FDE). */
struct cfi_function {
	u64 start, end; /* addresses as linked; end is exclusive */
	const struct cfi_section *section;
	const struct cfi_common *common;
	struct cursor program;
};

typedef void (*cfi_function_fn)(void *ctx, const struct cfi_function *f);

/* Hands on every function of the section, up to the first damaged place. Addresses that are relative to anything other
 * than their own place, or that are given by a pointer, are left out. */
void cfi_functions(const struct cfi_section *s, cfi_function_fn take, void *ctx);

/* Reads an address of the section at the cursor, in an encoding of its CIEs. */
u64 cfi_address(struct cursor *c, const struct cfi_section *s, u8 encoding);

/* ---- rows */

enum cfi_how {
	CFI_SAME,	/* the register was not touched */
	CFI_UNDEFINED,	/* its value is lost; for the return address: there is no caller */
	CFI_SAVED,	/* it is in memory, at the frame's address + value */
	CFI_OFFSET,	/* it is the frame's address + value (of the frame's address itself: register + value) */
	CFI_REGISTER,	/* it is in the register `value` */
	CFI_SAVED_EXPR, /* it is in memory, where expression `value` says */
	CFI_EXPR,	/* it is what expression `value` says */
};

struct cfi_rules {
	s32 cfa; /* of the frame's address (CFA) */
	s32 value[CFI_REGS];
	u8 how[CFI_REGS]; /* enum cfi_how */
	u8 cfa_how, cfa_reg;
	u8 return_reg;
	u8 signal;	  /* as in cfi_common */
	u8 signed_return; /* aarch64: the return address carries an authentication code */
};

struct cfi_row {
	u32 start; /* as the caller's `place` gave it; the row holds up to the next one */
	u32 rules; /* ID_NONE: nothing is known here */
};

struct cfi_expr {
	u32 at, len; /* in cfi.code */
};

/* A function, which has n rows, beginning with `row`. */
struct cfi_span {
	u32 start, end, row, n;
};

/* All information of a file. A zeroed struct is empty. */
struct cfi {
	VEC(struct cfi_row) rows; /* by start, once finished */
	VEC(struct cfi_rules) rules;
	VEC(struct cfi_expr) exprs;
	struct bytes code; /* of expressions */
	bool swap, is64;
	u64 entry;    /* where the program begins, if the caller set it: that has no caller; 0: not known */
	u64 left_out; /* functions that could not be compiled, or lie beyond 4 GB */
	/* While it is made: */
	VEC(struct cfi_span) spans;
	struct set known_rules, known_exprs;
};

/* Translates an address as linked into the caller's terms (file offsets); false: it has none. */
typedef bool (*cfi_place_fn)(void *ctx, u64 addr, u64 *out);

/* Adds the functions of a section; several sections may be added. */
void cfi_add(struct cfi *c, const struct cfi_section *s, cfi_place_fn place, void *ctx);
/* Sorts the rows. If functions overlap, the later one hides the rest of the earlier one. */
void cfi_finish(struct cfi *c);
void cfi_free(struct cfi *c);
/* The rules that hold at an address, or NULL. */
const struct cfi_rules *cfi_find(const struct cfi *c, u64 addr);

/* Does the program begin at about this address? Its first instructions have no caller, and mostly no rules. */
bool cfi_is_entry(const struct cfi *c, u64 addr);

/*
 * For who meets few of a file's functions, and cannot wait for the others: an index of functions, each of which is
 * compiled when it is first asked for. For one thread. A zeroed struct is empty.
 */
struct cfi_indexed {
	struct cfi_span span; /* n is 0 until it is compiled */
	u32 common, section;  /* in cfi_index */
	u64 start;	      /* as linked; */
	u64 program;	      /* the place of its program in the section, */
	u32 program_size;     /* and its bytes */
};
struct cfi_index {
	struct cfi cfi; /* what was compiled; its rows are by function */
	VEC(struct cfi_indexed) functions;
	VEC(struct cfi_common) commons;
	VEC(struct cfi_section) sections; /* owns their bytes */
	struct map known_commons;
	u64 ran; /* bytes of programs that were run, which is time */
};

/* Adds the functions of a section, whose bytes (of malloc) it takes. */
void cfi_index_add(struct cfi_index *x, const struct cfi_section *s, cfi_place_fn place, void *ctx);
/* Sorts the functions. */
void cfi_index_finish(struct cfi_index *x);
void cfi_index_free(struct cfi_index *x);
/* About how much memory it takes; it becomes more as functions are compiled. */
u64 cfi_index_bytes(const struct cfi_index *x);
/* The rules that hold at an address, as an index of x->cfi.rules; ID_NONE: none are known. may_compile: false where
 * there is no more memory for it; functions that were compiled before are still found. */
u32 cfi_index_find(struct cfi_index *x, u64 addr, bool may_compile);

/* What both share. Where a function lies in the caller's terms; false: nowhere, or beyond 4 GB. */
bool cfi_span_of(const struct cfi_function *fn, cfi_place_fn place, void *ctx, struct cfi_span *out);
/* Appends its rows; span has start and end, and gets the rest. */
void cfi_compile(struct cfi *c, const struct cfi_function *fn, struct cfi_span *span);

/* ---- a step from a frame to its caller's */

struct cfi_frame {
	u64 reg[CFI_REGS];
	u64 known; /* a bit for each register whose value is known */
};

/* Reads size (1 to 8) bytes of the program's memory; false: they are not known. */
typedef bool (*cfi_memory_fn)(void *ctx, u64 addr, u32 size, u64 *out);

struct cfi_machine {
	u32 sp, fp, pc;
	cfi_memory_fn memory;
	void *ctx;
};

enum cfi_step {
	CFI_STEPPED,
	CFI_OUTERMOST, /* nobody called this frame */
	CFI_NO_MEMORY, /* it needs memory that is not known */
	CFI_NO_SENSE,  /* it needs a register that is not known, or the expression is invalid */
};

/* Turns f into the frame of its caller; f is changed only if the step succeeds. */
enum cfi_step cfi_step(const struct cfi *c, const struct cfi_rules *r, const struct cfi_machine *m,
		       struct cfi_frame *f);

/*
 * Nearly all steps are of one kind: the frame's address is a register and an offset, and the return address and a few
 * registers are saved there. These rules in short form take a tenth of the time.
 */
#define CFI_SHORT_SAVED 6
#define CFI_NOT_SHORT 255
struct cfi_short {
	s32 cfa;
	int16_t back; /* where the return address is saved, from the frame's address on */
	u8 cfa_reg;
	u8 n; /* number of saved registers; CFI_NOT_SHORT: the rules are of another kind */
	int16_t at[CFI_SHORT_SAVED];
	u8 reg[CFI_SHORT_SAVED];
};
struct cfi_short cfi_shorten(const struct cfi *c, const struct cfi_rules *r, const struct cfi_machine *m);
/* As cfi_step. */
enum cfi_step cfi_short_step(const struct cfi_short *r, const struct cfi_machine *m, struct cfi_frame *f);

#endif
