/* SPDX-License-Identifier: Apache-2.0 */
/* The program that a command comes to: found in PATH, scripts followed to their interpreter, its ELF header checked.
 */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "base/err.h"
#include "base/vec.h"
#include "sys/sim_find.h"

struct sim_program {
	char *path; /* of the ELF file */
	char *name; /* of what was asked for, without directories */
	enum sim_guest guest;
	VEC(char *) argv; /* what it gets, argv[0] first; owned, without the NULL */
	int status;	  /* with an error: what a shell would say, 127 (not there) or 126 (not executable); else 0 */
};

/*
 * As execvp would: a file that is neither ELF nor a script runs in /bin/sh. ERR_NOTFOUND, ERR_PERM, ERR_IO (it would
 * not start natively either), or ERR_UNSUPPORTED: another architecture, or set-uid to somebody else, which QEMU cannot
 * give. All noted.
 */
int sim_program_find(struct sim_program *p, char *const command[], const struct notify *to);
void sim_program_free(struct sim_program *p);

#endif
