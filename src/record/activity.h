/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activities: which request each thread works for, in each sample. A BPF program reads that (record/activity_prog.h);
 * this finds out for it where the programs of sampled processes have their thread context (OTEP 4947) and their
 * process context (OTEP 4719), whenever it asks. Nothing is read here of a process's memory: only its mappings, and
 * the files that it has mapped.
 */
#ifndef RECORD_ACTIVITY_H
#define RECORD_ACTIVITY_H

#include "open/set.h"

struct activities;

/* Loads the program: who may not is told so before anything else is refused. 0, or a negative enum err (noted). */
int activities_begin(struct activities **out, const struct notify *to);
/* Attaches it to all events of the set that take samples. */
int activities_attach(struct activities *a, const struct event_set *set);
/* Where later notes go. */
void activities_tell(struct activities *a, const struct notify *to);
void activities_end(struct activities *a); /* NULL is fine */

/* Readable when there are questions; */
int activities_fd(const struct activities *a);
/* answers some of them, for 20 ms and what the last answer takes. */
void activities_answer(struct activities *a);
/* A new file begins: all threads are written again. */
void activities_renew(struct activities *a);

#endif
