/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the parts of the virtual PMU on this machine: QEMU's user mode, and our plugin for it. */
#ifndef SYS_SIM_FIND_H
#define SYS_SIM_FIND_H

#include "base/types.h"

enum sim_guest { SIM_X86_64, SIM_AARCH64, NR_SIM_GUESTS };

struct sim_guest_kind {
	const char *name;    /* as uname -m has it */
	const char *qemu;    /* the program that runs it */
	const char *sysroot; /* where Debian puts the libraries of a cross compiler; NULL: only in the usual place */
	u16 machine;	     /* EM_* */
};
extern const struct sim_guest_kind sim_guests[NR_SIM_GUESTS];

#define SIM_PACKAGE "qemu-user" /* Debian's; qemu-user-static loads no plugins */

/* Absolute paths; NULL if there is none. Caller frees. */
char *sim_find_qemu(enum sim_guest guest);
/* The plugin that RETICLE_VPMU in the environment names, else the one beside the executable, in the build tree or
 * installed. */
char *sim_find_plugin(void);
/* Does this QEMU load plugins? The function asks it. */
bool sim_takes_plugins(const char *qemu);
/* The version of a QEMU, like "7.2.22", by asking it; NULL if it does not say. Caller frees. */
char *sim_qemu_version(const char *qemu);

#endif
