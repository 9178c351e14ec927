/* SPDX-License-Identifier: Apache-2.0 */
/* Packets as perf 6.1 prints them; those that it does not know have the names of later versions. */
#include "codec/spe.h"

typedef unsigned long long ull;

/* What bits of an operation's payload mean, in the order of printing. */
static const struct word {
	u8 class, mask, value;
	const char *word;
} words[] = {
	{ SPE_LOAD_STORE, 0x01, 0x00, "LD" },
	{ SPE_LOAD_STORE, 0x01, 0x01, "ST" },
	{ SPE_LOAD_STORE, 0xe6, 0x06, " AT" },
	{ SPE_LOAD_STORE, 0xea, 0x0a, " EXCL" },
	{ SPE_LOAD_STORE, 0xf2, 0x12, " AR" },
	{ SPE_LOAD_STORE, 0xfe, 0x00, " GP-REG" },
	{ SPE_LOAD_STORE, 0xfe, 0x04, " SIMD-FP" },
	{ SPE_LOAD_STORE, 0xfe, 0x10, " UNSPEC-REG" },
	{ SPE_LOAD_STORE, 0xfe, 0x14, " MTE-TAG" },
	{ SPE_LOAD_STORE, 0xfe, 0x20, " MEMCPY" },
	{ SPE_LOAD_STORE, 0xff, 0x25, " MEMSET" },
	{ SPE_LOAD_STORE, 0xfe, 0x30, " NV-SYSREG" },
	{ SPE_LOAD_STORE, 0xfa, 0x40, " GCS" },
	{ SPE_LOAD_STORE, 0xfe, 0x44, " COMM" },
	{ SPE_BRANCH, 0x00, 0x00, "B" },
	{ SPE_BRANCH, 0x01, 0x01, " COND" },
	{ SPE_BRANCH, 0x02, 0x02, " IND" },
	{ SPE_BRANCH, 0x04, 0x04, " GCS" },
	{ SPE_BRANCH, 0x18, 0x08, " CR-BL" },
	{ SPE_BRANCH, 0x18, 0x10, " CR-RET" },
	{ SPE_BRANCH, 0x18, 0x18, " CR-NON-BL-RET" },
};

static void put_flag(u32 v, u32 bits, const char *word, struct bytes *out)
{
	if (v & bits)
		bytes_str(out, word);
}

/* Neither a load or store nor a branch: of vectors, of the matrix unit, or any other. */
static void put_other(u32 v, struct bytes *out)
{
	u32 length = v >> 4 & 7;

	switch (v & 0x89) {
	case 0x08:
		bytes_printf(out, "SVE-OTHER EVLEN %u", 32u << length);
		put_flag(v, 2, " FP", out);
		put_flag(v, 4, " PRED", out);
		break;
	case 0x88:
		bytes_printf(out, "SME-OTHER ETS %u", 128u << length);
		put_flag(v, 2, " FP", out);
		break;
	default:
		bytes_str(out, "OTHER");
		if (v < 8) {
			put_flag(v, 4, " ASE", out);
			put_flag(v, 2, " FP", out);
		}
		bytes_str(out, v & 1 ? " COND-SELECT" : " INSN-OTHER");
	}
}

static void put_operation(const struct spe_packet *p, struct bytes *out)
{
	u32 v = (u32)p->payload;

	if (p->index == SPE_OTHER) {
		put_other(v, out);
		return;
	}
	if (p->index > SPE_BRANCH)
		bytes_printf(out, "OP-TYPE %u", p->index);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (words[i].class == p->index && (v & words[i].mask) == words[i].value)
			bytes_str(out, words[i].word);
	if (p->index == SPE_LOAD_STORE && (v & 0x0a) == 0x08) {
		bytes_printf(out, " EVLEN %u", 32u << (v >> 4 & 7));
		put_flag(v, 4, " PRED", out);
		put_flag(v, 0x80, " SG", out);
	}
}

static const char *const event_names[64] = {
	"EXCEPTION-GEN",    "RETIRED",		"L1D-ACCESS",	  "L1D-REFILL", "TLB-ACCESS",	 "TLB-REFILL",
	"NOT-TAKEN",	    "MISPRED",		"LLC-ACCESS",	  "LLC-REFILL", "REMOTE-ACCESS", "ALIGNMENT",
	[16] = "TXN",	    "SVE-PARTIAL-PRED", "SVE-EMPTY-PRED", "L2D-ACCESS", "L2D-REFILL",	 "CACHE-DATA-MODIFIED",
	"RECENTLY-FETCHED", "DATA-SNOOPED",	"STREAMING-SVE",  "SMCU",
};

/* The names, each behind this text. */
static void put_event_names(u64 events, bool others, const char *before, struct bytes *out)
{
	for (u32 i = 0; i < 64; i++) {
		if (!(events >> i & 1) || (!event_names[i] && !others))
			continue;
		bytes_str(out, before);
		if (event_names[i])
			bytes_str(out, event_names[i]);
		else
			bytes_printf(out, "IMPDEF:%u", i);
	}
}

static void put_events(const struct spe_packet *p, struct bytes *out)
{
	bytes_str(out, "EV");
	/* one byte has no bits of the implementation's */
	put_event_names(p->payload, p->size > 2 + !!p->header[1], " ", out);
}

void spe_events_put(u64 events, struct bytes *out)
{
	size_t start = out->len;

	put_event_names(events, true, " ", out);
	if (out->len > start)
		memmove(out->p + start, out->p + start + 1, --out->len - start);
}

static void put_address(const struct spe_packet *p, struct bytes *out)
{
	static const char *const names[SPE_NR_ADDRESSES] = { "PC", "TGT", "VA", "PA", "PBT" };
	u64 v = p->payload, low = v & ~(0xffull << 56);
	u32 not_secure = v >> 63;

	switch (p->index) {
	case SPE_PC:
	case SPE_TARGET:
	case SPE_PREVIOUS_TARGET:
		bytes_printf(out, "%s 0x%llx el%u ns=%u", names[p->index], (ull)low, (u32)(v >> 61 & 3), not_secure);
		break;
	case SPE_VIRTUAL:
		bytes_printf(out, "VA 0x%llx", (ull)v);
		break;
	case SPE_PHYSICAL:
		bytes_printf(out, "PA 0x%llx ns=%u ch=%u pat=%x", (ull)low, not_secure, (u32)(v >> 62 & 1),
			     (u32)(v >> 56 & 0xf));
		break;
	default:
		bytes_printf(out, "ADDR 0x%llx (%u)", (ull)v, p->index);
	}
}

static void put_counter(const struct spe_packet *p, struct bytes *out)
{
	static const char *const names[SPE_NR_COUNTERS] = { "TOT", "ISSUE", "XLAT" };

	bytes_printf(out, "LAT %u", (u32)p->payload);
	if (p->index < SPE_NR_COUNTERS)
		bytes_printf(out, " %s", names[p->index]);
	else
		bytes_printf(out, " COUNTER-%u", p->index);
}

void spe_packet_print(const struct spe_packet *p, struct bytes *out)
{
	switch (p->type) {
	case SPE_PAD:
		bytes_str(out, "PAD");
		break;
	case SPE_END:
		bytes_str(out, "END");
		break;
	case SPE_TIMESTAMP:
		bytes_printf(out, "TS %llu", (ull)p->payload);
		break;
	case SPE_ADDRESS:
		put_address(p, out);
		break;
	case SPE_COUNTER:
		put_counter(p, out);
		break;
	case SPE_CONTEXT:
		bytes_printf(out, "CONTEXT 0x%llx el%u", (ull)p->payload, p->index + 1u);
		break;
	case SPE_OPERATION:
		put_operation(p, out);
		break;
	case SPE_EVENTS:
		put_events(p, out);
		break;
	case SPE_SOURCE:
		bytes_printf(out, "DATA-SOURCE %llu", (ull)p->payload);
		break;
	case SPE_UNKNOWN:
		bytes_printf(out, "UNKNOWN header %02x%02x payload 0x%llx", p->header[0], p->header[1],
			     (ull)p->payload);
		break;
	default:
		bytes_str(out, "Bad packet!");
	}
}
