/* SPDX-License-Identifier: Apache-2.0 */
#include "io/recorder_impl.h"

void recorder_features(struct recorder *r, struct features *f, struct arena *arena)
{
	(void)r;
	(void)f;
	(void)arena;
}
