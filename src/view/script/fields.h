/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which fields a line of `script` shows.
 *
 * As in perf, the choice is made per kind of event (hardware, software, tracepoint, ...), not per event: each kind has
 * its defaults, -F changes them for one kind or for all, and what the first event of a kind did not sample is taken
 * off the defaults of that kind.
 */
#ifndef VIEW_SCRIPT_FIELDS_H
#define VIEW_SCRIPT_FIELDS_H

#include "base/err.h"
#include "codec/evlist.h"

#define SCRIPT_COMM (1ull << 0)
#define SCRIPT_PID (1ull << 1)
#define SCRIPT_TID (1ull << 2)
#define SCRIPT_CPU (1ull << 3)
#define SCRIPT_TIME (1ull << 4)
#define SCRIPT_EVENT (1ull << 5)
#define SCRIPT_TRACE (1ull << 6)
#define SCRIPT_IP (1ull << 7)
#define SCRIPT_SYM (1ull << 8)
#define SCRIPT_SYMOFF (1ull << 9)
#define SCRIPT_DSO (1ull << 10)
#define SCRIPT_DSOFF (1ull << 11)
#define SCRIPT_ADDR (1ull << 12)
#define SCRIPT_SRCLINE (1ull << 13)
#define SCRIPT_PERIOD (1ull << 14)
#define SCRIPT_IREGS (1ull << 15)
#define SCRIPT_UREGS (1ull << 16)
#define SCRIPT_BRSTACK (1ull << 17)
#define SCRIPT_BRSTACKSYM (1ull << 18)
#define SCRIPT_BRSTACKOFF (1ull << 19)
#define SCRIPT_FLAGS (1ull << 20)
#define SCRIPT_DATA_SRC (1ull << 21)
#define SCRIPT_WEIGHT (1ull << 22)
#define SCRIPT_BPF_OUTPUT (1ull << 23)
#define SCRIPT_PHYS_ADDR (1ull << 24)
#define SCRIPT_MISC (1ull << 25)
#define SCRIPT_TOD (1ull << 26)
#define SCRIPT_DATA_PAGE_SIZE (1ull << 27)
#define SCRIPT_CODE_PAGE_SIZE (1ull << 28)
#define SCRIPT_INS_LAT (1ull << 29)
#define SCRIPT_CGROUP (1ull << 30)
#define SCRIPT_TLS (1ull << 32)
#define SCRIPT_INSN (1ull << 33)
#define SCRIPT_INSNLEN (1ull << 34)
#define SCRIPT_DISASM (1ull << 35)
#define SCRIPT_ACTIVITY (1ull << 36)
#define SCRIPT_BRCNTR (1ull << 37)
#define SCRIPT_CODE (SCRIPT_INSN | SCRIPT_INSNLEN | SCRIPT_DISASM)
#define SCRIPT_NOTHING (1ull << 31) /* fields that only instruction traces fill: taken, and print nothing */

/* Kinds of events. The first six are numbered as PERF_TYPE_*. */
enum script_kind {
	SCRIPT_HW,
	SCRIPT_SW,
	SCRIPT_TP,
	SCRIPT_CACHE,
	SCRIPT_RAW,
	SCRIPT_BREAK,
	SCRIPT_SYNTH,
	SCRIPT_OTHER,
	NR_SCRIPT_KINDS
};

struct script_fields {
	u64 shown[NR_SCRIPT_KINDS];
	u64 asked[NR_SCRIPT_KINDS]; /* by the user, for all kinds: missing data is then an error */
	bool set[NR_SCRIPT_KINDS];  /* the user said something about this kind */
};

enum script_kind script_kind(u32 attr_type);
/* The name of the i-th field; NULL: there are no more. */
const char *script_field_name(u32 i);
void script_fields_default(struct script_fields *f);

/* One -F argument: "comm,ip,sym", "+srcline,-period", "sw:time,event". ERR_USAGE, noted. */
int script_fields_parse(struct script_fields *f, const char *text, const struct notify *to);

/*
 * Fits the choice to what was recorded. ERR_USAGE, noted, when the user asked for what the events do not have.
 * chains: call chains will be shown, so tracepoints that have them show addresses as well.
 */
int script_fields_settle(struct script_fields *f, const struct evlist *events, bool chains, const struct notify *to);

#endif
