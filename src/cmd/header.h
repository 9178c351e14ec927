/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Header: what a recording says about itself as a whole, such as the machine, the command line and the events. It is
 * what `report --header` and `script --header` print.
 */
#ifndef CMD_HEADER_H
#define CMD_HEADER_H

#include "read/source.h"

/* Appends lines that begin with #, as perf report --header prints them. all: features with many entries (such as the
 * topology) are printed in full, not in short. */
void print_header(const struct source *s, bool all, struct bytes *out);

#endif
