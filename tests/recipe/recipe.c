/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes, read: each line becomes an option, an event, a feature or an encoded record. */
#include "recipe/recipe.h"

#include <stdlib.h>

#include "recipe/fields.h"

static int fail(const struct recipe *r, const char *what, const char *word)
{
	return notify_at(r->notify, NOTE_ERROR, ERR_FORMAT, r->name, NO_OFFSET, "line %u: %s '%s'", r->line, what,
			 word);
}

static const char *arg(const struct line *l, const char *key)
{
	for (u32 i = 0; i < l->n; i++)
		if (!strcmp(l->args[i].key, key))
			return l->args[i].value ? l->args[i].value : "";
	return NULL;
}

/* mode=pipe and the like: one word. */
static int parse_option(struct recipe *r, const char *word)
{
	const char *eq = strchr(word, '=');

	if (!strcmp(word, "mode=pipe"))
		r->pipe = true;
	else if (!strcmp(word, "mode=file"))
		r->pipe = false;
	else if (!strcmp(word, "order=big"))
		r->big = true;
	else if (!strcmp(word, "order=little"))
		r->big = false;
	else if (!strcmp(word, "compressed=zstd"))
		r->packing = PACK_ZSTD;
	else if (!strcmp(word, "compressed=zstd2"))
		r->packing = PACK_ZSTD2;
	else if (!strcmp(word, "sample_id_all=off"))
		r->no_sample_id_all = true;
	else if (!strcmp(word, "event_desc=off"))
		r->no_event_desc = true;
	else if (!strcmp(word, "finished=no"))
		r->unfinished = true;
	else if (!strncmp(word, "attr_size=", 10))
		r->attr_size = (u32)strtoul(eq + 1, NULL, 0);
	else if (!strncmp(word, "chunk=", 6))
		r->chunk = MAX((u32)strtoul(eq + 1, NULL, 0), 1u);
	else if (!strncmp(word, "cut=", 4))
		r->cut = strtoull(eq + 1, NULL, 0);
	else
		return fail(r, "unknown option", word);
	return 0;
}

static int parse_event(struct recipe *r, const struct line *l)
{
	struct attr a = { .type = PERF_TYPE_SOFTWARE,
			  .sample_period = 1,
			  .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
			  .flags = ATTR_MMAP | ATTR_MMAP2 | ATTR_COMM | ATTR_TASK | ATTR_EXCLUDE_GUEST };
	struct u64s ids = { 0 };
	u64 leader = r->events.events.n;
	struct event *e;
	u32 index;

	for (u32 i = 0; i < l->n; i++) {
		const char *key = l->args[i].key, *value = l->args[i].value;
		bool bad = false;

		if (!strcmp(key, "ids"))
			bad = !value_list(value, NULL, &r->arena, &ids);
		else if (!strcmp(key, "leader"))
			bad = !value_number(value, NULL, &leader) || leader > r->events.events.n;
		else if (!field_set(attr_fields, &a, key, value, &r->arena, &bad))
			return fail(r, "event: unknown key", key);
		if (bad)
			return fail(r, "event: bad value of", key);
	}
	if (!r->no_sample_id_all)
		a.flags |= ATTR_SAMPLE_ID_ALL;
	a.size = r->attr_size ? r->attr_size : attr_least_size(&a);
	index = evlist_add(&r->events, &a, l->text.p ? arena_strndup(&r->arena, l->text.p, l->text.len) : NULL, NULL);
	for (u32 i = 0; i < ids.n; i++)
		evlist_add_id(&r->events, index, u64s_at(&ids, i));
	e = &r->events.events.v[index];
	e->leader = (u32)leader;
	return 0;
}

/* "name=value ..." of one PMU. */
static bool parse_caps(struct recipe *r, const char *pmu, char *text)
{
	struct feat_caps caps = { .pmu = pmu };
	const char **names = arena_array(&r->arena, const char *, strlen(text) + 1);
	const char **values = arena_array(&r->arena, const char *, strlen(text) + 1);

	for (char *w = strtok(text, " "); w; w = strtok(NULL, " ")) {
		char *equal = strchr(w, '=');

		if (!equal)
			return false;
		*equal = 0;
		names[caps.nr] = w;
		values[caps.nr++] = equal + 1;
	}
	caps.names = names;
	caps.values = values;
	vec_push(&r->features.caps, caps);
	r->features.present[0] |= 1ull << (strcmp(pmu, "cpu") ? FEAT_PMU_CAPS : FEAT_CPU_PMU_CAPS);
	return true;
}

static int parse_build_id(struct recipe *r, const struct line *l)
{
	struct features *f = &r->features;
	struct rec_build_id id = { .pid = UINT32_MAX };
	struct str bytes;
	u64 misc = 0;

	if (!value_hex(arg(l, "id"), &r->arena, &bytes) || bytes.len > sizeof(id.build_id) ||
	    !value_number(arg(l, "misc") ? arg(l, "misc") : "user", misc_names, &misc))
		return fail(r, "feature: bad value of", "id");
	memcpy(id.build_id, bytes.p, bytes.len);
	id.size = (u8)bytes.len;
	id.filename = l->text;
	vec_push(&f->build_ids, id);
	vec_push(&f->build_id_misc, (u16)misc);
	f->present[0] |= 1ull << FEAT_BUILD_ID;
	return 0;
}

static int parse_feature(struct recipe *r, const struct line *l)
{
	struct features *f = &r->features;
	const char *name = l->n ? l->args[0].key : "";
	const char *text = l->text.p ? arena_strndup(&r->arena, l->text.p, l->text.len) : "";
	const struct {
		const char *name, **at;
		enum feature id;
	} texts[] = {
		{ "hostname", &f->hostname, FEAT_HOSTNAME }, { "osrelease", &f->osrelease, FEAT_OSRELEASE },
		{ "version", &f->version, FEAT_VERSION },    { "arch", &f->arch, FEAT_ARCH },
		{ "cpudesc", &f->cpudesc, FEAT_CPUDESC },    { "cpuid", &f->cpuid, FEAT_CPUID },
	};
	u64 a = 0, b = 0;

	for (u32 i = 0; i < ARRAY_LEN(texts); i++)
		if (!strcmp(texts[i].name, name)) {
			*texts[i].at = text;
			f->present[0] |= 1ull << texts[i].id;
			return 0;
		}
	if (!strcmp(name, "nrcpus") && value_number(arg(l, "online"), NULL, &a) &&
	    value_number(arg(l, "avail"), NULL, &b)) {
		f->nr_cpus_online = (u32)a;
		f->nr_cpus_avail = (u32)b;
		f->present[0] |= 1ull << FEAT_NRCPUS;
	} else if (!strcmp(name, "total_mem") && value_number(arg(l, "kb"), NULL, &a)) {
		f->total_mem_kb = a;
		f->present[0] |= 1ull << FEAT_TOTAL_MEM;
	} else if (!strcmp(name, "sample_time") && value_number(arg(l, "first"), NULL, &a) &&
		   value_number(arg(l, "last"), NULL, &b)) {
		f->first_sample_time = a;
		f->last_sample_time = b;
		f->present[0] |= 1ull << FEAT_SAMPLE_TIME;
	} else if (!strcmp(name, "cmdline")) {
		const char **words = arena_array(&r->arena, const char *, strlen(text) + 1);

		for (char *w = strtok((char *)text, " "); w; w = strtok(NULL, " "))
			words[f->nr_cmdline++] = w;
		f->cmdline = words;
		f->present[0] |= 1ull << FEAT_CMDLINE;
	} else if (!strcmp(name, "caps") && arg(l, "pmu")) {
		if (!parse_caps(r, arena_strndup(&r->arena, arg(l, "pmu"), strlen(arg(l, "pmu"))), (char *)text))
			return fail(r, "feature: bad value of", "caps");
	} else if (!strcmp(name, "build_id")) {
		return parse_build_id(r, l);
	} else {
		return fail(r, "unknown feature, or one without its values:", name);
	}
	return 0;
}

/* Keys that lines of records and samples share: 1 done, 0 not one of them, negative error. */
static int parse_common(struct recipe *r, const char *key, const char *value, struct recipe_record *out)
{
	u64 v;

	if (strcmp(key, "event"))
		return 0;
	if (!value_number(value, NULL, &v) || v >= r->events.events.n)
		return fail(r, "no event of that index:", value ? value : "");
	out->event = (u32)v;
	return 1;
}

static u64 default_id(const struct recipe *r, u32 event)
{
	const struct event *e = &r->events.events.v[event];

	return e->ids.n ? e->ids.v[0] : 0;
}

static int parse_sample(struct recipe *r, const struct line *l)
{
	struct recipe_record out = { .at = r->bytes.len };
	struct sample s = { .misc = PERF_RECORD_MISC_USER };
	const struct event *e;
	struct str hex;
	int err = 0;

	for (u32 i = 0; i < l->n && err >= 0; i++) {
		const char *key = l->args[i].key, *value = l->args[i].value;
		bool bad = false;

		err = parse_common(r, key, value, &out);
		if (err)
			continue;
		if (!strcmp(key, "raw")) {
			bad = !value_hex(value, &r->arena, &hex);
			s.raw = (const u8 *)hex.p;
			s.raw_size = bad ? 0 : hex.len;
		} else if (!strcmp(key, "stack")) {
			bad = !value_hex(value, &r->arena, &hex);
			s.stack_user = (const u8 *)hex.p;
			s.stack_user_size = bad ? 0 : hex.len;
		} else if (!strcmp(key, "tls")) {
			bad = !value_hex(value, &r->arena, &hex);
			s.tls_user = (const u8 *)hex.p;
			s.tls_user_size = bad ? 0 : hex.len;
		} else if (!strcmp(key, "aux")) {
			bad = !value_hex(value, &r->arena, &hex);
			s.aux = (const u8 *)hex.p;
			s.aux_size = bad ? 0 : hex.len;
		} else if (!field_set(sample_fields, &s, key, value, &r->arena, &bad)) {
			return fail(r, "sample: unknown key", key);
		}
		if (bad)
			return fail(r, "sample: bad value of", key);
	}
	if (err < 0)
		return err;
	if (out.event >= r->events.events.n)
		return fail(r, "sample before any", "event");
	e = &r->events.events.v[out.event];
	if (!arg(l, "tid"))
		s.tid = s.pid;
	if (!arg(l, "id"))
		s.id = default_id(r, out.event);
	s.nr_branches = s.branches.n / 3;
	s.read.nr = e->layout.read_stride ? s.read.raw.n / e->layout.read_stride : 0;
	err = sample_encode(&e->layout, &s, &r->bytes);
	vec_push(&r->records, out);
	return err ? fail(r, "too large:", "sample") : 0;
}

/* Values that are bytes, not members of a fixed size: 1 done, 0 not one of them, negative error. */
static int parse_bytes_key(struct recipe *r, struct record *rec, const char *key, const char *value,
			   struct str *payload)
{
	struct str hex;

	if (strcmp(key, "build_id") && strcmp(key, "payload") && strcmp(key, "old") && strcmp(key, "new"))
		return 0;
	if (!value_hex(value, &r->arena, &hex))
		return fail(r, "bad hex bytes in", key);
	if (!strcmp(key, "payload")) {
		*payload = hex;
		if (rec->h.type == PERF_RECORD_AUXTRACE)
			rec->auxtrace.size = hex.len;
	} else if (!strcmp(key, "build_id") && hex.len <= sizeof(rec->mmap.build_id)) {
		memcpy(rec->mmap.build_id, hex.p, hex.len);
		rec->mmap.build_id_size = (u8)hex.len;
	} else if (!strcmp(key, "old")) {
		rec->text_poke.old_len = (u16)hex.len;
		rec->text_poke.bytes = (const u8 *)hex.p;
	} else if (!strcmp(key, "new")) {
		u32 old = rec->text_poke.old_len;
		u8 *both = arena_alloc(&r->arena, old + hex.len, 1);

		if (old)
			memcpy(both, rec->text_poke.bytes, old);
		memcpy(both + old, hex.p, hex.len);
		rec->text_poke.new_len = (u16)hex.len;
		rec->text_poke.bytes = both;
	}
	return 1;
}

static int parse_record(struct recipe *r, const struct record_row *row, const struct line *l)
{
	struct recipe_record out = { .at = r->bytes.len };
	struct record rec = { .h.type = row->type };
	struct str payload = { 0 };
	const struct trailer_layout *trailer = NULL;
	int err = 0;

	for (u32 i = 0; i < l->n; i++) {
		const char *key = l->args[i].key, *value = l->args[i].value;
		bool bad = false, known;

		err = parse_common(r, key, value, &out);
		if (!err)
			err = parse_bytes_key(r, &rec, key, value, &payload);
		if (err < 0)
			return err;
		if (err)
			continue;
		known = field_set(row->fields, &rec, key, value, &r->arena, &bad);
		known |= field_set(sid_fields, &rec, key, value, &r->arena, &bad);
		if (!known)
			return fail(r, "unknown key", key);
		if (!strcmp(key, "pid") && !arg(l, "tid")) {
			field_set(row->fields, &rec, "tid", value, &r->arena, &bad);
			field_set(sid_fields, &rec, "tid", value, &r->arena, &bad);
		}
		if (bad)
			return fail(r, "bad value of", key);
	}
	if (row->text)
		memcpy((u8 *)&rec + row->text, &l->text, sizeof(l->text));
	if (out.event < r->events.events.n) {
		trailer = &r->events.events.v[out.event].trailer;
		if (!arg(l, "sid"))
			rec.sid.id = default_id(r, out.event);
	}
	err = record_encode(&rec, trailer, &r->bytes);
	if (err)
		return fail(r, "too large:", row->word);
	bytes_put(&r->bytes, payload.p, payload.len);
	out.payload = payload.len;
	vec_push(&r->records, out);
	return 0;
}

/* record type=N misc=N data=HEX: any bytes under a header; for types that nobody knows, and for broken ones. */
static int parse_raw_record(struct recipe *r, const struct line *l)
{
	u64 type, misc, size;
	struct str data = { 0 };

	if (!value_number(arg(l, "type"), NULL, &type) ||
	    !value_number(arg(l, "misc") ? arg(l, "misc") : "0", misc_names, &misc) ||
	    (arg(l, "data") && !value_hex(arg(l, "data"), &r->arena, &data)))
		return fail(r, "bad value in", "record");
	size = data.len + 8;
	if (arg(l, "size") && !value_number(arg(l, "size"), NULL, &size))
		return fail(r, "bad value of", "size");
	vec_push(&r->records, (struct recipe_record){ .at = r->bytes.len });
	bytes_u32(&r->bytes, (u32)type);
	bytes_u16(&r->bytes, (u16)misc);
	bytes_u16(&r->bytes, (u16)size);
	bytes_put(&r->bytes, data.p, data.len);
	return 0;
}

static int parse_line(struct recipe *r, const struct line *l)
{
	if (strchr(l->word, '='))
		return parse_option(r, l->word);
	if (!strcmp(l->word, "event"))
		return parse_event(r, l);
	if (!strcmp(l->word, "feature"))
		return parse_feature(r, l);
	if (!strcmp(l->word, "sample"))
		return parse_sample(r, l);
	if (!strcmp(l->word, "record"))
		return parse_raw_record(r, l);
	for (u32 i = 0; i < nr_record_rows; i++)
		if (!strcmp(record_rows[i].word, l->word))
			return parse_record(r, &record_rows[i], l);
	return fail(r, "unknown word", l->word);
}

int recipe_parse(struct recipe *r, const char *name, const char *text, size_t len, const struct notify *notify)
{
	const char *end = text + len;
	int err = 0;

	*r = (struct recipe){ .notify = notify, .name = name, .chunk = 200 };
	while (text < end && !err) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		const char *stop = nl ? nl : end;
		struct line l;

		r->line++;
		if (!line_split(&l, text, (size_t)(stop - text), &r->arena))
			return fail(r, "cannot read", "line");
		if (l.word && !strcmp(l.word, "expect"))
			break;
		if (l.word)
			err = parse_line(r, &l);
		text = nl ? nl + 1 : end;
	}
	return err;
}

void recipe_free(struct recipe *r)
{
	evlist_free(&r->events);
	features_free(&r->features);
	bytes_free(&r->bytes);
	vec_free(&r->records);
	arena_free(&r->arena);
}
