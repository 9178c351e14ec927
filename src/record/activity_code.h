/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the BPF program that reads activities have in common (record/activity_prog.c). */
#ifndef RECORD_ACTIVITY_CODE_H
#define RECORD_ACTIVITY_CODE_H

#include <stddef.h>

#include "codec/activity.h"
#include "record/activity_prog.h"
#include "record/bpf_code.h"

/* The scratch: a record; room behind it, into which a label may lead that does not fit; and what labels are read
 * from. */
#define LABEL_MAX 255
#define DATA ((int16_t)sizeof(struct activity_head)) /* of the record in the scratch: where it begins */
#define WORK_BYTES 304
#define ACTIVITY_SCRATCH (WORK + WORK_BYTES)
#define WORK (DATA + ACTIVITY_FIXED + ACTIVITY_ATTRS_MAX + 2 * (LABEL_MAX + 1))

/* What stays in registers. */
#define CTX R6
#define SCRATCH R7
#define TARGET R8
#define LAST R9

/* On the stack, from the frame pointer. */
enum {
	ZERO_KEY = -4, /* u32 */
	KEY = -24,     /* of the process (struct activity_key): its id and how often it called exec; */
	STARTED = -16, /* when it began */
	THREAD = -40,  /* key of the thread: when it began; */
	TID = -32,
	POINTER = -48, /* the thread pointer */
	TIME = -56,
	PLACE = -64, /* the record's address; when a context was published */
	TABLE = -72,
	AGAIN = -80,  /* bytes of attributes that came with the record; when a context was published, asked again */
	SLOT = -112,  /* 32 bytes: what a slot holds; the head of a context */
	EMPTY = -176, /* a target of which nothing is known */
	ENTRY = -176, /* of a Map in Node (24 bytes) */
	LABEL = -208, /* where its key and its value are, and how long they are */
};
_Static_assert(STARTED - KEY == offsetof(struct activity_key, started), "a key is in one piece");
_Static_assert(EMPTY + (int)sizeof(struct activity_target) <= SLOT, "a target has room");

enum label {
	KEEP,
	DROP,
	KNOWN_TARGET,
	HAVE_TARGET,
	HAVE_NOW,
	IS_IT_TIME,
	ASKED,
	NO_TIME,
	IS_OFFSET,
	IS_DESC,
	BY_MODULE,
	FROM_POINTER,
	AT_VARIABLE,
	BARE,
	NO_THREAD,
	NO_RECORD,
	HAVE_FIXED,
	HAVE_ATTRS,
	NO_ATTRS,
	NO_ROOM,
	REFUSED,
	NOT_YET,
	COMPARE,
	NEXT_WORD,
	SAME,
	EMIT,
	NEW_THREAD,
	CONTEXT,
	WRITE_CONTEXT,
	FOLLOWED,
	IS_POINTER,
	AT_RECORD,
	NEXT_ENTRY,
	OTHER_KEY,
	IN_ENTRY,
	IS_LABELS,
	IS_SET,
	IS_LIST,
	SAME_SIZE,
	HAVE_OLD,
	HAVE_LABELS,
	NEXT_LABEL,
	TAKE_BUCKET,
	READ_BUCKET,
	IN_BUCKET,
	IN_LIST,
	HAVE_LABEL,
	LEFT_OUT,
	LABEL_DONE,
	CUT_LABELS,
	END_LABELS,
	NR_LABELS,
};
_Static_assert(NR_LABELS <= CODE_LABELS, "labels have room");

/* Into the stack, from the address in R3. */
static inline void read_to(struct code *c, s32 helper, int16_t to, s32 size)
{
	address(c, R1, FP, to);
	set(c, R2, size);
	call(c, helper);
}

static inline void read_user(struct code *c, int16_t to, s32 size, enum label otherwise)
{
	read_to(c, BPF_FUNC_probe_read_user, to, size);
	jump(c, BPF_JNE, R0, 0, otherwise);
}

static inline void put_status(struct code *c, enum activity_status s)
{
	store_value(c, BPF_B, SCRATCH, offsetof(struct activity_head, status), s);
}

/* record/activity_node.c: R3 is the address of a thread's variable in Node (ACTIVITY_FORM_NODE). Goes to AT_RECORD
 * with the record's address in PLACE; or to COMPARE if the thread works for nothing, to NO_THREAD or NO_RECORD if it
 * cannot be read. */
void activity_put_node(struct code *c);
/* record/activity_labels.c: likewise, of a thread of a Go program, or of one with Custom Labels. Its labels become the
 * record that is in the scratch; it goes to COMPARE, or to NO_THREAD or NO_RECORD if they cannot be read. */
void activity_put_labels(struct code *c);

#endif
