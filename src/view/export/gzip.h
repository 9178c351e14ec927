/* SPDX-License-Identifier: Apache-2.0 */
/* Packing with gzip, for what is exchanged that way. */
#ifndef VIEW_EXPORT_GZIP_H
#define VIEW_EXPORT_GZIP_H

#include "base/bytes.h"

/* Appends a gzip file of `in` to `out`. False: there is no memory for it. */
bool gzip_pack(const struct bytes *in, struct bytes *out);

#endif
