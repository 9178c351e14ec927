/* SPDX-License-Identifier: Apache-2.0 */
/*
 * @datadog/pprof in Node. What a thread works for changes with each callback; V8 carries it along, and no code of the
 * module runs then. The module says where V8 has it (`nodejs_v1_dev`): its thread's variable names the slot of V8 in
 * which the present frame is, and the key by which this frame has an object that holds the address of the record.
 *
 * The frame is a Map of JavaScript. Its table has a head of two words, three counts, a word for each bucket, and then
 * entries of three words: key, value, and the next entry of the bucket. Numbers are in the upper halves of words, and
 * addresses of objects have their lowest bit set. All that is as in the 64-bit V8 of Node 24, whose pointers are
 * not compressed. Maps of frames are made anew when they change, so a table is never found half written. The garbage
 * collector moves objects: it copies them, and leaves what they held in the old place, but for the first word, until
 * all that leads to them is right. So it does not matter which of the two is read, but for the key, whose address is
 * compared.
 */
#include "record/activity_code.h"

/* The thread's variable. */
enum { FRAME_AT = 0, KEY_AT = 8, KEY_HASH = 16, UNDEFINED = 24, NODE_VARIABLE = 32 };
_Static_assert(SLOT + NODE_VARIABLE == AGAIN, "it fills the slot");

#define TAG 1		 /* what an object's address has more */
#define MAP_TABLE 24	 /* where a Map has the address of its table */
#define TABLE_BUCKETS 32 /* where a table has the number of its buckets; what they lead to follows */
#define TABLE_HEAD 40
#define BUCKETS_MAX 1024
#define ENTRIES_MAX (2 * BUCKETS_MAX)
#define ENTRY_BYTES 24
#define TRIES 16	 /* entries of a bucket; there are two on average */
#define OBJECT_RECORD 32 /* where the module's object has the record's address: in its second field */

static void is_object(struct code *c, u8 reg)
{
	copy(c, R0, reg);
	calc(c, BPF_AND, R0, TAG);
	jump(c, BPF_JEQ, R0, 0, NO_RECORD);
}

/* The frame's table: its address in TABLE; in the variable, the key takes the place of where it is. */
static void put_table(struct code *c)
{
	read_user(c, SLOT, NODE_VARIABLE, NO_THREAD);
	load(c, BPF_DW, R3, FP, SLOT + FRAME_AT);
	jump(c, BPF_JEQ, R3, 0, COMPARE); /* the module says nothing in this thread, or not now */
	read_user(c, PLACE, 8, NO_THREAD);
	load(c, BPF_DW, R3, FP, PLACE);
	load(c, BPF_DW, R1, FP, SLOT + UNDEFINED);
	jump_with(c, BPF_JEQ, R3, R1, COMPARE);
	is_object(c, R3);
	calc(c, BPF_ADD, R3, MAP_TABLE - TAG);
	read_user(c, TABLE, 8, NO_RECORD);
	load(c, BPF_DW, R3, FP, SLOT + KEY_AT);
	read_user(c, SLOT + KEY_AT, 8, NO_THREAD);
}

/* AGAIN becomes the first entry of the key's bucket, TABLE the address of all entries. */
static void put_bucket(struct code *c)
{
	load(c, BPF_DW, R3, FP, TABLE);
	is_object(c, R3);
	calc(c, BPF_ADD, R3, TABLE_BUCKETS - TAG);
	read_user(c, AGAIN, 8, NO_RECORD);
	load(c, BPF_DW, R1, FP, AGAIN);
	calc(c, BPF_RSH, R1, 32);
	jump(c, BPF_JEQ, R1, 0, NO_RECORD);
	jump(c, BPF_JGT, R1, BUCKETS_MAX, NO_RECORD);
	copy(c, R2, R1);
	calc(c, BPF_SUB, R2, 1);
	copy(c, R0, R1);
	calc_with(c, BPF_AND, R0, R2);
	jump(c, BPF_JNE, R0, 0, NO_RECORD); /* no power of two */
	load(c, BPF_W, R0, FP, SLOT + KEY_HASH);
	calc_with(c, BPF_AND, R2, R0);
	calc(c, BPF_LSH, R2, 3);
	load(c, BPF_DW, R3, FP, TABLE);
	calc(c, BPF_ADD, R3, TABLE_HEAD - TAG);
	calc(c, BPF_LSH, R1, 3);
	calc_with(c, BPF_ADD, R1, R3);
	store(c, BPF_DW, FP, TABLE, R1);
	calc_with(c, BPF_ADD, R3, R2);
	read_user(c, AGAIN, 8, NO_RECORD);
}

/* Goes to IN_ENTRY if the entry's key, in R1, is the module's after all; to OTHER_KEY if it is another object. While
 * the garbage collector moves objects, the module's handle of the key says where the key is now, before the table's
 * entry does. What was moved begins with its new address, without a tag; anything else with the address of its
 * map, with one. */
static void enter_if_moved(struct code *c)
{
	copy(c, R3, R1);
	calc(c, BPF_SUB, R3, TAG);
	read_user(c, PLACE, 8, OTHER_KEY);
	load(c, BPF_DW, R1, FP, PLACE);
	calc(c, BPF_ADD, R1, TAG);
	load(c, BPF_DW, R2, FP, SLOT + KEY_AT);
	jump_with(c, BPF_JEQ, R1, R2, IN_ENTRY);
}

void activity_put_node(struct code *c)
{
	put_table(c);
	put_bucket(c);
	set(c, R9, TRIES);
	here(c, NEXT_ENTRY);
	load(c, BPF_DW, R3, FP, AGAIN);
	calc(c, BPF_ARSH, R3, 32);
	jump(c, BPF_JSLT, R3, 0, COMPARE); /* the frame has none: the thread works for nothing */
	jump(c, BPF_JSGE, R3, ENTRIES_MAX, NO_RECORD);
	calc(c, BPF_MUL, R3, ENTRY_BYTES);
	load(c, BPF_DW, R1, FP, TABLE);
	calc_with(c, BPF_ADD, R3, R1);
	read_user(c, ENTRY, ENTRY_BYTES, NO_RECORD);
	load(c, BPF_DW, R1, FP, ENTRY);
	load(c, BPF_DW, R2, FP, SLOT + KEY_AT);
	jump_with(c, BPF_JEQ, R1, R2, IN_ENTRY);
	enter_if_moved(c);
	here(c, OTHER_KEY);
	load(c, BPF_DW, R1, FP, ENTRY + 16);
	store(c, BPF_DW, FP, AGAIN, R1);
	calc(c, BPF_SUB, R9, 1);
	jump(c, BPF_JNE, R9, 0, NEXT_ENTRY);
	go(c, NO_RECORD);
	here(c, IN_ENTRY);
	load(c, BPF_DW, R3, FP, ENTRY + 8);
	load(c, BPF_DW, R1, FP, SLOT + UNDEFINED);
	jump_with(c, BPF_JEQ, R3, R1, COMPARE);
	is_object(c, R3);
	calc(c, BPF_ADD, R3, OBJECT_RECORD - TAG);
	read_user(c, PLACE, 8, NO_RECORD);
	load(c, BPF_DW, R1, FP, PLACE);
	calc(c, BPF_AND, R1, TAG);
	jump(c, BPF_JNE, R1, 0, NO_RECORD); /* another object follows there */
	go(c, AT_RECORD);
}
