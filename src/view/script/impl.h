/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the script view share; nobody else includes it. */
#ifndef VIEW_SCRIPT_IMPL_H
#define VIEW_SCRIPT_IMPL_H

#include "attrib/tracepoint.h"
#include "base/json.h"
#include "codec/record.h"
#include "codec/regs.h"
#include "codec/sample.h"
#include "view/script/insn.h"
#include "view/script/place.h"
#include "view/script/script.h"

#define NO_CPU UINT32_MAX
#define NO_TASK UINT32_MAX
#define THREAD_SLOTS 1024u /* a power of two */

/* A thread as its lines show it. */
struct thread_slot {
	u32 pid, tid;
	bool used;
	struct thread_view view;
	struct bytes comm; /* plain; a NUL stands behind it */
};

struct script_worker {
	const struct script *s;
	struct place_cache *places;
	struct thread_slot *threads;
	struct bytes *names;		 /* of each event, as lines show it: "   cycles: " */
	struct tracepoints *tracepoints; /* made when the first one comes */
	u64 first_time, last_time;	 /* of printed lines, for --reltime and --deltatime */
	u32 data_src_width;		 /* perf pads to the widest so far */
	struct insn_decoder *insns;	 /* made when the first one comes */
	struct maps kernel;		 /* for tracepoints: where functions are looked up */
	struct bytes scratch;
};

/* What a line begins with. A record that lacks one of these has it as all ones. */
struct line_head {
	u32 pid, tid, cpu;
	u64 time;
	u16 misc;
	u32 record_type;
};

/* thread.c. NULL: no record named the thread, it is shown as ":TID". */
const char *script_comm(const struct script *s, const struct thread_view *view);
const struct thread_slot *script_thread(struct script_worker *w, u32 pid, u32 tid, u64 clock);
void script_put_head(struct script_worker *w, const struct event *e, const struct line_head *h,
		     const struct bytes *comm, struct bytes *out);

/* One sample of an event, everything decoded, filters passed. */
struct script_line {
	const struct event *event;
	u32 event_index;
	const struct sample *sample;
	u64 period;
	u32 activity; /* as in struct hit */
	u64 clock;
	u16 cpumode;
	u16 stitched; /* as struct hit */
	const struct thread_slot *thread;
};

void script_put_line(struct script_worker *w, const struct script_line *l, struct bytes *out);
void script_put_json(struct script_worker *w, const struct script_line *l, struct bytes *out);

/* The chain: objects of the list that j is in, or where that is NULL lines of text. */
void script_put_chain(struct script_worker *w, const struct script_line *l, struct json *j, struct bytes *out);
struct place_style script_style(const struct script *s, enum script_kind kind, bool chain);
#define STYLE_ID(kind, chain) ((u32)(kind)*2 + (chain))

/* Whose registers samples hold: x86's where nobody said. */
enum regs_arch script_regs_arch(const struct script *s);

/* What a tracepoint has to say, into w->scratch. */
void script_trace_text(struct script_worker *w, const struct script_line *l);

/* script_data.c: the rarer fields. */
void script_put_regs(const struct u64s *regs, u64 mask, u64 abi, enum regs_arch arch, struct bytes *out);
/* The thread's memory, from the sample or from the record that came later; *n is 0 when there is none. */
const u8 *script_tls(const struct script_worker *w, const struct script_line *l, u32 *n);
/* " tls:0011..", or " tls:-" when there is nothing */
void script_put_tls(const struct script_worker *w, const struct script_line *l, struct bytes *out);
void script_put_branches(struct script_worker *w, const struct script_line *l, u32 field, bool dso, struct bytes *out);
/* " br_cntr: AA|B AAA+|-": events between its branches, the newest first. */
void script_put_counters(const struct script_worker *w, const struct script_line *l, struct bytes *out);
u32 script_put_data_src(u64 data_src, u32 width, struct bytes *out); /* returns the width used */
void script_put_bpf_output(const u8 *data, u32 size, struct bytes *out);
/* The instruction that was sampled, at its place; text into w->scratch when it is wanted. Returns its bytes: 0: not to
 * be had. */
u32 script_insn(struct script_worker *w, const struct script_line *l, bool text, u8 code[INSN_MAX]);
void script_put_code(struct script_worker *w, const struct script_line *l, u64 shown, struct bytes *out);
void script_put_page_size(u64 size, struct bytes *out);

#endif
