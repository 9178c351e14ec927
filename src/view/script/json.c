/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sample as a JSON object on a line of its own. Which members there are follows the fields chosen (-F). Numbers
 * are numbers, apart from addresses: those are strings "0x...", since most readers of JSON keep only 53 bits. Times
 * are in nanoseconds.
 */
#include <string.h>

#include "attrib/lbr.h"
#include "codec/perf_abi.h"
#include "view/script/impl.h"

static void put_key(struct bytes *out, const char *key)
{
	bytes_str(out, ",\"");
	bytes_str(out, key);
	bytes_str(out, "\":");
}

static void put_number(struct bytes *out, const char *key, u64 v)
{
	put_key(out, key);
	bytes_dec(out, v);
}

static void put_addr(struct bytes *out, const char *key, u64 v)
{
	put_key(out, key);
	bytes_str(out, "\"0x");
	bytes_hex(out, v);
	bytes_char(out, '"');
}

static void put_string(struct bytes *out, const char *key, const char *text, size_t len)
{
	put_key(out, key);
	bytes_char(out, '"');
	bytes_json(out, text, len);
	bytes_char(out, '"');
}

static void put_task(struct script_worker *w, const struct script_line *l, u64 shown, struct bytes *out)
{
	const struct sample *s = l->sample;

	if (shown & SCRIPT_COMM) {
		const char *comm = script_comm(w->s, &l->thread->view);

		comm = comm ? comm : l->thread->buf;
		put_string(out, "comm", comm, strlen(comm));
	}
	if (shown & (SCRIPT_PID | SCRIPT_TID) && s->has & PERF_SAMPLE_TID) {
		put_number(out, "pid", s->pid);
		put_number(out, "tid", s->tid);
	}
	if (shown & SCRIPT_CPU && s->has & PERF_SAMPLE_CPU)
		put_number(out, "cpu", s->cpu);
	if (shown & SCRIPT_TIME && s->has & PERF_SAMPLE_TIME)
		put_number(out, "time", s->time);
}

static void put_place(struct script_worker *w, const struct script_line *l, struct bytes *out)
{
	enum script_kind kind = script_kind(l->event->attr.type);
	struct place_style style = script_style(w->s, kind, false);
	struct str text;
	bool stop;

	put_addr(out, "ip", l->sample->ip);
	text = place_text(w->places, &l->thread->view, l->cpumode, l->sample->ip, &style, STYLE_ID(kind, false),
			  &stop);
	bytes_put(out, text.p, text.len);
	if (!w->s->chains || (!(l->event->attr.sample_type & PERF_SAMPLE_CALLCHAIN) && !lbr_event(l->event)))
		return;
	put_key(out, "callchain");
	bytes_char(out, '[');
	script_put_chain(w, l, true, out);
	bytes_char(out, ']');
}

static void put_branches(const struct sample *s, struct bytes *out)
{
	put_key(out, "branches");
	bytes_char(out, '[');
	for (u32 i = 0; i < s->nr_branches; i++) {
		struct branch_entry b = sample_branch(s, i);

		bytes_printf(out, "%s{\"from\":\"0x%llx\",\"to\":\"0x%llx\",\"mispredicted\":%s,\"cycles\":%u}",
			     i ? "," : "", (unsigned long long)b.from, (unsigned long long)b.to,
			     b.flags & 1 ? "true" : "false", (u32)(b.flags >> 4 & 0xffff));
	}
	bytes_char(out, ']');
}

/* Keys are distinct: the second half of a register has an h behind its name. */
static void put_regs(const char *key, const struct u64s *regs, u64 mask, u64 abi, enum regs_arch arch,
		     struct bytes *out)
{
	char room[REG_NAME_ROOM];
	u32 at = 0;

	put_key(out, key);
	bytes_str(out, "{\"abi\":");
	bytes_dec(out, abi);
	for (; mask && at < regs->n; mask &= mask - 1) {
		u32 reg = (u32)__builtin_ctzll(mask);
		const char *name = reg_name(arch, reg, room);

		bytes_str(out, ",\"");
		if (name)
			bytes_str(out, name);
		else
			bytes_dec(out, reg);
		if (reg_is_upper(arch, reg))
			bytes_char(out, 'h');
		bytes_str(out, "\":\"0x");
		bytes_hex(out, u64s_at(regs, at++));
		bytes_char(out, '"');
	}
	bytes_char(out, '}');
}

static void put_hex(struct bytes *out, const char *key, const u8 *p, u32 n)
{
	put_key(out, key);
	bytes_char(out, '"');
	for (u32 i = 0; i < n; i++)
		bytes_printf(out, "%02x", p[i]);
	bytes_char(out, '"');
}

static void put_tls(const struct sample *s, struct bytes *out)
{
	u32 n;
	const u8 *tls = sample_tls(s, &n);

	put_hex(out, "tls", tls, n);
}

static void put_code(struct script_worker *w, const struct script_line *l, u64 shown, struct bytes *out)
{
	u8 code[INSN_MAX];
	u32 n = script_insn(w, l, shown & SCRIPT_DISASM, code);

	if (!n)
		return;
	if (shown & SCRIPT_INSNLEN)
		put_number(out, "insnlen", n);
	if (shown & SCRIPT_INSN)
		put_hex(out, "insn", code, n);
	if (shown & SCRIPT_DISASM)
		put_string(out, "disasm", (char *)w->scratch.p, w->scratch.len);
}

static void put_rest(struct script_worker *w, const struct script_line *l, u64 shown, struct bytes *out)
{
	const struct sample *s = l->sample;
	const struct attr *a = &l->event->attr;

	if (shown & SCRIPT_ADDR && s->has & PERF_SAMPLE_ADDR)
		put_addr(out, "addr", s->addr);
	if (shown & SCRIPT_DATA_SRC && s->has & PERF_SAMPLE_DATA_SRC)
		put_addr(out, "data_src", s->data_src);
	if (shown & SCRIPT_WEIGHT && s->has & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		put_number(out, "weight", s->weight);
	if (shown & SCRIPT_INS_LAT && s->has & PERF_SAMPLE_WEIGHT_STRUCT)
		put_number(out, "ins_lat", s->var2_w);
	if (shown & SCRIPT_IREGS && s->has & PERF_SAMPLE_REGS_INTR)
		put_regs("iregs", &s->regs_intr, a->sample_regs_intr, s->regs_intr_abi, script_regs_arch(w->s), out);
	if (shown & SCRIPT_UREGS && s->has & PERF_SAMPLE_REGS_USER)
		put_regs("uregs", &s->regs_user, a->sample_regs_user, s->regs_user_abi, script_regs_arch(w->s), out);
	if (shown & SCRIPT_CODE && s->has & PERF_SAMPLE_IP)
		put_code(w, l, shown, out);
	if (shown & SCRIPT_PHYS_ADDR && s->has & PERF_SAMPLE_PHYS_ADDR)
		put_addr(out, "phys_addr", s->phys_addr);
	if (shown & SCRIPT_DATA_PAGE_SIZE && s->has & PERF_SAMPLE_DATA_PAGE_SIZE)
		put_number(out, "data_page_size", s->data_page_size);
	if (shown & SCRIPT_CODE_PAGE_SIZE && s->has & PERF_SAMPLE_CODE_PAGE_SIZE)
		put_number(out, "code_page_size", s->code_page_size);
	if (shown & SCRIPT_CGROUP && s->has & PERF_SAMPLE_CGROUP)
		put_number(out, "cgroup", s->cgroup);
	if (shown & SCRIPT_TLS && s->has & PERF_SAMPLE_TLS_USER)
		put_tls(s, out);
	if (shown & (SCRIPT_BRSTACK | SCRIPT_BRSTACKSYM | SCRIPT_BRSTACKOFF) && s->has & PERF_SAMPLE_BRANCH_STACK)
		put_branches(s, out);
}

void script_put_json(struct script_worker *w, const struct script_line *l, struct bytes *out)
{
	const struct sample *s = l->sample;
	const char *name = l->event->name ? l->event->name : "[unknown]";
	u64 shown = w->s->opts.fields.shown[script_kind(l->event->attr.type)];
	size_t start = out->len;

	put_task(w, l, shown, out);
	if (shown & SCRIPT_PERIOD)
		put_number(out, "period", l->period);
	if (shown & SCRIPT_EVENT)
		put_string(out, "event", name, strlen(name));
	if (shown & SCRIPT_TRACE && s->raw_size) {
		script_trace_text(w, l);
		put_string(out, "trace", (char *)w->scratch.p, w->scratch.len);
	}
	if (shown & SCRIPT_IP && s->has & PERF_SAMPLE_IP)
		put_place(w, l, out);
	put_rest(w, l, shown, out);
	if (out->len == start)
		bytes_char(out, '{');
	else
		out->p[start] = '{';
	bytes_str(out, "}\n");
}
