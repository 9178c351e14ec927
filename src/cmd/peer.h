/* SPDX-License-Identifier: Apache-2.0 */
/* Hints for users of perf: what to do where perf has a command or option that reticle lacks or names differently. */
#ifndef CMD_PEER_H
#define CMD_PEER_H

#include <stddef.h>

/* A hint for a command of perf, or NULL if there is none. */
const char *peer_command_hint(const char *name);
/* A hint for an option of that command, or NULL. The option is given by its letter or, if letter is 0, by its long
 * name. */
const char *peer_option_hint(const char *command, char letter, const char *name, size_t len);

#endif
