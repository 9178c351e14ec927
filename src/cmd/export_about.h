/* SPDX-License-Identifier: Apache-2.0 */
/* When and where a recording was made, for profiles that are sent away. */
#ifndef CMD_EXPORT_ABOUT_H
#define CMD_EXPORT_ABOUT_H

#include "read/source.h"
#include "view/export/about.h"

/* Of the samples in p. */
void profile_about(const struct source *src, const struct profile *p, bool inlined, struct export_about *out);

#endif
