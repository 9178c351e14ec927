/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels: pairs of texts, in which programs say what they work for.
 *
 * Those of goroutines (runtime/pprof.Do, SetGoroutineLabels) in Go. Which goroutine a thread runs changes without any
 * call of the program, and the runtime keeps that: the thread's variable is the goroutine on whose stack it is, which
 * may be one of the runtime's own; from there it goes to the thread (m), to the goroutine that it runs (curg), and to
 * the labels of that one, as the runtime's own profiler does. A goroutine takes its labels along, and so do those that
 * it begins.
 *
 * Labels are made before a goroutine gets them, never change afterwards, and the garbage collector does not move them.
 * So with the thread stopped they are never found half written.
 *
 * Up to Go 1.23 they are a map. It has an array of buckets, of which each has a byte for each of its eight pairs, the
 * keys, the values, and the address of a bucket more. While a map grows there is an array of old buckets as well,
 * whose pairs move one by one: those that have moved say so in their byte. From Go 1.24 on they are a slice of pairs.
 *
 * Custom Labels (version 1 of that ABI: libraries for C, C++ and Rust) are a set that the thread's variable leads to.
 * It begins as a slice does, and its pairs have the lengths of texts before their addresses. The program writes in
 * such an order that each place is a whole pair, or one whose key has no address and which does not count. While a
 * label is replaced both are there, and the first one counts.
 *
 * What is read may be anything, all the same: each step is a read that may fail, and there are never more than STEPS +
 * 1 of them for pairs, of which each has two texts.
 *
 * The record is as codec/activity.h has it: pairs of texts, each with its length in a byte. What does not fit is left
 * out, and the status says that.
 */
#include "record/activity_code.h"

/* A map (runtime.hmap), so many bytes of which are read. */
enum { MAP_COUNT = 0, MAP_FLAGS = 8, MAP_LOG2 = 9, MAP_BUCKETS = 16, MAP_OLD = 24, MAP_BYTES = 32 };
_Static_assert(SLOT + MAP_BYTES == AGAIN, "it fills the slot");
#define MAP_SAME_SIZE 8 /* of its flags: there are as many old buckets as new ones, and not half as many */
#define LOG2_MAX 4

#define PAIRS 8	      /* in a bucket */
#define TEXT_BYTES 16 /* the address of a text, and its length */
#define PAIR_FULL 5   /* the byte of a pair that is there, and has not moved, is not below that */
enum {
	BUCKET_KEYS = PAIRS,
	BUCKET_VALUES = BUCKET_KEYS + PAIRS * TEXT_BYTES,
	BUCKET_MORE = BUCKET_VALUES + PAIRS * TEXT_BYTES,
	BUCKET_BYTES = BUCKET_MORE + 8,
};

/* A slice, or a set. */
enum { LIST_AT = 0, LIST_LENGTH = 8, LIST_BYTES = 16 };
#define PAIR_BYTES (2 * TEXT_BYTES)
_Static_assert(LABEL + PAIR_BYTES == EMPTY, "a pair has its place");

#define STEPS (16 * PAIRS) /* places of pairs that are looked at */

/* What is read from: the bucket in which the pairs are, and what follows it. */
enum {
	BUCKET = WORK,
	NEXT = WORK + BUCKET_MORE,  /* the address of the bucket that belongs to this one, or 0 */
	AREA = WORK + BUCKET_BYTES, /* the address of the next bucket or pair, */
	LEFT = AREA + 8,	    /* and how many there are */
	OLD = LEFT + 8,		    /* likewise of old buckets */
	OLD_LEFT = OLD + 8,
};
_Static_assert(OLD_LEFT + 8 == WORK + WORK_BYTES, "the scratch has room");

/* PLACE becomes the address of the labels. Threads that run no goroutine, and goroutines without labels, work for
 * nothing. */
static void put_way(struct code *c)
{
	static const int16_t steps[] = {
		offsetof(struct activity_target, go.m),
		offsetof(struct activity_target, go.curg),
		offsetof(struct activity_target, go.labels),
	};

	read_user(c, PLACE, 8, NO_THREAD);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		load(c, BPF_DW, R3, FP, PLACE);
		jump(c, BPF_JEQ, R3, 0, COMPARE);
		load(c, BPF_H, R1, TARGET, steps[i]);
		calc_with(c, BPF_ADD, R3, R1);
		read_user(c, PLACE, 8, NO_RECORD);
	}
	load(c, BPF_DW, R3, FP, PLACE);
	jump(c, BPF_JEQ, R3, 0, COMPARE);
}

static void put_map(struct code *c)
{
	read_user(c, PLACE, 8, NO_RECORD);
	load(c, BPF_DW, R3, FP, PLACE);
	jump(c, BPF_JEQ, R3, 0, COMPARE);
	read_user(c, SLOT, MAP_BYTES, NO_RECORD);
	load(c, BPF_DW, R1, FP, SLOT + MAP_COUNT);
	jump(c, BPF_JEQ, R1, 0, COMPARE);
	load(c, BPF_B, R2, FP, SLOT + MAP_LOG2);
	jump(c, BPF_JGT, R2, LOG2_MAX, NO_RECORD);
	set(c, R1, 1);
	calc_with(c, BPF_LSH, R1, R2);
	store(c, BPF_DW, SCRATCH, LEFT, R1);
	load(c, BPF_DW, R2, FP, SLOT + MAP_BUCKETS);
	store(c, BPF_DW, SCRATCH, AREA, R2);
	store_value(c, BPF_DW, SCRATCH, NEXT, 0);
	load(c, BPF_B, R2, FP, SLOT + MAP_FLAGS);
	calc(c, BPF_AND, R2, MAP_SAME_SIZE);
	jump(c, BPF_JNE, R2, 0, SAME_SIZE);
	calc(c, BPF_RSH, R1, 1);
	here(c, SAME_SIZE);
	load(c, BPF_DW, R2, FP, SLOT + MAP_OLD);
	store(c, BPF_DW, SCRATCH, OLD, R2);
	jump(c, BPF_JNE, R2, 0, HAVE_OLD);
	set(c, R1, 0);
	here(c, HAVE_OLD);
	store(c, BPF_DW, SCRATCH, OLD_LEFT, R1);
}

static void put_list(struct code *c)
{
	read_user(c, SLOT, LIST_BYTES, NO_RECORD);
	load(c, BPF_DW, R1, FP, SLOT + LIST_LENGTH);
	jump(c, BPF_JEQ, R1, 0, COMPARE);
	store(c, BPF_DW, SCRATCH, LEFT, R1);
	load(c, BPF_DW, R1, FP, SLOT + LIST_AT);
	store(c, BPF_DW, SCRATCH, AREA, R1);
}

/* R3 becomes the address of the next thing of that size. R1: how many are left. */
static void take_next(struct code *c, s32 size)
{
	calc(c, BPF_SUB, R1, 1);
	store(c, BPF_DW, SCRATCH, LEFT, R1);
	load(c, BPF_DW, R3, SCRATCH, AREA);
	address(c, R1, R3, size);
	store(c, BPF_DW, SCRATCH, AREA, R1);
}

/* LABEL becomes the pair that is at place R9 of the map; to LABEL_DONE if there is none, to END_LABELS after the last
 * one. */
static void put_pair_of_map(struct code *c)
{
	copy(c, R1, R9);
	calc(c, BPF_AND, R1, PAIRS - 1);
	jump(c, BPF_JNE, R1, 0, IN_BUCKET);
	load(c, BPF_DW, R3, SCRATCH, NEXT);
	jump(c, BPF_JNE, R3, 0, READ_BUCKET);
	load(c, BPF_DW, R1, SCRATCH, LEFT);
	jump(c, BPF_JNE, R1, 0, TAKE_BUCKET);
	load(c, BPF_DW, R1, SCRATCH, OLD_LEFT);
	jump(c, BPF_JEQ, R1, 0, END_LABELS);
	load(c, BPF_DW, R2, SCRATCH, OLD);
	store(c, BPF_DW, SCRATCH, AREA, R2);
	store_value(c, BPF_DW, SCRATCH, OLD_LEFT, 0);
	here(c, TAKE_BUCKET);
	take_next(c, BUCKET_BYTES);
	here(c, READ_BUCKET);
	address(c, R1, SCRATCH, BUCKET);
	set(c, R2, BUCKET_BYTES);
	call(c, BPF_FUNC_probe_read_user);
	jump(c, BPF_JNE, R0, 0, CUT_LABELS);
	here(c, IN_BUCKET);
	copy(c, R1, R9);
	calc(c, BPF_AND, R1, PAIRS - 1);
	copy(c, R2, SCRATCH);
	calc_with(c, BPF_ADD, R2, R1);
	load(c, BPF_B, R2, R2, BUCKET);
	jump(c, BPF_JLT, R2, PAIR_FULL, LABEL_DONE);
	calc(c, BPF_MUL, R1, TEXT_BYTES);
	calc_with(c, BPF_ADD, R1, SCRATCH);
	for (int16_t at = 0; at < TEXT_BYTES; at += 8) {
		load(c, BPF_DW, R2, R1, (int16_t)(BUCKET + BUCKET_KEYS + at));
		store(c, BPF_DW, FP, (int16_t)(LABEL + at), R2);
		load(c, BPF_DW, R2, R1, (int16_t)(BUCKET + BUCKET_VALUES + at));
		store(c, BPF_DW, FP, (int16_t)(LABEL + TEXT_BYTES + at), R2);
	}
}

static void put_pair_of_list(struct code *c)
{
	load(c, BPF_DW, R1, SCRATCH, LEFT);
	jump(c, BPF_JEQ, R1, 0, END_LABELS);
	take_next(c, PAIR_BYTES);
	read_user(c, LABEL, PAIR_BYTES, CUT_LABELS);
	load(c, BPF_H, R1, TARGET, offsetof(struct activity_target, form));
	jump(c, BPF_JNE, R1, ACTIVITY_FORM_SET, HAVE_LABEL);
	for (int16_t at = LABEL; at < LABEL + PAIR_BYTES; at = (int16_t)(at + TEXT_BYTES)) {
		load(c, BPF_DW, R1, FP, at);
		load(c, BPF_DW, R2, FP, (int16_t)(at + 8));
		store(c, BPF_DW, FP, at, R2);
		store(c, BPF_DW, FP, (int16_t)(at + 8), R1);
	}
	load(c, BPF_DW, R1, FP, LABEL);
	jump(c, BPF_JEQ, R1, 0, LABEL_DONE);
}

/* Reads the text whose address is at LABEL + at into the record, at place R1. R2 is its length. */
static void read_text(struct code *c, int16_t at)
{
	calc_with(c, BPF_ADD, R1, SCRATCH);
	calc(c, BPF_ADD, R1, DATA + 2);
	load(c, BPF_DW, R3, FP, (int16_t)(LABEL + at));
	call(c, BPF_FUNC_probe_read_user);
	jump(c, BPF_JNE, R0, 0, LEFT_OUT);
}

/* The pair into the record, if it fits and can be read. AGAIN: where its value is to be, TABLE: the size of the record
 * then. */
static void put_pair(struct code *c)
{
	load(c, BPF_DW, R2, FP, LABEL + 8);
	jump(c, BPF_JGT, R2, LABEL_MAX, LEFT_OUT);
	load(c, BPF_DW, R4, FP, LABEL + TEXT_BYTES + 8);
	jump(c, BPF_JGT, R4, LABEL_MAX, LEFT_OUT);
	load(c, BPF_W, R5, SCRATCH, offsetof(struct activity_head, size));
	jump(c, BPF_JGT, R5, ACTIVITY_FIXED + ACTIVITY_ATTRS_MAX, LEFT_OUT);
	copy(c, R1, R5);
	calc_with(c, BPF_ADD, R1, R2);
	store(c, BPF_DW, FP, AGAIN, R1);
	calc_with(c, BPF_ADD, R1, R4);
	calc(c, BPF_ADD, R1, 2);
	jump(c, BPF_JGT, R1, ACTIVITY_FIXED + ACTIVITY_ATTRS_MAX, LEFT_OUT);
	store(c, BPF_DW, FP, TABLE, R1);
	copy(c, R1, SCRATCH);
	calc_with(c, BPF_ADD, R1, R5);
	store(c, BPF_B, R1, DATA, R2);
	store(c, BPF_B, R1, DATA + 1, R4);
	copy(c, R1, R5);
	read_text(c, 0);
	/* The bounds once more, as old kernels forget those of what was stored. */
	load(c, BPF_DW, R1, FP, AGAIN);
	jump(c, BPF_JGT, R1, ACTIVITY_FIXED + ACTIVITY_ATTRS_MAX, LEFT_OUT);
	load(c, BPF_DW, R2, FP, LABEL + TEXT_BYTES + 8);
	jump(c, BPF_JGT, R2, LABEL_MAX, LEFT_OUT);
	read_text(c, TEXT_BYTES);
	load(c, BPF_DW, R1, FP, TABLE);
	store(c, BPF_W, SCRATCH, offsetof(struct activity_head, size), R1);
	go(c, LABEL_DONE);
	here(c, LEFT_OUT);
	put_status(c, ACTIVITY_BARE);
}

void activity_put_labels(struct code *c)
{
	load(c, BPF_H, R1, TARGET, offsetof(struct activity_target, form));
	jump(c, BPF_JEQ, R1, ACTIVITY_FORM_SET, IS_SET);
	put_way(c);
	load(c, BPF_H, R1, TARGET, offsetof(struct activity_target, form));
	jump(c, BPF_JEQ, R1, ACTIVITY_FORM_GO_LIST, IS_LIST);
	put_map(c);
	go(c, HAVE_LABELS);
	here(c, IS_SET);
	read_user(c, PLACE, 8, NO_THREAD);
	load(c, BPF_DW, R3, FP, PLACE);
	jump(c, BPF_JEQ, R3, 0, COMPARE);
	here(c, IS_LIST);
	put_list(c);
	here(c, HAVE_LABELS);
	store_value(c, BPF_B, SCRATCH, offsetof(struct activity_head, what), ACTIVITY_LABELS);
	put_status(c, ACTIVITY_KNOWN);
	set(c, R9, 0);
	here(c, NEXT_LABEL);
	load(c, BPF_H, R1, TARGET, offsetof(struct activity_target, form));
	jump(c, BPF_JNE, R1, ACTIVITY_FORM_GO_MAP, IN_LIST);
	put_pair_of_map(c);
	go(c, HAVE_LABEL);
	here(c, IN_LIST);
	put_pair_of_list(c);
	here(c, HAVE_LABEL);
	jump(c, BPF_JEQ, R9, STEPS, CUT_LABELS);
	put_pair(c);
	here(c, LABEL_DONE);
	calc(c, BPF_ADD, R9, 1);
	jump(c, BPF_JLE, R9, STEPS, NEXT_LABEL); /* once more, so that exactly STEPS of them are not said to be cut */
	here(c, CUT_LABELS);			 /* there are more, or may be */
	put_status(c, ACTIVITY_BARE);
	/* 0s behind the last one, as behind other records. */
	here(c, END_LABELS);
	load(c, BPF_W, R1, SCRATCH, offsetof(struct activity_head, size));
	jump(c, BPF_JGT, R1, ACTIVITY_FIXED + ACTIVITY_ATTRS_MAX, COMPARE);
	calc_with(c, BPF_ADD, R1, SCRATCH);
	store_value(c, BPF_DW, R1, DATA, 0);
	go(c, COMPARE);
}
