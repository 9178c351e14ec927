/* SPDX-License-Identifier: Apache-2.0 */
/* One record of every kind, with a different value in every field, and the line that `print` makes of it. */
#ifndef UNIT_RECORD_EXAMPLES_H
#define UNIT_RECORD_EXAMPLES_H

#include "codec/record.h"

struct record_example {
	struct record r;
	const char *line;
};

extern const struct record_example record_examples[];
extern const u32 nr_record_examples;

#endif
