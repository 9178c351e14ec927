/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal: what each thread works for, and since when, in files that a recorder reads where it may not look at
 * threads itself (see journal.c). Not for others than this library.
 */
#ifndef ACTIVITY_JOURNAL_H
#define ACTIVITY_JOURNAL_H

#include <stddef.h>

#define HIDDEN __attribute__((visibility("hidden")))

struct journal;

/* This thread's; NULL: it has none. */
extern HIDDEN _Thread_local struct journal *activity_journal_of_thread;

/* Makes one for this thread, if journals are kept. */
HIDDEN void activity_journal_begin(void);
/* What the thread works for from now on: a record (struct activity_snapshot), or NULL. For threads that have one. */
HIDDEN void activity_journal_note(const void *record);
/* The thread ends: its journal is for the next one that begins. */
HIDDEN void activity_journal_end(void);
/* In the child of a fork: it continues with what its thread works for. In activity.c. */
HIDDEN void activity_journal_in_child(void);
/* What the process publishes. */
HIDDEN void activity_journal_publish(const void *payload, size_t size);

#endif
