/* SPDX-License-Identifier: Apache-2.0 */
/* What was noted, for tests that read the last note. */
#ifndef UNIT_NOTES_H
#define UNIT_NOTES_H

#include <stdio.h>

#include "base/err.h"

#define NOTE_ROOM 2048

/* Keeps a note's text in the char[NOTE_ROOM] that ctx is; a longer one is cut. */
static inline void keep_note(void *ctx, const struct note *note)
{
	snprintf(ctx, NOTE_ROOM, "%s", note->text);
}

#endif
