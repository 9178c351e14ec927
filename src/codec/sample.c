/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples.
 *
 * Fields are in the order of the kernel's perf_output_sample(); a bit of sample_type says whether each one is there.
 * Those before the read values all take 8 bytes, so their offsets are calculated once per event; the others have
 * varying lengths and are read one by one. Two 32-bit values that share 8 bytes (pid and tid; cpu) are 32-bit values
 * in a swapped file, too.
 */
#include "codec/sample.h"

#include "base/err.h"
#include "base/mem.h"
#include "codec/sample_stack.h"

/* Bits up to the newest that this version knows: those of Linux 6.19, and of kernel/. */
#define SAMPLE_TYPE_KNOWN ((1ull << 26) - 1)
#define READ_FORMAT_KNOWN ((1ull << 5) - 1)
#define BRANCH_TYPE_KNOWN ((1ull << 20) - 1)

#define BRANCH_HW_INDEX (1ull << 17) /* PERF_SAMPLE_BRANCH_HW_INDEX */

#define RECORD_MAX 65535
#define FIXED_START 8 /* behind the record header */

static int check_bits(u64 value, u64 known, const char *name, const char **word, u64 *unknown_bits)
{
	if (!(value & ~known))
		return 0;
	if (word)
		*word = name;
	if (unknown_bits)
		*unknown_bits = value & ~known;
	return ERR_UNSUPPORTED;
}

static int check_attr(const struct attr *a, const char **word, u64 *unknown_bits)
{
	int err = check_bits(a->sample_type, SAMPLE_TYPE_KNOWN, "sample_type", word, unknown_bits);

	if (!err && a->sample_type & PERF_SAMPLE_READ)
		err = check_bits(a->read_format, READ_FORMAT_KNOWN, "read_format", word, unknown_bits);
	if (!err && a->sample_type & PERF_SAMPLE_BRANCH_STACK)
		err = check_bits(a->branch_sample_type, BRANCH_TYPE_KNOWN, "branch_sample_type", word, unknown_bits);
	return err;
}

/* Walks the fields of 8 bytes that open a sample. */
static void place_fixed_fields(struct sample_layout *l)
{
	u16 unused;
	const struct {
		u64 bit;
		u16 *at;
	} fields[] = {
		{ PERF_SAMPLE_IDENTIFIER, &unused },   { PERF_SAMPLE_IP, &l->at_ip },
		{ PERF_SAMPLE_TID, &l->at_tid },       { PERF_SAMPLE_TIME, &l->at_time },
		{ PERF_SAMPLE_ADDR, &unused },	       { PERF_SAMPLE_ID, &unused },
		{ PERF_SAMPLE_STREAM_ID, &unused },    { PERF_SAMPLE_CPU, &l->at_cpu },
		{ PERF_SAMPLE_PERIOD, &l->at_period },
	};
	u16 at = FIXED_START;

	for (u32 i = 0; i < ARRAY_LEN(fields); i++) {
		if (!(l->sample_type & fields[i].bit))
			continue;
		*fields[i].at = at;
		at += 8;
	}
	l->fixed_end = at;
}

static void place_id(struct sample_layout *l, const struct attr *a)
{
	u64 type = l->sample_type;
	u64 before = type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR);
	u64 behind = type & (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);

	l->id_offset = -1;
	if (type & PERF_SAMPLE_IDENTIFIER)
		l->id_offset = FIXED_START;
	else if (type & PERF_SAMPLE_ID)
		l->id_offset = FIXED_START + 8 * __builtin_popcountll(before);
	if (!(a->flags & ATTR_SAMPLE_ID_ALL))
		return;
	if (type & PERF_SAMPLE_IDENTIFIER)
		l->id_trailer = -8;
	else if (type & PERF_SAMPLE_ID)
		l->id_trailer = -8 - 8 * __builtin_popcountll(behind);
}

int sample_layout_init(struct sample_layout *l, const struct attr *a, const char **word, u64 *unknown_bits)
{
	u64 read = a->read_format;
	u16 times = (read & PERF_FORMAT_TOTAL_TIME_ENABLED ? 1 : 0) + (read & PERF_FORMAT_TOTAL_TIME_RUNNING ? 1 : 0);

	*l = (struct sample_layout){
		.sample_type = a->sample_type,
		.read_format = read,
		.branch_sample_type = a->branch_sample_type,
		.regs_user_mask = a->sample_regs_user,
		.regs_intr_mask = a->sample_regs_intr,
		.nr_regs_user = (u32)__builtin_popcountll(a->sample_regs_user),
		.nr_regs_intr = (u32)__builtin_popcountll(a->sample_regs_intr),
		.tls_defers = a->sample_type & PERF_SAMPLE_TLS_USER && a->sample_tls_flags & PERF_SAMPLE_TLS_DEFER,
	};
	l->read_head = read & PERF_FORMAT_GROUP ? 1 + times : 0;
	l->read_stride = 1 + (read & PERF_FORMAT_GROUP ? 0 : times) + (read & PERF_FORMAT_ID ? 1 : 0) +
			 (read & PERF_READ_LOST ? 1 : 0);
	place_fixed_fields(l);
	if (a->sample_type & PERF_SAMPLE_READ && read & PERF_FORMAT_ID)
		l->at_first_id = (u16)(l->fixed_end +
				       8 * (l->read_head + l->read_stride - 1 - (read & PERF_READ_LOST ? 1 : 0)));
	place_id(l, a);
	return check_attr(a, word, unknown_bits);
}

void read_values_decode(const struct sample_layout *l, struct cursor *c, struct read_values *out)
{
	bool group = l->read_format & PERF_FORMAT_GROUP;
	u64 nr = group ? cursor_u64(c) : 1;
	struct cursor alone = *c;
	struct cursor *times = group ? c : &alone;

	if (!group)
		cursor_skip(&alone, 8);
	if (l->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		out->time_enabled = cursor_u64(times);
	if (l->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		out->time_running = cursor_u64(times);
	if (nr > cursor_left(c) / 8)
		nr = UINT32_MAX; /* times the stride it is still far over what is left, which marks c bad */
	out->raw = cursor_u64s(c, nr * l->read_stride);
	if (c->bad)
		return;
	out->nr = (u32)nr;
	out->stride = l->read_stride;
	out->has_id = l->read_format & PERF_FORMAT_ID;
	out->has_lost = l->read_format & PERF_READ_LOST;
	out->id_at = (u8)(l->read_stride - out->has_id - out->has_lost);
}

static void fixed_decode(const struct sample_layout *l, struct cursor *c, struct sample *out)
{
	u64 type = l->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		out->id = cursor_u64(c);
	if (type & PERF_SAMPLE_IP)
		out->ip = cursor_u64(c);
	if (type & PERF_SAMPLE_TID) {
		out->pid = cursor_u32(c);
		out->tid = cursor_u32(c);
	}
	if (type & PERF_SAMPLE_TIME)
		out->time = cursor_u64(c);
	if (type & PERF_SAMPLE_ADDR)
		out->addr = cursor_u64(c);
	if (type & PERF_SAMPLE_ID)
		out->id = cursor_u64(c);
	if (type & PERF_SAMPLE_STREAM_ID)
		out->stream_id = cursor_u64(c);
	if (type & PERF_SAMPLE_CPU) {
		out->cpu = cursor_u32(c);
		cursor_skip(c, 4);
	}
	if (type & PERF_SAMPLE_PERIOD)
		out->period = cursor_u64(c);
}

static void raw_decode(struct cursor *c, struct sample *out)
{
	out->raw_size = cursor_u32(c);
	out->raw_cursor = cursor_sub(c, out->raw_size);
	out->raw = out->raw_cursor.p;
}

static void branches_decode(const struct sample_layout *l, struct cursor *c, struct sample *out)
{
	u64 nr = cursor_u64(c);

	out->has_hw_idx = l->branch_sample_type & BRANCH_HW_INDEX;
	if (out->has_hw_idx)
		out->hw_idx = cursor_u64(c);
	out->branches = cursor_u64s(c, nr <= UINT32_MAX ? nr * 3 : UINT64_MAX);
	if (l->branch_sample_type & BRANCH_COUNTERS)
		out->branch_counters = cursor_u64s(c, nr);
	if (!c->bad)
		out->nr_branches = (u32)nr;
}

/* abi 0: the thread had no registers of that kind (a kernel thread has no user registers). */
static u64 regs_decode(struct cursor *c, u32 nr, struct u64s *regs)
{
	u64 abi = cursor_u64(c);

	if (abi)
		*regs = cursor_u64s(c, nr);
	return abi;
}

/* User memory: room for so many bytes, and how many of them are the thread's. */
static const u8 *memory_decode(struct cursor *c, u64 *size, u64 *dyn_size)
{
	const u8 *p;

	*size = cursor_u64(c);
	p = cursor_bytes(c, *size);
	if (*size)
		*dyn_size = cursor_u64(c);
	return p;
}

static void weight_decode(const struct sample_layout *l, struct cursor *c, struct sample *out)
{
	out->weight = cursor_u64(c);
	if (!(l->sample_type & PERF_SAMPLE_WEIGHT_STRUCT))
		return;
	out->var2_w = (u16)(out->weight >> 32);
	out->var3_w = (u16)(out->weight >> 48);
	out->weight &= UINT32_MAX;
}

int sample_decode_bytes(const struct sample_layout *l, const u8 *p, u64 size, bool swap, struct sample *out)
{
	struct cursor c = cursor_over(p, size, swap);
	u64 type = l->sample_type;

	mem_zero(out, sizeof(*out));
	out->has = type;
	cursor_skip(&c, 4);
	out->misc = cursor_u16(&c);
	cursor_skip(&c, 2);
	fixed_decode(l, &c, out);
	if (type & PERF_SAMPLE_READ)
		read_values_decode(l, &c, &out->read);
	if (type & PERF_SAMPLE_CALLCHAIN)
		out->chain = cursor_u64s(&c, cursor_u64(&c));
	if (type & PERF_SAMPLE_RAW)
		raw_decode(&c, out);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		branches_decode(l, &c, out);
	if (type & PERF_SAMPLE_REGS_USER)
		out->regs_user_abi = regs_decode(&c, l->nr_regs_user, &out->regs_user);
	if (type & PERF_SAMPLE_STACK_USER)
		out->stack_user = memory_decode(&c, &out->stack_user_size, &out->stack_user_dyn_size);
	if (type & PERF_SAMPLE_WEIGHT_TYPE)
		weight_decode(l, &c, out);
	if (type & PERF_SAMPLE_DATA_SRC)
		out->data_src = cursor_u64(&c);
	if (type & PERF_SAMPLE_TRANSACTION)
		out->transaction = cursor_u64(&c);
	if (type & PERF_SAMPLE_REGS_INTR)
		out->regs_intr_abi = regs_decode(&c, l->nr_regs_intr, &out->regs_intr);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		out->phys_addr = cursor_u64(&c);
	if (type & PERF_SAMPLE_CGROUP)
		out->cgroup = cursor_u64(&c);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		out->data_page_size = cursor_u64(&c);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		out->code_page_size = cursor_u64(&c);
	if (type & PERF_SAMPLE_TLS_USER)
		out->tls_user = memory_decode(&c, &out->tls_user_size, &out->tls_user_dyn_size);
	if (l->tls_defers)
		out->tls_cookie = cursor_u64(&c);
	if (type & PERF_SAMPLE_AUX) {
		out->aux_size = cursor_u64(&c);
		out->aux = cursor_bytes(&c, out->aux_size);
	}
	return c.bad ? ERR_TRUNCATED : 0;
}

int sample_put_unwound(const struct sample_layout *l, const u8 *p, u64 size, const u64 *words, u32 n,
		       struct bytes *out)
{
	struct cursor c = cursor_over(p, size, false);
	const u8 *chain, *chain_end, *regs, *end = p + size;
	struct perf_event_header h;
	struct sample s;
	u64 others;

	cursor_skip(&c, sizeof(h));
	fixed_decode(l, &c, &s);
	if (l->sample_type & PERF_SAMPLE_READ)
		read_values_decode(l, &c, &s.read);
	chain = c.p;
	(void)cursor_u64s(&c, cursor_u64(&c));
	chain_end = c.p;
	if (l->sample_type & PERF_SAMPLE_RAW)
		raw_decode(&c, &s);
	if (l->sample_type & PERF_SAMPLE_BRANCH_STACK)
		branches_decode(l, &c, &s);
	regs = c.p;
	(void)regs_decode(&c, l->nr_regs_user, &s.regs_user);
	(void)memory_decode(&c, &s.stack_user_size, &s.stack_user_dyn_size);
	if (c.bad)
		return ERR_TRUNCATED;
	others = (u64)(chain - p) + sizeof(u64) + (u64)(regs - chain_end) + (u64)(end - c.p);
	n = (u32)MIN((u64)n, (UINT16_MAX - others) / sizeof(u64));
	memcpy(&h, p, sizeof(h));
	h.size = (u16)(others + n * sizeof(u64));
	bytes_put(out, &h, sizeof(h));
	bytes_put(out, p + sizeof(h), (size_t)(chain - p) - sizeof(h));
	bytes_u64(out, n);
	bytes_put(out, words, n * sizeof(u64));
	bytes_put(out, chain_end, (size_t)(regs - chain_end));
	bytes_put(out, c.p, (size_t)(end - c.p));
	return 0;
}

/*
 * The kernel's bit-field of a branch: mispred, predicted, in_tx, abort (1 bit each), cycles (16), type (4), spec (2),
 * new_type (4), priv (3). A big-endian machine lays the same fields out from the other end of the word.
 */
u64 branch_flags_turn(u64 v)
{
	static const u8 widths[] = { 1, 1, 1, 1, 16, 4, 2, 4, 3 };
	u64 out = 0;
	u32 at = 0;

	for (u32 i = 0; i < ARRAY_LEN(widths); i++) {
		u64 field = v >> (64 - at - widths[i]) & ((1ull << widths[i]) - 1);

		out |= field << at;
		at += widths[i];
	}
	return out;
}

/* The fast paths */

static u64 load64(const u8 *p)
{
	u64 v;

	memcpy(&v, p, 8);
	return v;
}

static u32 load32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, 4);
	return v;
}

static int core_decode_swapped(const struct sample_layout *l, struct cursor c, struct sample_core *out)
{
	struct sample s = { 0 };
	struct read_values read = { 0 };

	cursor_skip(&c, FIXED_START);
	fixed_decode(l, &c, &s);
	if (l->sample_type & PERF_SAMPLE_READ)
		read_values_decode(l, &c, &read);
	if (l->sample_type & PERF_SAMPLE_CALLCHAIN)
		s.chain = cursor_u64s(&c, cursor_u64(&c));
	*out = sample_core_of(&s);
	return c.bad ? ERR_TRUNCATED : 0;
}

/* Bytes of the read values at p, or more than left when they do not fit. */
static u64 read_bytes(const struct sample_layout *l, const u8 *p, u64 left)
{
	u64 nr = 1;

	if (l->read_head) {
		if (left < 8)
			return UINT64_MAX;
		nr = load64(p);
		if (nr > left / 8)
			return UINT64_MAX;
	}
	return (l->read_head + nr * l->read_stride) * 8;
}

int sample_core_decode_bytes(const struct sample_layout *l, const u8 *p, u64 size, bool swap, struct sample_core *out)
{
	u64 left = size, n;

	if (UNLIKELY(swap))
		return core_decode_swapped(l, cursor_over(p, size, true), out);
	if (UNLIKELY(left < l->fixed_end))
		return ERR_TRUNCATED;
	out->ip = l->at_ip ? load64(p + l->at_ip) : 0;
	out->pid = l->at_tid ? load32(p + l->at_tid) : 0;
	out->tid = l->at_tid ? load32(p + l->at_tid + 4) : 0;
	out->time = l->at_time ? load64(p + l->at_time) : 0;
	out->cpu = l->at_cpu ? load32(p + l->at_cpu) : 0;
	out->period = l->at_period ? load64(p + l->at_period) : 0;
	out->chain = (struct u64s){ 0 };
	if (!(l->sample_type & PERF_SAMPLE_CALLCHAIN))
		return 0;
	p += l->fixed_end;
	left -= l->fixed_end;
	if (l->sample_type & PERF_SAMPLE_READ) {
		n = read_bytes(l, p, left);
		if (UNLIKELY(n > left))
			return ERR_TRUNCATED;
		p += n;
		left -= n;
	}
	if (UNLIKELY(left < 8))
		return ERR_TRUNCATED;
	n = load64(p);
	if (UNLIKELY(n > left / 8 - 1))
		return ERR_TRUNCATED;
	out->chain = (struct u64s){ p + 8, (u32)n, false };
	return 0;
}

/* Nothing of varying length but a chain before the branches, and nothing behind them. */
#define STACK_FIELDS                                                                                                  \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |            \
	 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |      \
	 PERF_SAMPLE_BRANCH_STACK)

static int stack_of_whole(const struct sample_layout *l, const u8 *p, u64 size, bool swap, struct sample_stack *out)
{
	struct sample s;
	int err = sample_decode_bytes(l, p, size, swap, &s);

	*out = (struct sample_stack){ s.ip, s.time, s.hw_idx, s.pid, s.tid, s.has_hw_idx, s.nr_branches, s.branches };
	return err;
}

int sample_stack_decode(const struct sample_layout *l, const u8 *p, u64 size, bool swap, struct sample_stack *out)
{
	bool has_hw_idx = l->branch_sample_type & BRANCH_HW_INDEX;
	u64 head = has_hw_idx ? 16 : 8, at = l->fixed_end, nr;

	if (swap || l->sample_type & ~STACK_FIELDS || !(l->sample_type & PERF_SAMPLE_BRANCH_STACK) ||
	    l->branch_sample_type & BRANCH_COUNTERS)
		return stack_of_whole(l, p, size, swap, out);
	if (l->sample_type & PERF_SAMPLE_CALLCHAIN) {
		if (size < at + 8 || (nr = load64(p + at)) > (size - at) / 8 - 1)
			return ERR_TRUNCATED;
		at += 8 + nr * 8;
	}
	if (size < at + head || (nr = load64(p + at)) > (size - at - head) / 24)
		return ERR_TRUNCATED;
	out->ip = l->at_ip ? load64(p + l->at_ip) : 0;
	out->time = l->at_time ? load64(p + l->at_time) : 0;
	out->pid = l->at_tid ? load32(p + l->at_tid) : 0;
	out->tid = l->at_tid ? load32(p + l->at_tid + 4) : 0;
	out->has_hw_idx = has_hw_idx;
	out->hw_idx = has_hw_idx ? load64(p + at + 8) : 0;
	out->nr_branches = (u32)nr;
	out->branches = (struct u64s){ p + at + head, (u32)nr * 3, false };
	return 0;
}

/* Encoding */

static void put_u32_pair(struct bytes *b, u32 first, u32 second)
{
	bytes_u32(b, first);
	bytes_u32(b, second);
}

static void put_array(struct bytes *b, const struct u64s *a)
{
	bytes_put(b, a->p, (size_t)a->n * 8);
}

static void fixed_encode(const struct sample_layout *l, const struct sample *s, struct bytes *b)
{
	u64 type = l->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		bytes_u64(b, s->id);
	if (type & PERF_SAMPLE_IP)
		bytes_u64(b, s->ip);
	if (type & PERF_SAMPLE_TID)
		put_u32_pair(b, s->pid, s->tid);
	if (type & PERF_SAMPLE_TIME)
		bytes_u64(b, s->time);
	if (type & PERF_SAMPLE_ADDR)
		bytes_u64(b, s->addr);
	if (type & PERF_SAMPLE_ID)
		bytes_u64(b, s->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		bytes_u64(b, s->stream_id);
	if (type & PERF_SAMPLE_CPU)
		put_u32_pair(b, s->cpu, 0);
	if (type & PERF_SAMPLE_PERIOD)
		bytes_u64(b, s->period);
}

static void read_values_encode(const struct sample_layout *l, const struct read_values *r, struct bytes *b)
{
	if (l->read_format & PERF_FORMAT_GROUP) {
		bytes_u64(b, r->nr);
		if (l->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
			bytes_u64(b, r->time_enabled);
		if (l->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
			bytes_u64(b, r->time_running);
	}
	put_array(b, &r->raw);
}

static void branches_encode(const struct sample_layout *l, const struct sample *s, struct bytes *b)
{
	bytes_u64(b, s->nr_branches);
	if (l->branch_sample_type & BRANCH_HW_INDEX)
		bytes_u64(b, s->hw_idx);
	put_array(b, &s->branches);
	if (l->branch_sample_type & BRANCH_COUNTERS)
		put_array(b, &s->branch_counters);
}

static void regs_encode(u64 abi, const struct u64s *regs, struct bytes *b)
{
	bytes_u64(b, abi);
	if (abi)
		put_array(b, regs);
}

static void memory_encode(const u8 *p, u64 size, u64 dyn_size, struct bytes *b)
{
	bytes_u64(b, size);
	bytes_put(b, p, size);
	if (size)
		bytes_u64(b, dyn_size);
}

static void weight_encode(const struct sample_layout *l, const struct sample *s, struct bytes *b)
{
	if (l->sample_type & PERF_SAMPLE_WEIGHT_STRUCT)
		bytes_u64(b, (s->weight & UINT32_MAX) | (u64)s->var2_w << 32 | (u64)s->var3_w << 48);
	else
		bytes_u64(b, s->weight);
}

static void body_encode(const struct sample_layout *l, const struct sample *s, struct bytes *b)
{
	u64 type = l->sample_type;

	fixed_encode(l, s, b);
	if (type & PERF_SAMPLE_READ)
		read_values_encode(l, &s->read, b);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		bytes_u64(b, s->chain.n);
		put_array(b, &s->chain);
	}
	if (type & PERF_SAMPLE_RAW) {
		bytes_u32(b, s->raw_size);
		bytes_put(b, s->raw, s->raw_size);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		branches_encode(l, s, b);
	if (type & PERF_SAMPLE_REGS_USER)
		regs_encode(s->regs_user_abi, &s->regs_user, b);
	if (type & PERF_SAMPLE_STACK_USER)
		memory_encode(s->stack_user, s->stack_user_size, s->stack_user_dyn_size, b);
	if (type & PERF_SAMPLE_WEIGHT_TYPE)
		weight_encode(l, s, b);
	if (type & PERF_SAMPLE_DATA_SRC)
		bytes_u64(b, s->data_src);
	if (type & PERF_SAMPLE_TRANSACTION)
		bytes_u64(b, s->transaction);
	if (type & PERF_SAMPLE_REGS_INTR)
		regs_encode(s->regs_intr_abi, &s->regs_intr, b);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		bytes_u64(b, s->phys_addr);
	if (type & PERF_SAMPLE_CGROUP)
		bytes_u64(b, s->cgroup);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		bytes_u64(b, s->data_page_size);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		bytes_u64(b, s->code_page_size);
	if (type & PERF_SAMPLE_TLS_USER)
		memory_encode(s->tls_user, s->tls_user_size, s->tls_user_dyn_size, b);
	if (l->tls_defers)
		bytes_u64(b, s->tls_cookie);
	if (type & PERF_SAMPLE_AUX) {
		bytes_u64(b, s->aux_size);
		bytes_put(b, s->aux, s->aux_size);
	}
}

int sample_encode(const struct sample_layout *l, const struct sample *s, struct bytes *out)
{
	size_t start = out->len, size;

	if (out->to_fd) { /* it may empty itself before the size is known */
		struct bytes record = { 0 };
		int err = sample_encode(l, s, &record);

		bytes_put(out, record.p, record.len);
		bytes_free(&record);
		return err;
	}
	bytes_u32(out, PERF_RECORD_SAMPLE);
	bytes_u16(out, s->misc);
	bytes_u16(out, 0); /* the size, below */
	body_encode(l, s, out);
	size = out->len - start;
	if (size > RECORD_MAX) {
		out->len = start;
		return ERR_LIMIT;
	}
	memcpy(out->p + start + 6, &(u16){ (u16)size }, 2);
	return 0;
}
