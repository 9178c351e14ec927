/* SPDX-License-Identifier: Apache-2.0 */
/* A recording in file mode: sections that the header points to. Sections of a sane file do not overlap, which bounds
 * what a hostile one can make us read: all ids together, and all features together, are no larger than the file. */
#include "read/source_impl.h"

#define IDS_SECTION_SIZE 16 /* ends each entry of the attr section */

static struct cursor at_section(const struct source *s, const struct section *where)
{
	const u8 *file = s->maps[0].p;

	if (where->offset > s->file_size || where->size > s->file_size - where->offset)
		return (struct cursor){ .bad = true };
	return cursor_over(file + where->offset, where->size, s->swap);
}

static int read_ids(struct source *s, u32 event, const struct section *where, u64 *ids_left)
{
	struct cursor c = at_section(s, where);
	struct u64s ids;

	if (!where->size)
		return 0;
	if (c.bad)
		return notify_at(s->notify, NOTE_ERROR, ERR_TRUNCATED, s->path, where->offset,
				 "the ids of event %u are beyond the end of the file (the recording is incomplete)",
				 event);
	if (where->size / 8 > *ids_left)
		return notify_at(s->notify, NOTE_ERROR, ERR_FORMAT, s->path, where->offset,
				 "the ids of event %u overlap with those of others", event);
	*ids_left -= where->size / 8;
	ids = cursor_u64s(&c, where->size / 8);
	return source_add_ids(s, event, &ids, where->offset);
}

/* One entry of the attr section: the attr, then (at the entry's end, whatever the attr's own size) where its ids are.
 */
static int read_attr(struct source *s, struct cursor entry, u64 offset, u64 *ids_left)
{
	struct section ids;
	struct attr a;
	u32 event = (u32)s->events.events.n;
	int err = attr_decode(&entry, (u32)cursor_left(&entry) - IDS_SECTION_SIZE, &a, NULL);

	if (err)
		return notify_at(s->notify, NOTE_ERROR, err, s->path, offset,
				 "event %u: its attr does not fit into the file's attr entries", event);
	ids.offset = cursor_u64(&entry);
	ids.size = cursor_u64(&entry);
	err = source_add_event(s, &a, offset);
	return err ? err : read_ids(s, event, &ids, ids_left);
}

static int read_attrs(struct source *s)
{
	const struct perfdata_header *h = &s->header;
	struct cursor c = at_section(s, &h->attrs);
	u64 ids_left = s->file_size / 8, offset = h->attrs.offset;
	int err = 0;

	if (h->attr_size < ATTR_SIZE_MIN + IDS_SECTION_SIZE || h->attr_size > 4096 + IDS_SECTION_SIZE)
		return notify_at(s->notify, NOTE_ERROR, ERR_FORMAT, s->path, 16, "attr entries of %llu bytes",
				 (unsigned long long)h->attr_size);
	if (c.bad)
		return notify_at(s->notify, NOTE_ERROR, ERR_TRUNCATED, s->path, h->attrs.offset,
				 "the attr section is beyond the end of the file (the recording is incomplete)");
	for (; cursor_left(&c) >= h->attr_size && !err; offset += h->attr_size)
		err = read_attr(s, cursor_sub(&c, h->attr_size), offset, &ids_left);
	return err;
}

/* Says which bytes are records. */
static void find_data(struct source *s)
{
	const struct section *d = &s->header.data;
	u64 start = MIN(d->offset, s->file_size), there = s->file_size - start;

	s->data = (const u8 *)s->maps[0].p + start;
	s->data_offset = start;
	s->size = d->size ? MIN(d->size, there) : there;
	if (d->size <= there)
		return;
	s->left_out = d->size - there;
	(void)notify_at(s->notify, NOTE_WARNING, ERR_TRUNCATED, s->path, s->file_size,
			"the file ends %llu bytes before its data does; reading what is there",
			(unsigned long long)s->left_out);
}

static void read_feature(struct source *s, u32 id, const struct section *where, u64 *budget)
{
	struct cursor c = at_section(s, where);
	const char *name = feature_name(id);
	int err;

	if (c.bad || where->size > *budget) {
		(void)notify_at(s->notify, NOTE_WARNING, c.bad ? ERR_TRUNCATED : ERR_FORMAT, s->path, where->offset,
				"feature %s (%u) %s; left out", name ? name : "unknown", id,
				c.bad ? "is beyond the end of the file" : "overlaps with others");
		return;
	}
	*budget -= where->size;
	err = feature_decode(&s->features, (enum feature)id, c, &s->arena);
	if (err)
		(void)notify_at(s->notify, NOTE_WARNING, err, s->path, where->offset,
				"feature %s (%u) does not hold what it claims; left out", name ? name : "unknown", id);
}

/* perf writes the size of the data at the end. Our recorder tells it after each round, with features that stand before
 * the data, or are records at its start; those behind the data come at the end (record/writer.c, recorder_begin_file).
 */
static void note_unfinished(struct source *s, bool all_before)
{
	const u64 *f = s->header.features;

	s->unfinished = !s->header.data.size || all_before || (!(f[0] | f[1] | f[2] | f[3]) && source_read_head(s));
	if (s->unfinished)
		(void)notify_at(s->notify, NOTE_WARNING, 0, s->path, NO_OFFSET,
				"the recorder did not finish this file; reading the %llu bytes that it wrote",
				(unsigned long long)s->size);
}

/* Returns whether there are any and all of them stand before the data. */
static bool read_features(struct source *s)
{
	const struct perfdata_header *h = &s->header;
	u64 start, budget = s->file_size;
	u32 before = 0, others = 0;
	struct cursor table;

	if (!h->data.size || __builtin_add_overflow(h->data.offset, h->data.size, &start))
		return false;
	table = at_section(s, &(struct section){ start, start < s->file_size ? s->file_size - start : 0 });
	for (u32 id = 0; id < 256; id++) {
		struct section where;

		if (!(h->features[id / 64] >> id % 64 & 1))
			continue;
		where.offset = cursor_u64(&table);
		where.size = cursor_u64(&table);
		if (table.bad) {
			(void)notify_at(s->notify, NOTE_WARNING, ERR_TRUNCATED, s->path, start,
					"the file ends before the header features from %s on; left out",
					feature_name(id) ? feature_name(id) : "an unknown one");
			return false;
		}
		before += where.offset < h->data.offset;
		others += where.offset >= h->data.offset;
		read_feature(s, id, &where, &budget);
	}
	return before && !others;
}

int source_read_file(struct source *s, int dir)
{
	int err = read_attrs(s);

	if (err)
		return err;
	find_data(s);
	note_unfinished(s, read_features(s));
	source_find_formats(s);
	if (dir >= 0)
		return source_gather(s, dir);
	if (s->features.dir_version)
		(void)notify_at(s->notify, NOTE_WARNING, 0, s->path, NO_OFFSET,
				"one file of a recording that is a directory; name the directory to read all of it");
	/* A killed recorder may not have said yet that it compressed. */
	if (s->unfinished || s->header.features[0] >> FEAT_COMPRESSED & 1)
		return source_find_compressed(s);
	return 0;
}
