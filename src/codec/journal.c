/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/journal.h"

#include <string.h>

#define RING_MAGIC "RETJRNL1"
#define PUBLICATION_MAGIC "RETPROC1"
#define AT_VALID 24
#define AT_SIZE 26
#define VALID 1

bool journal_ring_decode(const u8 *p, struct journal_head *out)
{
	struct cursor c = cursor_over(p, JOURNAL_HEAD, false);
	const u8 *magic = cursor_bytes(&c, 8);
	u32 slot_size;

	*out = (struct journal_head){ 0 };
	out->slots = cursor_u32(&c);
	slot_size = cursor_u32(&c);
	out->pid = cursor_u32(&c);
	out->started = cursor_u32(&c);
	out->image = cursor_u64(&c);
	out->processes = cursor_u64(&c);
	out->clocks = cursor_u64(&c);
	return !memcmp(magic, RING_MAGIC, 8) && slot_size == JOURNAL_SLOT && out->slots &&
	       out->slots <= JOURNAL_MOST_SLOTS && !(out->slots & (out->slots - 1)) && out->pid;
}

bool journal_publication_decode(const u8 *p, struct journal_head *out)
{
	struct cursor c = cursor_over(p, JOURNAL_PUBLISHED_AT, false);
	const u8 *magic = cursor_bytes(&c, 8);

	*out = (struct journal_head){ 0 };
	out->pid = cursor_u32(&c);
	out->size = cursor_u32(&c);
	out->image = cursor_u64(&c);
	out->processes = cursor_u64(&c);
	out->clocks = cursor_u64(&c);
	out->time = cursor_u64(&c);
	return !memcmp(magic, PUBLICATION_MAGIC, 8) && out->pid && out->time;
}

bool journal_slot_holds(const u8 *slot, u64 n)
{
	u32 number;

	memcpy(&number, slot, sizeof(number));
	return number == (u32)n + 1;
}

enum journal_slot journal_slot_decode(const u8 *slot, struct journal_entry *out)
{
	struct cursor c = cursor_over(slot, JOURNAL_SLOT, false);
	u16 attrs;

	cursor_skip(&c, 4);
	out->tid = cursor_u32(&c);
	out->time = cursor_u64(&c);
	memcpy(out->record, cursor_bytes(&c, JOURNAL_RECORD_MAX), JOURNAL_RECORD_MAX);
	memcpy(&attrs, out->record + AT_SIZE, sizeof(attrs));
	out->size = 0;
	if (!out->tid || !out->time || out->record[AT_VALID] > VALID)
		return JOURNAL_REFUSED;
	if (out->record[AT_VALID] != VALID)
		return JOURNAL_WHOLE;
	if (attrs > JOURNAL_RECORD_MAX - ACTIVITY_FIXED)
		return JOURNAL_REFUSED;
	out->size = (u16)(ACTIVITY_FIXED + attrs);
	return JOURNAL_WHOLE;
}
