/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_HEADER_H
#define CMD_HEADER_H

#include "read/source.h"

/* Prints what is known about the recording as a whole, in lines that begin with #, as perf report --header does. With
 * all, long features are printed in full. */
void print_header(const struct source *s, bool all, struct bytes *out);

#endif
