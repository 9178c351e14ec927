/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sample as a JSON object on its own line. The chosen fields (-F) decide which members it has. Numbers are
 * numbers, except addresses, which are strings "0x...", because most readers of JSON keep only 53 bits. Times are in
 * nanoseconds.
 */
#include <stdio.h>

#include "agg/activity_keys.h"
#include "attrib/lbr.h"
#include "codec/branch_flags.h"
#include "codec/perf_abi.h"
#include "view/script/impl.h"

static void put_task(struct script_worker *w, const struct script_line *l, u64 shown, struct json *j)
{
	const struct sample *s = l->sample;

	if (shown & SCRIPT_COMM) {
		const char *comm = script_comm(w->s, &l->thread->view);

		comm = comm ? comm : (const char *)l->thread->comm.p;
		json_set_text(j, "comm", comm);
	}
	if (shown & (SCRIPT_PID | SCRIPT_TID) && s->has & PERF_SAMPLE_TID) {
		json_set_u64(j, "pid", s->pid);
		json_set_u64(j, "tid", s->tid);
	}
	if (shown & SCRIPT_CPU && s->has & PERF_SAMPLE_CPU)
		json_set_u64(j, "cpu", s->cpu);
	if (shown & SCRIPT_TIME && s->has & PERF_SAMPLE_TIME)
		json_set_u64(j, "time", s->time);
}

static void put_place(struct script_worker *w, const struct script_line *l, struct json *j)
{
	enum script_kind kind = script_kind(l->event->attr.type);
	struct place_style style = script_style(w->s, kind, false);
	struct str text;
	bool stop;

	json_set_addr(j, "ip", l->sample->ip);
	text = place_text(w->places, &l->thread->view, l->cpumode, l->sample->ip, &style, STYLE_ID(kind, false),
			  &stop);
	json_rendered(j, text.p, text.len);
	if (!w->s->chains || (!(l->event->attr.sample_type & PERF_SAMPLE_CALLCHAIN) && !lbr_event(l->event)))
		return;
	json_set_list(j, "callchain");
	script_put_chain(w, l, j, j->out);
	json_list_end(j);
}

static void put_counters(const struct script_worker *w, const struct script_line *l, u64 word, struct json *j)
{
	const struct branch_counters *c = &w->s->counters;
	u32 n, first = branch_counters_of(c, l->event_index, &n);

	json_set_list(j, "counters");
	for (u32 i = first; i < first + n; i++) {
		const char *name = w->s->events->events.v[c->v.v[i].event].name;
		u64 value = branch_counter_value(c, i, word);

		json_object(j);
		json_set_text(j, "event", name ? name : "[unknown]");
		json_key(j, "count");
		if (value == UINT64_MAX)
			json_null(j);
		else
			json_u64(j, value);
		json_object_end(j);
	}
	json_list_end(j);
}

static void put_branches(const struct script_worker *w, const struct script_line *l, bool counters, struct json *j)
{
	bool arm64 = script_regs_arch(w->s) == REGS_ARM64;
	const struct sample *s = l->sample;

	json_set_list(j, "branches");
	for (u32 i = 0; i < s->nr_branches; i++) {
		struct branch_entry b = sample_branch(s, i);

		json_object(j);
		json_set_addr(j, "from", b.from);
		json_set_addr(j, "to", b.to);
		json_set_bool(j, "mispredicted", b.flags & 1);
		json_set_u64(j, "cycles", branch_cycles(b.flags));
		if (*branch_type_name(branch_type(b.flags), arm64))
			json_set_text(j, "type", branch_type_name(branch_type(b.flags), arm64));
		if (counters && i < s->branch_counters.n)
			put_counters(w, l, u64s_at(&s->branch_counters, i), j);
		json_object_end(j);
	}
	json_list_end(j);
}

/* Keys are distinct: the second half of a register has an h behind its name. */
static void put_regs(const char *key, const struct u64s *regs, u64 mask, u64 abi, enum regs_arch arch, struct json *j)
{
	char room[REG_NAME_ROOM], name[REG_NAME_ROOM + 2];
	u32 at = 0;

	json_set_object(j, key);
	json_set_u64(j, "abi", abi);
	for (; mask && at < regs->n; mask &= mask - 1) {
		u32 reg = (u32)__builtin_ctzll(mask);
		const char *known = reg_name(arch, reg, room), *half = reg_is_upper(arch, reg) ? "h" : "";

		if (known)
			snprintf(name, sizeof(name), "%s%s", known, half);
		else
			snprintf(name, sizeof(name), "%u%s", reg, half);
		json_set_addr(j, name, u64s_at(regs, at++));
	}
	json_object_end(j);
}

static void put_tls(const struct script_worker *w, const struct script_line *l, struct json *j)
{
	u32 n;
	const u8 *tls = script_tls(w, l, &n);

	json_set_hex(j, "tls", tls, n);
}

static void put_code(struct script_worker *w, const struct script_line *l, u64 shown, struct json *j)
{
	u8 code[INSN_MAX];
	u32 n = script_insn(w, l, shown & SCRIPT_DISASM, code);

	if (!n)
		return;
	if (shown & SCRIPT_INSNLEN)
		json_set_u64(j, "insnlen", n);
	if (shown & SCRIPT_INSN)
		json_set_hex(j, "insn", code, n);
	if (shown & SCRIPT_DISASM)
		json_set_str(j, "disasm", (char *)w->scratch.p, w->scratch.len);
}

static void put_activity(struct script_worker *w, const struct script_line *l, struct json *j)
{
	w->scratch.len = 0;
	activity_text(w->s->timelines, l->activity, &w->scratch);
	json_set_str(j, "activity", (char *)w->scratch.p, w->scratch.len);
}

static void put_rest(struct script_worker *w, const struct script_line *l, u64 shown, struct json *j)
{
	const struct sample *s = l->sample;
	const struct attr *a = &l->event->attr;

	if (shown & SCRIPT_ADDR && s->has & PERF_SAMPLE_ADDR)
		json_set_addr(j, "addr", s->addr);
	if (shown & SCRIPT_DATA_SRC && s->has & PERF_SAMPLE_DATA_SRC)
		json_set_addr(j, "data_src", s->data_src);
	if (shown & SCRIPT_WEIGHT && s->has & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		json_set_u64(j, "weight", s->weight);
	if (shown & SCRIPT_INS_LAT && s->has & PERF_SAMPLE_WEIGHT_STRUCT)
		json_set_u64(j, "ins_lat", s->var2_w);
	if (shown & SCRIPT_IREGS && s->has & PERF_SAMPLE_REGS_INTR)
		put_regs("iregs", &s->regs_intr, a->sample_regs_intr, s->regs_intr_abi, script_regs_arch(w->s), j);
	if (shown & SCRIPT_UREGS && s->has & PERF_SAMPLE_REGS_USER)
		put_regs("uregs", &s->regs_user, a->sample_regs_user, s->regs_user_abi, script_regs_arch(w->s), j);
	if (shown & SCRIPT_CODE && s->has & PERF_SAMPLE_IP)
		put_code(w, l, shown, j);
	if (shown & SCRIPT_PHYS_ADDR && s->has & PERF_SAMPLE_PHYS_ADDR)
		json_set_addr(j, "phys_addr", s->phys_addr);
	if (shown & SCRIPT_DATA_PAGE_SIZE && s->has & PERF_SAMPLE_DATA_PAGE_SIZE)
		json_set_u64(j, "data_page_size", s->data_page_size);
	if (shown & SCRIPT_CODE_PAGE_SIZE && s->has & PERF_SAMPLE_CODE_PAGE_SIZE)
		json_set_u64(j, "code_page_size", s->code_page_size);
	if (shown & SCRIPT_CGROUP && s->has & PERF_SAMPLE_CGROUP)
		json_set_u64(j, "cgroup", s->cgroup);
	if (shown & SCRIPT_TLS && s->has & PERF_SAMPLE_TLS_USER)
		put_tls(w, l, j);
	if (shown & SCRIPT_ACTIVITY && w->s->timelines)
		put_activity(w, l, j);
	if (shown & (SCRIPT_BRSTACK | SCRIPT_BRSTACKSYM | SCRIPT_BRSTACKOFF | SCRIPT_BRCNTR) &&
	    s->has & PERF_SAMPLE_BRANCH_STACK)
		put_branches(w, l, shown & SCRIPT_BRCNTR, j);
}

void script_put_json(struct script_worker *w, const struct script_line *l, struct bytes *out)
{
	const struct sample *s = l->sample;
	const char *name = l->event->name ? l->event->name : "[unknown]";
	u64 shown = w->s->opts.fields.shown[script_kind(l->event->attr.type)];
	struct json json = { .out = out }, *j = &json;

	json_object(j);
	put_task(w, l, shown, j);
	if (shown & SCRIPT_PERIOD)
		json_set_u64(j, "period", l->period);
	if (shown & SCRIPT_EVENT)
		json_set_text(j, "event", name);
	if (shown & SCRIPT_TRACE && s->raw_size) {
		script_trace_text(w, l);
		json_set_str(j, "trace", (char *)w->scratch.p, w->scratch.len);
	}
	if (shown & SCRIPT_IP && s->has & PERF_SAMPLE_IP)
		put_place(w, l, j);
	put_rest(w, l, shown, j);
	json_object_end(j);
	json_end(j);
}
