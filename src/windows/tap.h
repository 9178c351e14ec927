/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder shows to others of the records that pass on their way from the rings. */
#ifndef WINDOWS_TAP_H
#define WINDOWS_TAP_H

#include "codec/record.h"

/* One who looks at them. A record is whole, and valid until the call returns. */
struct flow_tap {
	void (*sample)(void *ctx, const u8 *record, u16 size);
	void (*other)(void *ctx, const struct record *r);
	void *ctx;
};

#endif
