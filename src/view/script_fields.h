/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which fields a line of `script` shows.
 *
 * As in perf, the choice is made per kind of event (hardware, software, tracepoint, ...), not per event: each kind has
 * its defaults, -F changes them for one kind or for all, and what the first event of a kind did not sample is taken off
 * the defaults of that kind.
 */
#ifndef VIEW_SCRIPT_FIELDS_H
#define VIEW_SCRIPT_FIELDS_H

#include "base/err.h"
#include "codec/evlist.h"

#define SCRIPT_COMM (1u << 0)
#define SCRIPT_PID (1u << 1)
#define SCRIPT_TID (1u << 2)
#define SCRIPT_CPU (1u << 3)
#define SCRIPT_TIME (1u << 4)
#define SCRIPT_EVENT (1u << 5)
#define SCRIPT_TRACE (1u << 6)
#define SCRIPT_IP (1u << 7)
#define SCRIPT_SYM (1u << 8)
#define SCRIPT_SYMOFF (1u << 9)
#define SCRIPT_DSO (1u << 10)
#define SCRIPT_DSOFF (1u << 11)
#define SCRIPT_ADDR (1u << 12)
#define SCRIPT_SRCLINE (1u << 13)
#define SCRIPT_PERIOD (1u << 14)
#define SCRIPT_IREGS (1u << 15)
#define SCRIPT_UREGS (1u << 16)
#define SCRIPT_BRSTACK (1u << 17)
#define SCRIPT_BRSTACKSYM (1u << 18)
#define SCRIPT_BRSTACKOFF (1u << 19)
#define SCRIPT_FLAGS (1u << 20)
#define SCRIPT_DATA_SRC (1u << 21)
#define SCRIPT_WEIGHT (1u << 22)
#define SCRIPT_BPF_OUTPUT (1u << 23)
#define SCRIPT_PHYS_ADDR (1u << 24)
#define SCRIPT_MISC (1u << 25)
#define SCRIPT_TOD (1u << 26)
#define SCRIPT_DATA_PAGE_SIZE (1u << 27)
#define SCRIPT_CODE_PAGE_SIZE (1u << 28)
#define SCRIPT_INS_LAT (1u << 29)
#define SCRIPT_CGROUP (1u << 30)
#define SCRIPT_NOTHING (1u << 31) /* fields that only instruction traces fill: taken, and print nothing */

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
	u32 shown[NR_SCRIPT_KINDS];
	u32 asked[NR_SCRIPT_KINDS]; /* by the user, for all kinds: missing data is then an error */
	bool set[NR_SCRIPT_KINDS];  /* the user said something about this kind */
};

enum script_kind script_kind(u32 attr_type);
void script_fields_default(struct script_fields *f);

/* One -F argument: "comm,ip,sym", "+srcline,-period", "sw:time,event". ERR_USAGE, noted. */
int script_fields_parse(struct script_fields *f, const char *text, const struct notify *to);

/*
 * Fits the choice to what was recorded. ERR_USAGE, noted, when the user asked for what the events do not have.
 * chains: call chains will be shown, so tracepoints that have them show addresses as well.
 */
int script_fields_settle(struct script_fields *f, const struct evlist *events, bool chains, const struct notify *to);

#endif
