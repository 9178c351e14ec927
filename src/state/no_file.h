/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that no file backs, as perf tells it by the mapping's name and flags: code in it can only be named by a perf
 * map. */
#ifndef STATE_NO_FILE_H
#define STATE_NO_FILE_H

#include "codec/record.h"

bool mapping_has_no_file(const struct rec_mmap *m);

#endif
