/* SPDX-License-Identifier: Apache-2.0 */
/* What recordings say of activities: a record, labels, and the resource of a process. What is handed out lies in the
 * input. */
#include "codec/activity.h"

#include "fuzz.h"

static void check_inside(struct str s, const u8 *data, size_t size)
{
	u8 sum = 0;

	MUST(!s.len || ((const u8 *)s.p >= data && (const u8 *)s.p + s.len <= data + size));
	for (u32 i = 0; i < s.len; i++)
		sum ^= (u8)s.p[i];
	(void)*(volatile u8 *)&sum;
}

static void check_process(struct str payload, const u8 *data, size_t size)
{
	struct activity_process p;

	activity_process_decode(payload, &p);
	MUST(p.nr_keys <= ACTIVITY_KEYS_MAX);
	check_inside(p.service, data, size);
	for (u32 i = 0; i < p.nr_keys; i++)
		check_inside(p.keys[i], data, size);
}

static void check_labels(struct str labels, const u8 *data, size_t size)
{
	struct cursor c = cursor_over(labels.p, labels.len, false);
	struct str key, value;
	u8 id[16];

	while (cursor_left(&c) && activity_label_next(&c, &key, &value)) {
		check_inside(key, data, size);
		check_inside(value, data, size);
		MUST(activity_label_id(key, value, id) <= ACTIVITY_ROOT_ID);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct activity_record r;
	struct str value;

	check_process((struct str){ (const char *)data, (u32)size }, data, size);
	if (!activity_decode(cursor_over(data, size, false), &r))
		return 0;
	check_inside(r.data, data, size);
	if (r.what == ACTIVITY_PROCESS) {
		check_process(r.data, data, size);
		return 0;
	}
	if (r.what == ACTIVITY_LABELS) {
		check_labels(r.data, data, size);
		return 0;
	}
	for (u32 key = 0; key < 256; key++)
		if (activity_attribute_of(r.data, key, &value))
			check_inside(value, data, size);
	if (activity_trace(r.data))
		check_inside((struct str){ (const char *)activity_trace(r.data), 16 }, data, size);
	if (activity_span(r.data))
		check_inside((struct str){ (const char *)activity_span(r.data), 8 }, data, size);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
