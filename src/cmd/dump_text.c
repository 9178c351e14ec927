/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/dump.h"

#include <string.h>

#include "codec/branch_flags.h"
#include "codec/regs.h"

#define NSEC_PER_SEC ((u64)1000000000)

typedef unsigned long long ull;

static void put_time(u64 ns, struct bytes *out)
{
	bytes_printf(out, " time %llu.%09llu", (ull)(ns / NSEC_PER_SEC), (ull)(ns % NSEC_PER_SEC));
}

static void put_tid(u32 pid, u32 tid, struct bytes *out)
{
	bytes_printf(out, " tid %d/%d", (s32)pid, (s32)tid);
}

/* What the record's id trailer says. */
static void put_sample_id(const struct sample_id *id, struct bytes *out)
{
	if (!id->has)
		return;
	bytes_str(out, " [");
	if (id->has & PERF_SAMPLE_CPU)
		bytes_printf(out, " cpu %d", (s32)id->cpu);
	if (id->has & PERF_SAMPLE_TIME)
		put_time(id->time, out);
	if (id->has & PERF_SAMPLE_TID)
		put_tid(id->pid, id->tid, out);
	if (id->has & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER))
		bytes_printf(out, " id %llu", (ull)id->id);
	if (id->has & PERF_SAMPLE_STREAM_ID)
		bytes_printf(out, " stream %llu", (ull)id->stream_id);
	bytes_str(out, " ]");
}

static void put_read(const struct read_values *v, u64 format, struct bytes *out)
{
	bytes_str(out, " read {");
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		bytes_printf(out, " enabled %llu", (ull)v->time_enabled);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		bytes_printf(out, " running %llu", (ull)v->time_running);
	for (u32 i = 0; i < v->nr; i++) {
		bytes_printf(out, "%s value %llu", i ? "," : "", (ull)read_value(v, i));
		if (v->has_id)
			bytes_printf(out, " id %llu", (ull)read_id(v, i));
		if (v->has_lost)
			bytes_printf(out, " lost %llu", (ull)read_lost(v, i));
	}
	bytes_str(out, " }");
}

/* The fields of a fixed size, by name and bit; nothing for those that the event did not ask for. */
static void put_fields(const struct sample *s, struct bytes *out)
{
	const struct {
		u64 bit;
		const char *name;
		u64 value;
		bool hex;
	} fields[] = {
		{ PERF_SAMPLE_IP, "ip", s->ip, true },
		{ PERF_SAMPLE_ADDR, "addr", s->addr, true },
		{ PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER, "id", s->id, false },
		{ PERF_SAMPLE_STREAM_ID, "stream", s->stream_id, false },
		{ PERF_SAMPLE_PERIOD, "period", s->period, false },
		{ PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, "weight", s->weight, false },
		{ PERF_SAMPLE_WEIGHT_STRUCT, "ins_lat", s->var2_w, false },
		{ PERF_SAMPLE_WEIGHT_STRUCT, "p_stage_cyc", s->var3_w, false },
		{ PERF_SAMPLE_DATA_SRC, "data_src", s->data_src, true },
		{ PERF_SAMPLE_TRANSACTION, "transaction", s->transaction, true },
		{ PERF_SAMPLE_PHYS_ADDR, "phys_addr", s->phys_addr, true },
		{ PERF_SAMPLE_CGROUP, "cgroup", s->cgroup, false },
		{ PERF_SAMPLE_DATA_PAGE_SIZE, "data_page_size", s->data_page_size, false },
		{ PERF_SAMPLE_CODE_PAGE_SIZE, "code_page_size", s->code_page_size, false },
	};

	if (s->has & PERF_SAMPLE_CPU)
		bytes_printf(out, " cpu %d", (s32)s->cpu);
	if (s->has & PERF_SAMPLE_TIME)
		put_time(s->time, out);
	if (s->has & PERF_SAMPLE_TID)
		put_tid(s->pid, s->tid, out);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (s->has & fields[i].bit)
			bytes_printf(out, fields[i].hex ? " %s %#llx" : " %s %llu", fields[i].name,
				     (ull)fields[i].value);
}

/* How much there is of what varies in length. */
static void put_counts(const struct sample *s, struct bytes *out)
{
	const struct {
		u64 bit;
		const char *name;
		u64 n;
	} counts[] = {
		{ PERF_SAMPLE_CALLCHAIN, "chain", s->chain.n },
		{ PERF_SAMPLE_RAW, "raw", s->raw_size },
		{ PERF_SAMPLE_BRANCH_STACK, "branches", s->nr_branches },
		{ PERF_SAMPLE_REGS_USER, "regs_user", s->regs_user.n },
		{ PERF_SAMPLE_STACK_USER, "stack_user", s->stack_user_dyn_size },
		{ PERF_SAMPLE_REGS_INTR, "regs_intr", s->regs_intr.n },
		{ PERF_SAMPLE_TLS_USER, "tls_user", MIN(s->tls_user_dyn_size, s->tls_user_size) },
		{ PERF_SAMPLE_AUX, "aux", s->aux_size },
	};

	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		if (s->has & counts[i].bit)
			bytes_printf(out, " %s %llu", counts[i].name, (ull)counts[i].n);
	if (s->has_hw_idx)
		bytes_printf(out, " hw_idx %lld", (long long)s->hw_idx);
}

static void put_regs(const struct source *src, const char *label, u64 abi, u64 mask, const struct u64s *regs,
		     struct bytes *out)
{
	enum regs_arch arch = regs_arch_of(src->features.arch);
	char room[REG_NAME_ROOM];

	if (!regs->n)
		return;
	bytes_printf(out, "    %s abi %llu:", label, (ull)abi);
	for (u32 bit = 0, i = 0; bit < 64 && i < regs->n; bit++) {
		const char *name = reg_name(arch, bit, room);

		if (!(mask >> bit & 1))
			continue;
		if (name)
			bytes_printf(out, " %s", name);
		else
			bytes_printf(out, " r%u", bit);
		bytes_printf(out, "=%#llx", (ull)u64s_at(regs, i++));
	}
	bytes_char(out, '\n');
}

static void put_hexdump(const char *label, const u8 *p, u64 n, struct bytes *out)
{
	for (u64 row = 0; row < n; row += 16) {
		u64 len = MIN(n - row, 16);

		bytes_printf(out, "    %s %04llx: ", label, (ull)row);
		for (u64 i = 0; i < 16; i++)
			if (i < len)
				bytes_printf(out, " %02x", p[row + i]);
			else
				bytes_str(out, "   ");
		bytes_str(out, "  ");
		for (u64 i = 0; i < len; i++)
			bytes_char(out, p[row + i] >= ' ' && p[row + i] < 0x7f ? (char)p[row + i] : '.');
		bytes_char(out, '\n');
	}
}

/* What else its flags tell; those that are not known as a number. */
static void put_branch_kind(u64 flags, bool arm64, struct bytes *out)
{
	u32 type = branch_type(flags), priv = branch_priv(flags);
	const char *name = branch_type_name(type, arm64);
	u64 unknown = flags & ~BRANCH_FLAGS_KNOWN;

	if (*name)
		bytes_printf(out, " type %s", name);
	else if (type)
		bytes_printf(out, " type %u", type);
	if (branch_spec(flags))
		bytes_printf(out, " spec %s", branch_spec_name(branch_spec(flags)));
	if (*branch_priv_name(priv))
		bytes_printf(out, " priv %s", branch_priv_name(priv));
	else if (priv)
		bytes_printf(out, " priv %u", priv);
	if (unknown)
		bytes_printf(out, " flags %#llx", (ull)unknown);
}

static void put_branches(const struct sample *s, bool arm64, struct bytes *out)
{
	for (u32 i = 0; i < s->nr_branches; i++) {
		struct branch_entry b = sample_branch(s, i);

		bytes_printf(out, "    branch %u: %#llx -> %#llx %s%s%s%s cycles %u", i, (ull)b.from, (ull)b.to,
			     b.flags & 1 ? "M" : "", b.flags & 2 ? "P" : "", b.flags & 4 ? "X" : "",
			     b.flags & 8 ? "A" : "", branch_cycles(b.flags));
		put_branch_kind(b.flags, arm64, out);
		if (i < s->branch_counters.n)
			bytes_printf(out, " counters %#llx", (ull)u64s_at(&s->branch_counters, i));
		bytes_char(out, '\n');
	}
}

static void put_details(const struct source *src, const struct dump_record *d, struct bytes *out)
{
	const struct sample *s = &d->s;
	const struct sample_layout *l = &d->event->layout;
	const u8 *tls;
	u32 n;

	for (u32 i = 0; i < s->chain.n; i++)
		bytes_printf(out, "    chain %u: %#llx\n", i, (ull)u64s_at(&s->chain, i));
	put_branches(s, regs_arch_of(src->features.arch) == REGS_ARM64, out);
	put_regs(src, "regs_user", s->regs_user_abi, l->regs_user_mask, &s->regs_user, out);
	put_regs(src, "regs_intr", s->regs_intr_abi, l->regs_intr_mask, &s->regs_intr, out);
	put_hexdump("raw", s->raw, s->raw_size, out);
	put_hexdump("stack", s->stack_user, MIN(s->stack_user_dyn_size, s->stack_user_size), out);
	tls = sample_tls(s, &n);
	put_hexdump("tls", tls, n, out);
}

static void put_error(const struct dump_record *d, struct bytes *out)
{
	switch (d->err) {
	case ERR_NOTFOUND:
		bytes_str(out, " (no event has its id)");
		break;
	case ERR_UNSUPPORTED:
		bytes_str(out, " (its event has fields that this version does not know)");
		break;
	default:
		bytes_printf(out, " (%s: does not hold what its type needs)", err_name(d->err));
	}
}

void dump_text(const struct source *src, const struct dump_record *d, bool verbose, struct bytes *out)
{
	const struct record_header *h = &d->at.h;
	const struct record_kind *kind = record_kind(h->type);

	bytes_printf(out, "%#10llx %5u ", (ull)d->offset, h->size);
	if (kind)
		bytes_str(out, kind->name);
	else
		bytes_printf(out, "type %u", h->type);
	if (h->misc)
		bytes_printf(out, " misc %#x", h->misc);
	if (d->event) {
		bytes_char(out, ' ');
		bytes_plain(out, d->event->name, strlen(d->event->name));
	}
	if (d->err) {
		put_error(d, out);
	} else if (d->is_sample) {
		put_fields(&d->s, out);
		if (d->s.has & PERF_SAMPLE_READ)
			put_read(&d->s.read, d->event->layout.read_format, out);
		put_counts(&d->s, out);
	} else {
		put_sample_id(&d->r.sid, out);
		if (kind && kind->print) {
			bytes_char(out, ' ');
			kind->print(&d->r, out);
		} else if (!kind) {
			bytes_printf(out, " (unknown: %u bytes)", h->size - 8u);
		}
	}
	if (d->at.payload)
		bytes_printf(out, " + %llu bytes", (ull)d->at.payload_size);
	bytes_char(out, '\n');
	if (verbose && !d->err && d->is_sample)
		put_details(src, d, out);
	if (verbose && !d->err && d->at.payload && d->aux_kind == AUXTRACE_ARM_SPE)
		dump_packets(d->at.payload, d->at.payload_size, d->r.auxtrace.offset, out);
}
