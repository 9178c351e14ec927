/* SPDX-License-Identifier: Apache-2.0 */
/* The program that a command runs: looked up in PATH, with scripts replaced by their interpreter, and its ELF header
 * checked. */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "base/err.h"
#include "base/vec.h"
#include "sys/sim_find.h"

struct sim_program {
	char *path; /* of the ELF file */
	char *name; /* the command's name, without directories */
	enum sim_guest guest;
	VEC(char *) argv; /* its arguments, argv[0] first; owned, without the NULL */
	int status; /* after an error the exit status of a shell: 127 (not found) or 126 (not executable); else 0 */
};

/*
 * Works like execvp: a file that is neither ELF nor a script runs in /bin/sh. ERR_NOTFOUND, ERR_PERM, ERR_IO (it would
 * not start natively either), or ERR_UNSUPPORTED: another architecture, or set-uid to another user, which QEMU cannot
 * do. All are noted.
 */
int sim_program_find(struct sim_program *p, char *const command[], const struct notify *to);
void sim_program_free(struct sim_program *p);

#endif
