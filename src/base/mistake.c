/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mistake.h"

#include <ctype.h>
#include <strings.h>

#define NEAR_LEN 64 /* names longer than that are not compared */
#define SHOWN 100   /* of a long text, so many bytes are shown */

/* Edit distance (insert, delete, replace, swap neighbours), capital letters aside. */
static u32 distance(struct str a, const char *b, u32 nb)
{
	u32 rows[3][NEAR_LEN + 1];
	u32 *before = rows[0], *last = rows[1], *row = rows[2];

	for (u32 j = 0; j <= nb; j++)
		last[j] = j;
	for (u32 i = 1; i <= a.len; i++) {
		u32 *oldest = before;
		int ca = tolower((u8)a.p[i - 1]);

		row[0] = i;
		for (u32 j = 1; j <= nb; j++) {
			int cb = tolower((u8)b[j - 1]);
			u32 d = MIN(MIN(last[j], row[j - 1]) + 1, last[j - 1] + (ca != cb));

			if (i > 1 && j > 1 && ca == tolower((u8)b[j - 2]) && cb == tolower((u8)a.p[i - 2]))
				d = MIN(d, before[j - 2] + 1);
			row[j] = d;
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[nb];
}

/* Keeps the nearest few, nearest first, in the order they were offered. */
void near_offer(struct near *n, const char *name)
{
	u32 len = strnlen(name, NEAR_LEN), limit = MAX(n->want.len / 3, 1u), d, at;

	if (!len || len >= NEAR_LEN || !n->want.len || n->want.len >= NEAR_LEN)
		return;
	if (len > n->want.len + limit || n->want.len > len + limit)
		return;
	d = distance(n->want, name, len);
	if (d > limit)
		return;
	for (at = 0; at < n->n; at++)
		if (!strcasecmp(n->best[at].name, name)) /* "cycles" and libpfm4's "CYCLES" */
			return;
	for (at = 0; at < n->n && n->best[at].distance <= d; at++)
		;
	if (at == ARRAY_LEN(n->best))
		return;
	n->n = MIN(n->n + 1, (u32)ARRAY_LEN(n->best));
	memmove(&n->best[at + 1], &n->best[at], (n->n - at - 1) * sizeof(n->best[0]));
	memcpy(n->best[at].name, name, len + 1);
	n->best[at].distance = d;
}

static void put_near(struct bytes *out, const struct near *n)
{
	bytes_str(out, "\n  did you mean ");
	for (u32 i = 0; i < n->n; i++) {
		bytes_str(out, i == 0 ? "'" : i + 1 == n->n ? " or '" : ", '");
		bytes_plain(out, n->best[i].name, strlen(n->best[i].name));
		bytes_char(out, '\'');
	}
	bytes_char(out, '?');
}

/* Two lines: the text (or the part around the place) and the carets. */
static void put_place(struct bytes *out, const char *text, struct str at)
{
	size_t len = strlen(text), pos = MIN((size_t)(at.p - text), len), from = 0, carets;

	if (len > SHOWN && pos > SHOWN / 2)
		from = MIN(pos - SHOWN / 2, len - SHOWN);
	bytes_str(out, "\n    ");
	bytes_plain(out, text + from, MIN(len - from, (size_t)SHOWN));
	bytes_str(out, "\n    ");
	bytes_repeat(out, ' ', (int)(pos - from));
	carets = MIN(MAX((size_t)at.len, (size_t)1), from + SHOWN - MIN(pos, from + SHOWN));
	bytes_repeat(out, '^', (int)MAX(carets, (size_t)1));
}

int mistake_note(const struct mistake *m, int err, const char *head, const struct notify *to)
{
	struct bytes out = { 0 };

	bytes_plain(&out, head, strlen(head));
	if (m->text)
		put_place(&out, m->text, m->at);
	if (m->near && m->near->n)
		put_near(&out, m->near);
	if (m->hint && *m->hint) {
		bytes_str(&out, "\n  ");
		bytes_plain(&out, m->hint, strnlen(m->hint, 600));
	}
	bytes_char(&out, 0);
	if (to && to->fn)
		to->fn(to->ctx, &(struct note){ NOTE_ERROR, err, NULL, NO_OFFSET, (const char *)out.p, true });
	bytes_free(&out);
	return err;
}
