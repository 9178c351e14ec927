/* SPDX-License-Identifier: Apache-2.0 */
/* The rights that commands which only read give up before they open any file. */
#ifndef CMD_RIGHTS_H
#define CMD_RIGHTS_H

/*
 * Gives up all capabilities, for this process and for programs that it starts. Root keeps what it needs to read and
 * write files as root does (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH), to see the kernel's addresses (CAP_SYSLOG) and to
 * look into the mount namespaces of others (CAP_SYS_PTRACE).
 */
void rights_drop(void);
/* Whoever it is keeps of these four what it has: for who reads what a recorder with such rights has just made. */
void rights_drop_to_reading(void);

#endif
