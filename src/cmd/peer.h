/* SPDX-License-Identifier: Apache-2.0 */
/* What perf has and reticle has not, or has under another name: what to do instead, for those who know perf by heart.
 */
#ifndef CMD_PEER_H
#define CMD_PEER_H

#include <stddef.h>

/* NULL where there is nothing to say. */
const char *peer_command_hint(const char *name);
/* An option of that command, by its letter or (letter 0) by its long name. */
const char *peer_option_hint(const char *command, char letter, const char *name, size_t len);

#endif
