/* SPDX-License-Identifier: Apache-2.0 */
/* Words that options take as their values, for the shells' completion. */
#ifndef CMD_COMPLETE_VALUES_H
#define CMD_COMPLETE_VALUES_H

#include "base/bytes.h"

/* Appends a line per word that the option (its long name, or its letter) of that command takes, parted by commas where
 * it takes several. False: it takes no words that are known. */
bool complete_values(const char *command, const char *option, struct bytes *out);

#endif
