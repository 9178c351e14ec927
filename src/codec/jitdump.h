/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jitdump: the file in which a run-time compiler tells what code it placed where and when. Source: the kernel's
 * tools/perf/Documentation/jitdump-specification.txt, version 1. Numbers are in the writer's byte order, told by the
 * magic.
 */
#ifndef CODEC_JITDUMP_H
#define CODEC_JITDUMP_H

#include "base/bytes.h"
#include "base/cursor.h"
#include "base/err.h"

#define JITDUMP_MAGIC 0x4a695444u /* "JiTD" */
#define JITDUMP_HEADER_SIZE 40u
#define JITDUMP_ARCH_TIMESTAMP 1u /* flag: times are of a clock of the CPU, not of CLOCK_MONOTONIC */

struct jitdump_header {
	u32 version;
	u32 size; /* of the header: records start there */
	u32 machine;
	u32 pid;
	u64 time, flags;
	bool swap;
};

enum jitdump_id {
	JITDUMP_CODE_LOAD,
	JITDUMP_CODE_MOVE,
	JITDUMP_DEBUG_INFO,
	JITDUMP_CODE_CLOSE,
	JITDUMP_UNWINDING_INFO,
};

struct jitdump_load {
	u32 pid, tid;
	u64 vma, addr, code_size, index;
	struct str name;
	const u8 *code; /* code_size bytes; NULL when decoding was given only the record's beginning */
};

struct jitdump_move {
	u32 pid, tid;
	u64 vma, old_addr, new_addr, code_size, index;
};

/* Source lines of the next CODE_LOAD; its entries are read with jitdump_line. */
struct jitdump_debug {
	u64 addr, n;
	struct cursor entries;
};

struct jitdump_line {
	u64 addr;
	u32 line, discriminator;
	struct str file;
};

struct jitdump_unwind {
	u64 size, eh_frame_hdr_size, mapped_size;
	const u8 *data; /* size bytes; NULL as above */
};

struct jitdump_record {
	u32 id;	  /* enum jitdump_id, or one not known: only size and time are valid then */
	u32 size; /* of the whole record, at least 16 */
	u64 time;
	union {
		struct jitdump_load load;
		struct jitdump_move move;
		struct jitdump_debug debug;
		struct jitdump_unwind unwind;
	};
};

/* 0; ERR_FORMAT when this is no jitdump, ERR_TRUNCATED, ERR_UNSUPPORTED for another version. */
int jitdump_header_decode(const u8 *p, size_t size, struct jitdump_header *out);
void jitdump_header_encode(struct bytes *b, const struct jitdump_header *h);

/*
 * The record at p, of which `size` bytes are there; the long parts at its end (code, unwinding data) may be missing.
 * Names and entries point into p. 0; ERR_TRUNCATED: more bytes are needed; ERR_FORMAT: the record contradicts itself,
 * and out->size (at least 16) says where the next one starts, or is 0 when nothing can be read any more.
 */
int jitdump_decode(const u8 *p, size_t size, bool swap, struct jitdump_record *out);
/* Writes the record in the order of this machine; size is made up from the rest. */
void jitdump_encode(struct bytes *b, const struct jitdump_record *r);

/* The next entry of DEBUG_INFO; false at the end, or when the entries are damaged. */
bool jitdump_line(struct jitdump_debug *d, struct jitdump_line *out);
/* One entry, for building the bytes behind jitdump_debug.entries. */
void jitdump_line_encode(struct bytes *b, const struct jitdump_line *l);

#endif
