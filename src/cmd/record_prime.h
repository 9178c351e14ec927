/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Priming: when a recording has ended, the symbol tables of what it met are put into the symbol cache, and of a small
 * recording also what DWARF says of its addresses, so that the first report need not work them out. What belonged to
 * processes in other root directories, and can no longer be found by then, is put there by build id.
 */
#ifndef CMD_RECORD_PRIME_H
#define CMD_RECORD_PRIME_H

#include "record/met.h"

struct priming;

struct priming *priming_new(void);
void priming_free(struct priming *p); /* NULL is fine */
struct record_met priming_met(struct priming *p);
/*
 * Does it for the recording at path, in a process of its own that has given up its rights and has a lower priority,
 * and waits for it: until that, or the one that parses for it, has used three seconds of the processor, and 20 seconds
 * at most. Nothing is begun when there is nothing to do, or no cache. The size of a compressed recording does not say
 * how much it holds, so none counts as small. Whatever goes wrong is not told: then the report does the work.
 */
void priming_run(const struct priming *p, const char *path, bool compressed);

#endif
