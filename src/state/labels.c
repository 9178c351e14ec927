/* SPDX-License-Identifier: Apache-2.0 */
#include "state/labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

#define AT_SPAN 16
#define AT_VALID 24
#define AT_ATTRS_SIZE 26
#define ROOT_NAME "datadog.local_root_span_id" /* as threads of other programs have it, in hexadecimal digits */

void labels_free(struct labels *l)
{
	for (size_t i = 0; i < l->processes.n; i++) {
		vec_free(&l->processes.v[i]->names);
		free(l->processes.v[i]);
	}
	vec_free(&l->processes);
	set_free(&l->known);
}

static struct label_keys *keys_of(struct labels *l, u32 pid, u64 image)
{
	u64 hash = hash_pair(pid, image);
	struct label_keys *keys;
	u32 id, at;

	SET_FIND(id, &l->known, hash, at, l->processes.v[id]->pid == pid && l->processes.v[id]->image == image);
	if (id != ID_NONE)
		return l->processes.v[id];
	keys = mem_zalloc(sizeof(*keys));
	keys->pid = pid;
	keys->image = image;
	set_add(&l->known, hash, (u32)l->processes.n);
	vec_push(&l->processes, keys);
	return keys;
}

static u32 number_of(struct label_keys *keys, struct str name)
{
	for (u32 i = 0; i < keys->names.n; i++)
		if (keys->names.v[i].len == name.len && !memcmp(keys->names.v[i].p, name.p, name.len))
			return i;
	if (keys->names.n == ACTIVITY_KEYS_MAX)
		return ID_NONE;
	vec_push(&keys->names, name);
	return (u32)keys->names.n - 1;
}

static void put_attribute(struct labelled *out, struct label_keys *keys, struct str name, struct str value)
{
	u32 number = number_of(keys, name);

	if (number != ID_NONE && out->met[number / 64] >> number % 64 & 1)
		return;
	if (number == ID_NONE || LABELS_RECORD - out->size < 2 + value.len) {
		out->whole = false;
		return;
	}
	out->met[number / 64] |= 1ull << number % 64;
	out->record[out->size++] = (u8)number;
	out->record[out->size++] = (u8)value.len;
	memcpy(out->record + out->size, value.p, value.len);
	out->size += value.len;
}

static void put_root(struct labelled *out, struct label_keys *keys, const u8 *id)
{
	struct bytes text = { 0 };

	bytes_hex_of(&text, id, 8);
	put_attribute(out, keys, (struct str){ ROOT_NAME, strlen(ROOT_NAME) },
		      (struct str){ (const char *)text.p, (u32)text.len });
	bytes_free(&text);
}

void labels_take(struct labels *l, u32 pid, const struct activity_record *r, struct labelled *out)
{
	struct label_keys *keys = keys_of(l, pid, r->image);
	struct cursor c = cursor_over(r->data.p, r->data.len, false);
	struct str key, value, so_far = { (const char *)out->record, ACTIVITY_FIXED };
	u16 size;
	u8 id[16];

	/* Of two labels of a name the first one counts. */
	memset(out->record, 0, ACTIVITY_FIXED);
	out->size = ACTIVITY_FIXED;
	out->whole = true;
	out->keys = keys;
	memset(out->met, 0, sizeof(out->met));
	while (cursor_left(&c) && activity_label_next(&c, &key, &value)) {
		switch (activity_label_id(key, value, id)) {
		case ACTIVITY_TRACE_ID:
			if (!activity_trace(so_far))
				memcpy(out->record, id, 16);
			break;
		case ACTIVITY_SPAN_ID:
			if (!activity_span(so_far))
				memcpy(out->record + AT_SPAN, id, 8);
			break;
		case ACTIVITY_ROOT_ID:
			put_root(out, keys, id);
			break;
		case ACTIVITY_NO_ID:
			put_attribute(out, keys, key, value);
			break;
		}
	}
	size = (u16)(out->size - ACTIVITY_FIXED);
	out->record[AT_VALID] = 1;
	memcpy(out->record + AT_ATTRS_SIZE, &size, sizeof(size));
}
