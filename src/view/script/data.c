/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a sample that need additional decoding: registers, branch stacks, memory access data. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "codec/branch_flags.h"
#include "codec/data_src.h"
#include "codec/perf_abi.h"
#include "codec/regs.h"
#include "view/script/impl.h"

/* --- registers --- */

enum regs_arch script_regs_arch(const struct script *s)
{
	return regs_arch_of(s->features->arch) == REGS_ARM64 ? REGS_ARM64 : REGS_X86;
}

static void put_reg_name(u32 reg, enum regs_arch arch, struct bytes *out)
{
	char room[REG_NAME_ROOM];
	const char *name = reg_name(arch, reg, room);

	name = name ? name : "unknown";
	bytes_repeat(out, ' ', 5 - (int)strlen(name));
	bytes_str(out, name);
}

void script_put_regs(const struct u64s *regs, u64 mask, u64 abi, enum regs_arch arch, struct bytes *out)
{
	u32 at = 0;

	if (!regs->n)
		return;
	bytes_str(out, " ABI:");
	bytes_dec(out, abi);
	bytes_char(out, ' ');
	for (u32 r = 0; r < 64 && at < regs->n; r++) {
		if (!(mask >> r & 1))
			continue;
		put_reg_name(r, arch, out);
		bytes_str(out, ":0x");
		bytes_hex(out, u64s_at(regs, at++));
		bytes_char(out, ' ');
	}
}

/* --- branch stacks --- */

static void put_branch_flags(u64 flags, bool arm64, struct bytes *out)
{
	bytes_char(out, '/');
	bytes_char(out, branch_predicted(flags) ? 'P' : branch_missed(flags) ? 'M' : '-');
	bytes_str(out, branch_in_tx(flags) ? "/X" : "/-");
	bytes_str(out, branch_aborts(flags) ? "/A/" : "/-/");
	bytes_dec(out, branch_cycles(flags));
	bytes_char(out, '/');
	bytes_str(out, branch_type_name(branch_type(flags), arm64));
	bytes_char(out, ' ');
}

/* For brstackoff: in the kernel and what it loads, how far from where that begins; in the vdso, which is no file, the
 * address itself; as in perf. */
static u64 branch_offset(const struct script_worker *w, const struct place *place, u64 addr)
{
	enum dso_kind kind = dsos_at(w->s->dsos, place->dso)->kind;

	if (place->map && (kind == DSO_KERNEL || kind == DSO_MODULE || kind == DSO_BPF))
		return addr - place->map->start;
	return kind == DSO_VDSO ? addr : place->addr;
}

/* One end of a branch. It may lie on either side of the kernel's border, whatever the sample's own mode. */
static void put_branch_end(struct script_worker *w, const struct script_line *l, u64 addr, u32 field, bool dso,
			   struct bytes *out)
{
	static const u32 modes[] = { PERF_RECORD_MISC_USER, PERF_RECORD_MISC_KERNEL };
	struct place place;

	place_find(w->s->dsos, &l->thread->view, l->cpumode, addr, &place);
	for (u32 i = 0; i < ARRAY_LEN(modes) && !place.map; i++)
		place_find(w->s->dsos, &l->thread->view, modes[i], addr, &place);
	if (field == SCRIPT_BRSTACKSYM) {
		place_put_symbol(w->s, &place, true, out);
	} else {
		bytes_str(out, "0x");
		bytes_hex(out, field == SCRIPT_BRSTACKOFF ? branch_offset(w, &place, addr) : addr);
	}
	if (dso) {
		bytes_char(out, '(');
		place_put_dso(w->s, &place, false, out);
		bytes_char(out, ')');
	}
}

const u8 *script_tls(const struct script_worker *w, const struct script_line *l, u32 *n)
{
	u32 event = (u32)(l->event - w->s->events->events.v);
	const struct deferred_bytes *later = deferred_tls_find(w->s->deferred_tls, event, l->sample->tls_cookie);
	const u8 *now = sample_tls(l->sample, n);

	if (!later || later->n <= *n)
		return now;
	*n = later->n;
	return later->p;
}

void script_put_tls(const struct script_worker *w, const struct script_line *l, struct bytes *out)
{
	u32 n;
	const u8 *tls = script_tls(w, l, &n);

	bytes_str(out, n ? " tls:" : " tls:-");
	for (u32 i = 0; i < n; i++)
		bytes_printf(out, "%02x", tls[i]);
}

void script_put_branches(struct script_worker *w, const struct script_line *l, u32 field, bool dso, struct bytes *out)
{
	bool arm64 = script_regs_arch(w->s) == REGS_ARM64;

	for (u32 i = 0; i < l->sample->nr_branches; i++) {
		struct branch_entry b = sample_branch(l->sample, i);

		if (field != SCRIPT_BRSTACKSYM)
			bytes_char(out, ' ');
		put_branch_end(w, l, b.from, field, dso, out);
		bytes_char(out, '/');
		put_branch_end(w, l, b.to, field, dso, out);
		put_branch_flags(b.flags, arm64, out);
	}
}

#define LETTERS_MOST 3 /* in a row; a larger number is written as such */

static void put_counter(const struct branch_counters *c, u32 counter, u64 word, struct bytes *out)
{
	u64 n = branch_counter_value(c, counter, word);

	if (n == UINT64_MAX) {
		bytes_char(out, '?');
		return;
	}
	if (!n)
		bytes_char(out, '-');
	for (u64 i = 0; i < MIN(n, (u64)(n > LETTERS_MOST ? 1 : LETTERS_MOST)); i++)
		branch_counter_name(counter, out);
	if (n > LETTERS_MOST)
		bytes_printf(out, "=%llu", (unsigned long long)n);
	if (n && n == branch_counter_most(c))
		bytes_char(out, '+');
}

void script_put_counters(const struct script_worker *w, const struct script_line *l, struct bytes *out)
{
	const struct branch_counters *c = &w->s->counters;
	const struct u64s *words = &l->sample->branch_counters;
	u32 n, first = branch_counters_of(c, l->event_index, &n);

	if (!n || !words->n)
		return;
	bytes_str(out, " br_cntr:");
	for (u32 i = 0; i < words->n; i++) {
		bytes_char(out, ' ');
		if (!c->width)
			bytes_printf(out, "%#llx", (unsigned long long)u64s_at(words, i));
		for (u32 k = 0; k < n && c->width; k++) {
			if (k)
				bytes_char(out, '|');
			put_counter(c, first + k, u64s_at(words, i), out);
		}
	}
}

/* --- memory accesses --- */

#define DATA_SRC_MAX 99 /* where perf cuts the text */

static void put_access(u64 v, struct bytes *out)
{
	bytes_str(out, "|OP ");
	data_src_put(DATA_SRC_OP, v, out);
	bytes_str(out, "|LVL ");
	data_src_put(DATA_SRC_LEVEL, v, out);
	bytes_str(out, "|SNP ");
	data_src_put(DATA_SRC_SNOOP, v, out);
	bytes_str(out, "|TLB ");
	data_src_put(DATA_SRC_TLB, v, out);
	bytes_str(out, "|LCK ");
	data_src_put(DATA_SRC_LOCKED, v, out);
	bytes_str(out, "|BLK ");
	data_src_put(DATA_SRC_BLOCKED, v, out);
}

u32 script_put_data_src(u64 data_src, u32 width, struct bytes *out)
{
	size_t start = out->len;
	u32 len;

	bytes_hex_pad(out, data_src, 16, ' ');
	bytes_char(out, ' ');
	put_access(data_src, out);
	out->len = MIN(out->len, start + DATA_SRC_MAX);
	len = (u32)(out->len - start);
	bytes_repeat(out, ' ', (int)(MAX(width, len) - len));
	return MAX(width, len);
}

void script_put_page_size(u64 size, struct bytes *out)
{
	u32 unit = 0;

	bytes_char(out, ' ');
	if (!size) {
		bytes_str(out, "N/A");
		return;
	}
	for (; size / 1024 > 1 && unit < 3; unit++)
		size /= 1024;
	bytes_dec(out, size);
	bytes_char(out, "BKMG"[unit]);
}

/* --- instructions --- */

u32 script_insn(struct script_worker *w, const struct script_line *l, bool text, u8 code[INSN_MAX])
{
	struct place place;
	const char *why;
	u16 machine = 0;
	u32 n;

	w->scratch.len = 0;
	place_find(w->s->dsos, &l->thread->view, l->cpumode, l->sample->ip, &place);
	n = place.map ? dsos_code_at(w->s->dsos, place.dso, place.addr, code, INSN_MAX, &machine) : 0;
	if (n && !w->insns)
		w->insns = insn_decoder_new(&why);
	return n && w->insns ? insn_decode(w->insns, machine, code, n, l->sample->ip, text ? &w->scratch : NULL) : 0;
}

void script_put_code(struct script_worker *w, const struct script_line *l, u64 shown, struct bytes *out)
{
	u8 code[INSN_MAX];
	u32 n = script_insn(w, l, shown & SCRIPT_DISASM, code);

	if (shown & SCRIPT_INSNLEN)
		bytes_printf(out, " ilen: %u", n);
	if (shown & SCRIPT_INSN && n)
		bytes_str(out, " insn:");
	for (u32 i = 0; shown & SCRIPT_INSN && i < n; i++)
		bytes_printf(out, " %02x", code[i]);
	if (w->scratch.len)
		bytes_str(out, "\t\t");
	bytes_plain(out, (char *)w->scratch.p, w->scratch.len);
}

/* --- what BPF programs write --- */

#define BPF_ROW 8

static void put_bpf_row(const u8 *p, u32 n, bool first, struct bytes *out)
{
	bytes_printf(out, "\n%17s", first ? "BPF output:" : "");
	bytes_char(out, ' ');
	for (u32 i = 0; i < BPF_ROW; i++)
		if (i < n)
			bytes_printf(out, " %02x", p[i]);
		else
			bytes_str(out, "   ");
	bytes_str(out, "  ");
	for (u32 i = 0; i < BPF_ROW; i++)
		bytes_char(out, i >= n ? ' ' : isprint(p[i]) ? (char)p[i] : '.');
}

void script_put_bpf_output(const u8 *data, u32 size, struct bytes *out)
{
	bool text = size > 0;
	u32 end = 0;

	while (end < size && data[end] && isprint(data[end]))
		end++;
	for (u32 i = end; i < size && text; i++)
		text = !data[i];
	for (u32 at = 0; at < size; at += BPF_ROW)
		put_bpf_row(data + at, MIN(size - at, (u32)BPF_ROW), !at, out);
	bytes_char(out, '\n');
	if (text && end < size)
		bytes_printf(out, "%17s \"%.*s\"\n", "BPF string:", (int)end, (const char *)data);
}
