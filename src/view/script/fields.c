/* SPDX-License-Identifier: Apache-2.0 */
#include "view/script/fields.h"

#include <stdio.h>
#include <string.h>

#include "base/mistake.h"

#define BASICS (SCRIPT_COMM | SCRIPT_TID | SCRIPT_CPU | SCRIPT_TIME | SCRIPT_EVENT)
#define PLACE (SCRIPT_IP | SCRIPT_SYM | SCRIPT_SYMOFF | SCRIPT_DSO)
#define NOT_FOR_PMU (SCRIPT_TRACE | SCRIPT_BPF_OUTPUT)
#define PERF_TYPE_SYNTHETIC ((u32)INT32_MAX + 1u)

static const struct {
	const char *word, *name; /* in -F, in messages */
	u64 defaults, invalid;
} kinds[NR_SCRIPT_KINDS] = {
	[SCRIPT_HW] = { "hw", "hardware", BASICS | PLACE | SCRIPT_PERIOD, NOT_FOR_PMU },
	[SCRIPT_SW] = { "sw", "software", BASICS | PLACE | SCRIPT_PERIOD | SCRIPT_BPF_OUTPUT, SCRIPT_TRACE },
	[SCRIPT_TP] = { "trace", "tracepoint", BASICS | SCRIPT_TRACE, 0 },
	[SCRIPT_CACHE] = { NULL, "hardware-cache", BASICS | PLACE | SCRIPT_PERIOD, NOT_FOR_PMU },
	[SCRIPT_RAW] = { "raw", "raw",
			 BASICS | PLACE | SCRIPT_PERIOD | SCRIPT_ADDR | SCRIPT_DATA_SRC | SCRIPT_WEIGHT |
				 SCRIPT_PHYS_ADDR | SCRIPT_DATA_PAGE_SIZE | SCRIPT_CODE_PAGE_SIZE | SCRIPT_INS_LAT,
			 NOT_FOR_PMU },
	[SCRIPT_BREAK] = { "break", "breakpoint", BASICS | PLACE | SCRIPT_PERIOD, NOT_FOR_PMU },
	[SCRIPT_SYNTH] = { "synth", "synth", BASICS | PLACE, NOT_FOR_PMU },
	[SCRIPT_OTHER] = { NULL, "other", BASICS | PLACE | SCRIPT_PERIOD, NOT_FOR_PMU },
};

/* needs: sample_type bits of which one must be there; 0: always to be had. label: what messages call them. */
static const struct field_row {
	const char *name;
	u64 bit;
	u64 needs;
	const char *label;
} fields[] = {
	{ "comm", SCRIPT_COMM, 0, NULL },
	{ "tid", SCRIPT_TID, PERF_SAMPLE_TID, "TID" },
	{ "pid", SCRIPT_PID, PERF_SAMPLE_TID, "TID" },
	{ "time", SCRIPT_TIME, PERF_SAMPLE_TIME, "TIME" },
	{ "cpu", SCRIPT_CPU, PERF_SAMPLE_CPU, "CPU" },
	{ "event", SCRIPT_EVENT, 0, NULL },
	{ "trace", SCRIPT_TRACE, 0, NULL },
	{ "ip", SCRIPT_IP, PERF_SAMPLE_IP, "IP" },
	{ "sym", SCRIPT_SYM, 0, NULL },
	{ "dso", SCRIPT_DSO, 0, NULL },
	{ "dsoff", SCRIPT_DSOFF, 0, NULL },
	{ "addr", SCRIPT_ADDR, PERF_SAMPLE_ADDR, "ADDR" },
	{ "symoff", SCRIPT_SYMOFF, 0, NULL },
	{ "srcline", SCRIPT_SRCLINE, 0, NULL },
	{ "period", SCRIPT_PERIOD, 0, NULL },
	{ "iregs", SCRIPT_IREGS, PERF_SAMPLE_REGS_INTR, "IREGS" },
	{ "uregs", SCRIPT_UREGS, PERF_SAMPLE_REGS_USER, "UREGS" },
	{ "brstack", SCRIPT_BRSTACK, 0, NULL },
	{ "brstacksym", SCRIPT_BRSTACKSYM, 0, NULL },
	{ "brstackoff", SCRIPT_BRSTACKOFF, 0, NULL },
	{ "brcntr", SCRIPT_BRCNTR, 0, NULL },
	{ "flags", SCRIPT_FLAGS, 0, NULL },
	{ "data_src", SCRIPT_DATA_SRC, PERF_SAMPLE_DATA_SRC, "DATA_SRC" },
	{ "weight", SCRIPT_WEIGHT, PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, "WEIGHT" },
	{ "bpf-output", SCRIPT_BPF_OUTPUT, 0, NULL },
	{ "phys_addr", SCRIPT_PHYS_ADDR, PERF_SAMPLE_PHYS_ADDR, "PHYS_ADDR" },
	{ "misc", SCRIPT_MISC, 0, NULL },
	{ "tod", SCRIPT_TOD, 0, NULL },
	{ "data_page_size", SCRIPT_DATA_PAGE_SIZE, PERF_SAMPLE_DATA_PAGE_SIZE, "DATA_PAGE_SIZE" },
	{ "code_page_size", SCRIPT_CODE_PAGE_SIZE, PERF_SAMPLE_CODE_PAGE_SIZE, "CODE_PAGE_SIZE" },
	{ "ins_lat", SCRIPT_INS_LAT, PERF_SAMPLE_WEIGHT_STRUCT, "WEIGHT_STRUCT" },
	{ "cgroup", SCRIPT_CGROUP, PERF_SAMPLE_CGROUP, "CGROUP" },
	{ "insn", SCRIPT_INSN, PERF_SAMPLE_IP, "IP" },
	{ "insnlen", SCRIPT_INSNLEN, PERF_SAMPLE_IP, "IP" },
	{ "disasm", SCRIPT_DISASM, PERF_SAMPLE_IP, "IP" },
	{ "tls", SCRIPT_TLS, PERF_SAMPLE_TLS_USER, "TLS_USER" },
	{ "activity", SCRIPT_ACTIVITY, 0, NULL },
	{ "machine_pid", SCRIPT_NOTHING, 0, NULL },
	{ "vcpu", SCRIPT_NOTHING, 0, NULL },
	{ "synth", SCRIPT_NOTHING, 0, NULL },
	{ "ipc", SCRIPT_NOTHING, 0, NULL },
	{ "callindent", SCRIPT_NOTHING, 0, NULL },
};

const char *script_field_name(u32 i)
{
	return i < ARRAY_LEN(fields) ? fields[i].name : NULL;
}

enum script_kind script_kind(u32 attr_type)
{
	if (attr_type == PERF_TYPE_SYNTHETIC)
		return SCRIPT_SYNTH;
	return attr_type < PERF_TYPE_MAX ? (enum script_kind)attr_type : SCRIPT_OTHER;
}

void script_fields_default(struct script_fields *f)
{
	*f = (struct script_fields){ 0 };
	for (u32 k = 0; k < NR_SCRIPT_KINDS; k++)
		f->shown[k] = kinds[k].defaults;
}

static const struct field_row *find_field(const char *name, size_t len)
{
	for (u32 i = 0; i < ARRAY_LEN(fields); i++)
		if (strlen(fields[i].name) == len && !memcmp(fields[i].name, name, len))
			return &fields[i];
	return NULL;
}

static int find_kind(const char *word, size_t len)
{
	for (int k = 0; k < NR_SCRIPT_KINDS; k++)
		if (kinds[k].word && strlen(kinds[k].word) == len && !memcmp(kinds[k].word, word, len))
			return k;
	return -1;
}

/* Like perf, a field named for one kind of events is dropped in silence when it was not recorded. */
static void change_field(struct script_fields *f, int kind, const struct field_row *row, bool remove, bool every_kind)
{
	if (remove)
		f->shown[kind] &= ~row->bit;
	else
		f->shown[kind] |= row->bit;
	if (every_kind)
		f->asked[kind] = (f->asked[kind] & ~row->bit) | (remove ? 0 : row->bit);
	f->set[kind] = true;
}

static int no_field(const char *name, size_t len, const struct notify *to)
{
	static const struct {
		const char *name, *hint;
	} peers[] = {
		{ "brstackinsn", "; brstacksym names the ends of branches" },
		{ "brstackinsnlen", "; brstacksym names the ends of branches" },
		{ "brstackdisasm", "; brstacksym names the ends of branches" },
		{ "metric", "; 'reticle report' shows metrics" },
		{ "srccode", "; srcline names the line" },
	};
	struct near near = { .want = { name, (u32)len } };
	struct bytes head = { 0 };
	const char *hint = "";
	int err;

	for (u32 i = 0; i < ARRAY_LEN(peers); i++)
		if (strlen(peers[i].name) == len && !memcmp(peers[i].name, name, len))
			hint = peers[i].hint;
	bytes_printf(&head, "-F: no field '%.*s'%s", (int)MIN(len, (size_t)40), name, hint);
	for (u32 i = 0; !*hint && i < ARRAY_LEN(fields); i++) {
		near_offer(&near, fields[i].name);
		bytes_printf(&head, "%s%s", i ? ", " : "; there are ", fields[i].name);
	}
	bytes_char(&head, 0);
	err = mistake_note(&(struct mistake){ .near = *hint ? NULL : &near }, ERR_USAGE, (char *)head.p, to);
	bytes_free(&head);
	return err;
}

/* One name of the list, for one kind or (kind < 0) for all that can show it. */
static int apply_field(struct script_fields *f, int kind, const char *name, size_t len, bool remove,
		       const struct notify *to)
{
	const struct field_row *row = find_field(name, len);

	if (!row)
		return no_field(name, len, to);
	if (kind >= 0 && kinds[kind].invalid & row->bit)
		return notify_error(to, ERR_USAGE, "-F: '%s' is not valid for %s events", row->name, kinds[kind].name);
	for (int k = kind < 0 ? 0 : kind; k < (kind < 0 ? NR_SCRIPT_KINDS : kind + 1); k++)
		if (!(kinds[k].invalid & row->bit))
			change_field(f, k, row, remove, kind < 0);
	return 0;
}

/* A list of plain names replaces what was chosen before. */
static void clear_fields(struct script_fields *f, int kind)
{
	for (int k = 0; k < NR_SCRIPT_KINDS; k++) {
		if (kind >= 0 && k != kind)
			continue;
		f->shown[k] = f->asked[k] = 0;
		f->set[k] = true;
	}
}

int script_fields_parse(struct script_fields *f, const char *text, const struct notify *to)
{
	const char *colon = strchr(text, ':'), *p = colon ? colon + 1 : text;
	int kind = colon ? find_kind(text, (size_t)(colon - text)) : -1, err = 0;
	bool relative = strchr(p, '+') || *p == '-' || strstr(p, ",-");

	if (colon && kind < 0)
		return notify_error(to, ERR_USAGE,
				    "-F: there is no kind of events '%.*s' (hw, sw, trace, raw, break, synth)",
				    (int)(colon - text), text);
	if (!colon && !*p)
		return notify_error(to, ERR_USAGE, "-F: no fields named");
	if (!relative)
		clear_fields(f, kind);
	while (*p && !err) {
		size_t len = strcspn(p, ",");
		bool sign = *p == '+' || *p == '-';

		if (len && sign != relative)
			return notify_error(to, ERR_USAGE, "-F: +field and -field cannot be mixed with plain fields");
		if (len)
			err = apply_field(f, kind, p + sign, len - sign, *p == '-', to);
		p += len + (p[len] == ',');
	}
	return err;
}

/* Takes a field off that the event lacks, or complains when the user asked for it. */
static int need(struct script_fields *f, enum script_kind kind, const struct event *e, const struct field_row *row,
		const struct notify *to)
{
	if (!(f->shown[kind] & row->bit) || !row->needs || e->silent || e->attr.sample_type & row->needs)
		return 0;
	if (f->asked[kind] & row->bit)
		return notify_error(to, ERR_USAGE, "samples of '%s' have no %s: cannot show field '%s'", e->name,
				    row->label, row->name);
	f->shown[kind] &= ~row->bit;
	return 0;
}

static int check_event(struct script_fields *f, enum script_kind kind, const struct event *e, const struct notify *to)
{
	const u64 looked_up = SCRIPT_SYM | SCRIPT_DSO | SCRIPT_SYMOFF;
	u64 shown;
	int err = 0;

	for (u32 i = 0; i < ARRAY_LEN(fields) && !err; i++)
		err = need(f, kind, e, &fields[i], to);
	if (err)
		return err;
	if (!(f->asked[kind] & looked_up) && !(e->attr.sample_type & (PERF_SAMPLE_IP | PERF_SAMPLE_ADDR)))
		f->shown[kind] &= ~looked_up;
	shown = f->shown[kind];
	if (shown & (SCRIPT_SYM | SCRIPT_DSO) && !(e->attr.sample_type & (PERF_SAMPLE_IP | PERF_SAMPLE_ADDR)))
		return notify_error(to, ERR_USAGE, "samples of '%s' have neither an ip nor an address to look up",
				    e->name);
	if (shown & SCRIPT_SYMOFF && !(shown & SCRIPT_SYM))
		return notify_error(to, ERR_USAGE, "-F symoff needs sym");
	if (shown & SCRIPT_SRCLINE && !(shown & SCRIPT_IP))
		return notify_error(to, ERR_USAGE, "-F srcline needs ip");
	return 0;
}

static const struct event *first_of(const struct evlist *events, enum script_kind kind)
{
	for (u32 i = 0; i < events->events.n; i++)
		if (script_kind(events->events.v[i].attr.type) == kind)
			return &events->events.v[i];
	return NULL;
}

int script_fields_settle(struct script_fields *f, const struct evlist *events, bool chains, const struct notify *to)
{
	for (enum script_kind k = 0; k < NR_SCRIPT_KINDS; k++) {
		const struct event *first = first_of(events, k);
		int err = 0;

		if (f->shown[k] & SCRIPT_DSOFF)
			f->shown[k] |= SCRIPT_DSO;
		if (first && f->shown[k])
			err = check_event(f, k, first, to);
		if (err)
			return err;
	}
	if (!chains || f->set[SCRIPT_TP])
		return 0;
	for (u32 i = 0; i < events->events.n; i++) {
		const struct attr *a = &events->events.v[i].attr;

		if (a->type == PERF_TYPE_TRACEPOINT && a->sample_type & PERF_SAMPLE_CALLCHAIN)
			f->shown[SCRIPT_TP] |= PLACE;
	}
	return 0;
}
