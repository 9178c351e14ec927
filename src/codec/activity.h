/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording says of activities: records that a BPF program writes into the rings (record/activity_prog.c), as
 * raw data of samples of the event ACTIVITY_EVENT (PERF_COUNT_SW_BPF_OUTPUT). Such a record says which activity a
 * thread works for from then on, or what its process publishes. The process and the thread are those of the sample.
 *
 * All is in the byte order of the machine that recorded.
 */
#ifndef CODEC_ACTIVITY_H
#define CODEC_ACTIVITY_H

#include "base/cursor.h"
#include "codec/attr.h"

#define ACTIVITY_EVENT "activity" /* the event's name */
#define ACTIVITY_VERSION 2

enum activity_what {
	ACTIVITY_THREAD = 1,
	ACTIVITY_PROCESS,
	ACTIVITY_LABELS, /* a thread whose program has labels of its own: texts, instead of a record */
};

/* How the thread was read. */
enum activity_status {
	ACTIVITY_NONE,	    /* it works for nothing, or its program says nothing */
	ACTIVITY_KNOWN,	    /* data are its record, from the trace id on */
	ACTIVITY_BARE,	    /* the same, but its attributes, or some labels, could not be read, or were too long */
	ACTIVITY_NO_THREAD, /* the thread's variable could not be read; */
	ACTIVITY_NO_RECORD, /* or the record to which it leads */
	ACTIVITY_NOT_YET,   /* the recorder had not looked at its process yet */
	ACTIVITY_NO_ROOM,   /* the kernel had no room for another process in the recorder's table */
	ACTIVITY_REFUSED,   /* the recorder may not look at its process, or cannot */
	ACTIVITY_LOST,	    /* its journal was overwritten, or makes no sense. With data: how many entries of which */
	NR_ACTIVITY_STATUS,
};

/* The head of both; the data follow. */
struct activity_head {
	u8 version, what, status, zero;
	u32 size;  /* of the data */
	u64 time;  /* of the sample in which it was read; 0: that of the record */
	u64 image; /* of the process: another one for each process and after each exec */
};

#define ACTIVITY_FIXED 28		/* bytes of a thread's record before its attributes (OTEP 4947) */
#define ACTIVITY_ATTRS_MAX 612		/* bytes of attributes that are read */
#define ACTIVITY_PAYLOAD_MAX (8u << 10) /* bytes of what a process publishes that are read */

struct activity_record {
	enum activity_what what;
	enum activity_status status;
	u64 time, image;
	struct str data;
};

/* Of ACTIVITY_LOST, how many entries of journals were overwritten, and how many made no sense. False: it does not say
 * that, but what is known of its thread. */
bool activity_lost(const struct activity_record *r, u64 *overwritten, u64 *refused);

/* False: these are no such raw data. data points into them. */
bool activity_decode(struct cursor c, struct activity_record *out);

/* The next pair of the labels that c is in. False: there is none. Texts point into it. */
bool activity_label_next(struct cursor *c, struct str *key, struct str *value);
/* What a label of that name says if its value is an id. Programs and libraries write these names in several ways, and
 * Datadog's library writes numbers. */
enum activity_id { ACTIVITY_NO_ID, ACTIVITY_TRACE_ID, ACTIVITY_SPAN_ID, ACTIVITY_ROOT_ID };
enum activity_id activity_label_id(struct str key, struct str value, u8 id[16]);

/* The parts of a thread's record; for others than ACTIVITY_KNOWN and ACTIVITY_BARE, and where ids are zero, NULL. */
const u8 *activity_trace(struct str record);
const u8 *activity_span(struct str record);
/* The last value of that key; NULL: it has none. */
bool activity_attribute_of(struct str record, u32 key, struct str *value);

/* What a process publishes (OTEP 4719): the name of its service, and those of its attributes. Texts point into the
 * payload. */
#define ACTIVITY_KEYS_MAX 256
struct activity_process {
	struct str service;
	u32 nr_keys;
	struct str keys[ACTIVITY_KEYS_MAX];
};
void activity_process_decode(struct str payload, struct activity_process *out);

/* Is that the event of such records? */
bool activity_event(const struct attr *a, const char *name);

#endif
