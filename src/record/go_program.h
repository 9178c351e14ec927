/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs in Go: where the labels of their goroutines are (runtime/pprof.Do, SetGoroutineLabels), for the BPF program
 * that reads them (record/activity_labels.c). The linker of Go writes its version into each program, also where
 * symbols and debug information are left out; that says where the runtime has what.
 */
#ifndef RECORD_GO_PROGRAM_H
#define RECORD_GO_PROGRAM_H

#include "record/activity_prog.h"

#define GO_WHY_NOT 96 /* bytes of that text */

struct go_program {
	bool is_go;
	char why_not[GO_WHY_NOT]; /* why its labels cannot be read; empty: they can, and what follows is set */
	s64 where;		  /* of a thread's goroutine: its distance from the thread pointer */
	enum activity_form form;
	struct activity_go at;
};

/* fd: a file that anybody may have made. *left: how many bytes may be read; it is reduced by what was read. */
void go_program_find(int fd, u64 *left, struct go_program *out);

#endif
