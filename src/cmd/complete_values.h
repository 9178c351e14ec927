/* SPDX-License-Identifier: Apache-2.0 */
/* Words that options take as their values, for the shells' completion. */
#ifndef CMD_COMPLETE_VALUES_H
#define CMD_COMPLETE_VALUES_H

#include "base/bytes.h"

/* Appends a line for each word that this option of the command takes as its value. The option is given by its long
 * name or its letter; "" is the first word that is no option. Returns false when no words are known for it. */
bool complete_values(const char *command, const char *option, struct bytes *out);

#endif
