/* SPDX-License-Identifier: Apache-2.0 */
/* In place of top_screen.c where there is no ncurses: top prints its tables. */
#include "cmd/top.h"

int top_screen_open(struct top_screen **out, bool color)
{
	(void)color;
	*out = NULL;
	return ERR_UNSUPPORTED;
}

void top_screen_close(struct top_screen *s)
{
	(void)s;
}

void top_screen_draw(struct top_screen *s, const struct top_frame *f, struct top_state *t)
{
	(void)s;
	(void)f;
	(void)t;
}

u32 top_screen_columns(const struct top_screen *s)
{
	(void)s;
	return 0;
}

enum top_wish top_screen_key(struct top_screen *s, const struct top_frame *f, struct top_state *t)
{
	(void)s;
	(void)f;
	(void)t;
	return TOP_NONE;
}
