/* SPDX-License-Identifier: Apache-2.0 */
#include "recipe/swap.h"

/* A place in a record that moves on as fields are turned round; end is where the trailer starts. */
struct at {
	u8 *p, *end;
};

static u64 turn(struct at *at, u32 width)
{
	u64 before = 0;

	if (at->end - at->p < width) { /* a record that is broken on purpose */
		at->p = at->end;
		return 0;
	}
	memcpy(&before, at->p, width);
	for (u32 i = 0; i < width / 2; i++) {
		u8 t = at->p[i];

		at->p[i] = at->p[width - 1 - i];
		at->p[width - 1 - i] = t;
	}
	at->p += width;
	return before;
}

/* Bytes that have no order. */
static void pass(struct at *at, u64 n)
{
	at->p += MIN(n, (u64)(at->end - at->p));
}

void swap_words(u8 *p, size_t bytes, u32 width)
{
	struct at at = { p, p + bytes };

	while (at.p < at.end)
		turn(&at, width);
}

static u8 mirror(u8 v)
{
	u8 out = 0;

	for (u32 i = 0; i < 8; i++)
		out |= (v >> i & 1) << (7 - i);
	return out;
}

void swap_attr(u8 *attr, u32 size)
{
	static const char widths[] = "448888f44888844842244888844422";
	struct at at = { attr, attr + size };

	for (const char *w = widths; *w && at.p < at.end; w++) {
		if (*w == 'f') {
			u8 *f = at.p;
			/* precise_ip: bits 15 and 16 of the word; its two bits change places */
			u8 low = f[1] >> 7, high = f[2] & 1;

			f[1] = (u8)((f[1] & 0x7f) | high << 7);
			f[2] = (u8)((f[2] & 0xfe) | low);
			for (u32 i = 0; i < 8; i++)
				f[i] = mirror(f[i]);
			at.p += 8;
		} else {
			turn(&at, (u32)(*w - '0'));
		}
	}
}

/* Bodies: a digit is a field of that many bytes, * repeats the last one to the end, s is text or raw to the end. */
static const char *body_of(const struct record_header *h)
{
	switch (h->type) {
	case PERF_RECORD_MMAP:
		return "44888s";
	case PERF_RECORD_MMAP2:
		return h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID ? "44888"
								  "111111111111111111111111"
								  "44s" :
								  "44888"
								  "4488"
								  "44s";
	case PERF_RECORD_COMM:
		return "44s";
	case PERF_RECORD_EXIT:
	case PERF_RECORD_FORK:
		return "44448";
	case PERF_RECORD_READ:
		return "448*";
	case PERF_RECORD_NAMESPACES:
		return "448*";
	case PERF_RECORD_KSYMBOL:
		return "8422s";
	case PERF_RECORD_BPF_EVENT:
		return "224s";
	case PERF_RECORD_TEXT_POKE:
		return "822s";
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return "44";
	case PERF_RECORD_HEADER_EVENT_TYPE:
	case PERF_RECORD_CGROUP:
	case PERF_RECORD_COMPRESSED2:
	case PERF_RECORD_HEADER_FEATURE:
		return "8s";
	case PERF_RECORD_HEADER_TRACING_DATA:
		return "4";
	case PERF_RECORD_HEADER_BUILD_ID:
		return "4s";
	case PERF_RECORD_AUXTRACE_INFO:
		return "448*";
	case PERF_RECORD_AUXTRACE:
		return "8884444";
	case PERF_RECORD_CPU_MAP:
		return "2s";
	case PERF_RECORD_STAT:
		return "844888";
	case PERF_RECORD_TIME_CONV:
		return "88888s";
	case PERF_RECORD_COMPRESSED:
		return "s";
	default: /* nothing but u64 */
		return "8*";
	}
}

static void swap_body(struct at at, const char *body)
{
	for (; *body && *body != 's' && at.p < at.end; body++) {
		if (*body == '*')
			swap_words(at.p, (size_t)(at.end - at.p) & ~7ull, 8);
		else
			turn(&at, (u32)(*body - '0'));
	}
}

static void swap_irregular(struct at at, const struct record_header *h)
{
	u64 fmt, nr;

	switch (h->type) {
	case PERF_RECORD_HEADER_ATTR: {
		u32 size;

		memcpy(&size, at.p + 4, 4);
		swap_attr(at.p, size);
		swap_words(at.p + size, (size_t)(at.end - at.p) - size, 8);
		break;
	}
	case PERF_RECORD_EVENT_UPDATE:
		memcpy(&fmt, at.p, 8);
		swap_body(at, fmt == 1 ? "888" : "88s"); /* 1: a scale, as a double */
		break;
	case PERF_RECORD_AUXTRACE_ERROR:
		memcpy(&fmt, at.p + 20, 4);
		swap_body(at, (u32)fmt ? "44444488s" : "4444448s");
		break;
	case PERF_RECORD_TLS_USER:
		turn(&at, 8);
		nr = turn(&at, 8);
		pass(&at, nr);
		if (nr)
			turn(&at, 8);
		break;
	case PERF_RECORD_THREAD_MAP:
		for (nr = turn(&at, 8); nr && at.p < at.end; nr--) {
			turn(&at, 8);
			pass(&at, 16);
		}
		break;
	case PERF_RECORD_BPF_METADATA:
		pass(&at, 512);
		turn(&at, 8);
		break;
	default:
		swap_body(at, body_of(h));
	}
}

/* Three 8-byte words per branch; the flags are a bit-field that starts at the other end of the word. */
static void swap_branch(struct at *at)
{
	static const u8 widths[] = { 1, 1, 1, 1, 16, 4, 2, 4, 3 };
	u64 flags, out = 0;
	u32 from = 0, to = 64;

	turn(at, 8);
	turn(at, 8);
	memcpy(&flags, at->p, 8);
	for (u32 i = 0; i < sizeof(widths); i++) {
		to -= widths[i];
		out |= (flags >> from & ((1ull << widths[i]) - 1)) << to;
		from += widths[i];
	}
	memcpy(at->p, &out, 8);
	turn(at, 8);
}

static void turn_many(struct at *at, u64 n)
{
	while (n-- && at->p < at->end)
		turn(at, 8);
}

static void swap_read(struct at *at, const struct sample_layout *l)
{
	u64 f = l->read_format, per = 1 + !!(f & PERF_FORMAT_ID) + !!(f & 16);
	u64 times = !!(f & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(f & PERF_FORMAT_TOTAL_TIME_RUNNING);

	if (f & PERF_FORMAT_GROUP) {
		u64 nr = turn(at, 8);

		turn_many(at, times + nr * per);
	} else {
		turn_many(at, times + per);
	}
}

static void swap_variable(struct at *at, const struct sample_layout *l, u64 bit)
{
	u64 n;

	switch (bit) {
	case PERF_SAMPLE_READ:
		swap_read(at, l);
		break;
	case PERF_SAMPLE_CALLCHAIN:
		turn_many(at, turn(at, 8));
		break;
	case PERF_SAMPLE_RAW:
		pass(at, turn(at, 4));
		break;
	case PERF_SAMPLE_BRANCH_STACK:
		n = turn(at, 8);
		if (l->branch_sample_type & 1 << 17)
			turn(at, 8);
		for (u64 i = 0; i < n && at->end - at->p >= 24; i++)
			swap_branch(at);
		if (l->branch_sample_type & 1 << 19)
			turn_many(at, n);
		break;
	case PERF_SAMPLE_REGS_USER:
		if (turn(at, 8))
			turn_many(at, l->nr_regs_user);
		break;
	case PERF_SAMPLE_REGS_INTR:
		if (turn(at, 8))
			turn_many(at, l->nr_regs_intr);
		break;
	case PERF_SAMPLE_STACK_USER:
	case PERF_SAMPLE_TLS_USER:
		n = turn(at, 8);
		pass(at, n);
		if (n)
			turn(at, 8);
		if (bit == PERF_SAMPLE_TLS_USER && l->tls_defers)
			turn(at, 8);
		break;
	default: /* AUX */
		pass(at, turn(at, 8));
	}
}

static void swap_sample(struct at at, const struct sample_layout *l)
{
	/* The kernel's order: perf_output_sample(). */
	static const u64 order[] = {
		PERF_SAMPLE_IDENTIFIER,
		PERF_SAMPLE_IP,
		PERF_SAMPLE_TID,
		PERF_SAMPLE_TIME,
		PERF_SAMPLE_ADDR,
		PERF_SAMPLE_ID,
		PERF_SAMPLE_STREAM_ID,
		PERF_SAMPLE_CPU,
		PERF_SAMPLE_PERIOD,
		PERF_SAMPLE_READ,
		PERF_SAMPLE_CALLCHAIN,
		PERF_SAMPLE_RAW,
		PERF_SAMPLE_BRANCH_STACK,
		PERF_SAMPLE_REGS_USER,
		PERF_SAMPLE_STACK_USER,
		PERF_SAMPLE_WEIGHT_TYPE,
		PERF_SAMPLE_DATA_SRC,
		PERF_SAMPLE_TRANSACTION,
		PERF_SAMPLE_REGS_INTR,
		PERF_SAMPLE_PHYS_ADDR,
		PERF_SAMPLE_CGROUP,
		PERF_SAMPLE_DATA_PAGE_SIZE,
		PERF_SAMPLE_CODE_PAGE_SIZE,
		PERF_SAMPLE_TLS_USER,
		PERF_SAMPLE_AUX,
	};
	const u64 variable = PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |
			     PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR |
			     PERF_SAMPLE_TLS_USER | PERF_SAMPLE_AUX;

	for (u32 i = 0; i < ARRAY_LEN(order); i++) {
		if (!(l->sample_type & order[i]))
			continue;
		if (order[i] & variable) {
			swap_variable(&at, l, order[i]);
		} else if (order[i] & (PERF_SAMPLE_TID | PERF_SAMPLE_CPU)) {
			turn(&at, 4);
			turn(&at, 4);
		} else {
			turn(&at, 8);
		}
	}
}

static void swap_trailer(struct at at, u64 fields)
{
	static const u64 order[] = { PERF_SAMPLE_TID,	    PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
				     PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER };

	for (u32 i = 0; i < ARRAY_LEN(order); i++) {
		if (!(fields & order[i]))
			continue;
		if (order[i] & (PERF_SAMPLE_TID | PERF_SAMPLE_CPU)) {
			turn(&at, 4);
			turn(&at, 4);
		} else {
			turn(&at, 8);
		}
	}
}

void swap_record(u8 *record, const struct trailer_layout *trailer, const struct sample_layout *layout)
{
	struct record_header h;
	struct at head = { record, record + 8 }, at;

	memcpy(&h, record, sizeof(h));
	turn(&head, 4);
	turn(&head, 2);
	turn(&head, 2);
	at = (struct at){ record + 8, record + h.size };
	if (h.type == PERF_RECORD_SAMPLE) {
		swap_sample(at, layout);
		return;
	}
	if (h.type <= PERF_RECORD_TLS_USER && trailer && h.size >= 8 + trailer->size) {
		at.end -= trailer->size;
		swap_trailer((struct at){ at.end, at.end + trailer->size }, trailer->fields);
	}
	swap_irregular(at, &h);
}
