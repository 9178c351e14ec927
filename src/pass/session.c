/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/session.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attrib/spe_counted.h"
#include "base/mem.h"
#include "base/pool.h"
#include "state/jit.h"
#include "state/threadset.h"

/* What state wants to know, and when: a record; */
struct side_ref {
	u64 clock;
	u64 offset;
};

/* or code that a JIT placed. */
struct jit_code {
	struct side_ref at; /* when, and the record that named the dump */
	u64 start, len;
	u32 pid, dso;
};

#define ROUNDS_KEPT 16

struct first_pass {
	struct session *s;
	VEC(struct side_ref) side;
	bool sorted;
	u64 last_clock;
	VEC(struct jit_code) code;
	struct map jit_pids; /* whose jitdump was read */
	bool monotonic;	     /* the recording's clock is that of jitdumps */
	struct side_ref at;  /* while a jitdump is read: the record that named it */
	u32 at_pid;
	struct threadset *sampled; /* NULL: everybody counts */
	/* The last ones that tell of stacks, the nth at n % ROUNDS_KEPT: each knows more than the one before, but the
	 * newest may be damaged. */
	struct source_record rounds[ROUNDS_KEPT];
	u64 nr_rounds;
	u32 at_tid; /* where pid and tid stand in samples; 0: nowhere */
};

static bool speaks_of_processes(u32 type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_NAMESPACES:
		return true;
	default:
		return false;
	}
}

/* perf writes no time as 0 or ~0: such a record holds from the beginning. */
static u64 clock_of(const struct session *s, const struct record *r)
{
	if (!s->clock_is_time)
		return r->offset;
	return r->sid.time == UINT64_MAX ? 0 : r->sid.time;
}

int session_decode(const struct session *s, const struct source_record *at, struct record *out)
{
	const struct trailer_layout *trailer = evlist_trailer(&s->src->events, at->p, at->h.size, s->src->swap);

	return record_decode(cursor_over(at->p, at->h.size, s->src->swap), at->offset, trailer, out);
}

static void tally_record(struct tally *t, const struct record *r)
{
	switch (r->h.type) {
	case PERF_RECORD_LOST:
		t->lost += r->lost.lost;
		break;
	case PERF_RECORD_LOST_SAMPLES:
		t->lost_samples += r->lost.lost;
		break;
	case PERF_RECORD_THROTTLE:
		t->throttled++;
		break;
	case PERF_RECORD_AUX:
		t->aux_truncated += r->aux.flags & PERF_AUX_FLAG_TRUNCATED ? 1 : 0;
		t->aux_lost += r->aux.flags & PERF_AUX_FLAG_PARTIAL ? 1 : 0;
		t->aux_collisions += r->aux.flags & PERF_AUX_FLAG_COLLISION ? 1 : 0;
		break;
	default:
		break;
	}
}

static void add_side(struct first_pass *f, struct side_ref ref)
{
	f->sorted &= ref.clock >= f->last_clock;
	f->last_clock = ref.clock;
	vec_push(&f->side, ref);
}

/* Where the recording has another clock than jitdumps: the dump was begun when it was mapped. Without any clock, all
 * code holds from then on. */
static void add_jit_code(void *ctx, u64 start, u64 len, u64 time, u64 begun, u32 dso)
{
	struct first_pass *f = ctx;
	u64 later = f->s->clock_is_time && time > begun ? time - begun : 0;

	if (!f->monotonic)
		time = later > UINT64_MAX - f->at.clock ? f->at.clock : f->at.clock + later;
	vec_push(&f->code, (struct jit_code){ { time, f->at.offset }, start, len, f->at_pid, dso });
}

static void read_jitdump(struct first_pass *f, const struct record *r, u64 clock)
{
	char *path;

	if (!jit_is_dump(r->mmap.filename, r->mmap.pid) || *map_at(&f->jit_pids, r->mmap.pid, 0))
		return;
	map_set(&f->jit_pids, r->mmap.pid, 1);
	f->at = (struct side_ref){ clock, r->offset };
	f->at_pid = r->mmap.pid;
	path = mem_strndup(r->mmap.filename.p, r->mmap.filename.len);
	jit_load(f->s->dsos, path, r->mmap.pid, add_jit_code, f);
	free(path);
}

static void note_activity(struct session *s, const struct source_record *at)
{
	const struct event *e = &s->src->events.events.v[s->activity_event];
	struct sample sample;

	if (sample_decode(&e->layout, cursor_over(at->p, at->h.size, s->src->swap), &sample) || !sample.raw) {
		s->timelines.broken++;
		return;
	}
	timelines_add(&s->timelines, sample.pid, sample.tid, s->clock_is_time ? sample.time : at->offset,
		      cursor_over(sample.raw, sample.raw_size, s->src->swap));
}

/* A thread begins, or another program in it: it does not work for what was said of that number before. */
static void note_begin(struct session *s, const struct record *r, u64 clock)
{
	if (r->h.type == PERF_RECORD_FORK)
		timelines_begin(&s->timelines, r->task.pid, r->task.tid, clock);
	else if (r->h.type == PERF_RECORD_COMM && r->comm.exec)
		timelines_begin(&s->timelines, r->comm.pid, r->comm.tid, clock);
}

static void note_deferred_tls(struct session *s, const struct record *r)
{
	const struct evlist *l = &s->src->events;
	u32 event = l->events.n == 1 ? 0 : evlist_of_id(l, r->sid.id);

	if (event == ID_NONE)
		s->tally.broken_records++;
	else
		deferred_tls_add(&s->deferred_tls, &(struct deferred_bytes){ .cookie = r->tls_user.cookie,
									     .event = event,
									     .n = (u32)r->tls_user.dyn_size,
									     .p = r->tls_user.bytes.p });
}

static struct cursor round_body(const struct session *s, const struct source_record *at)
{
	struct cursor c = cursor_over(at->p, at->h.size, s->src->swap);

	cursor_skip(&c, sizeof(struct record_header));
	return c;
}

/* Anything but a sample: counted, and remembered when state will want it. */
static void note_record(void *ctx, const struct source_record *at)
{
	struct first_pass *f = ctx;
	struct session *s = f->s;
	struct record r;
	u64 clock;

	if (at->h.type == PERF_RECORD_SAMPLE) {
		note_activity(s, at);
		return;
	}
	if (!record_kind(at->h.type)) {
		s->tally.unknown_records++;
		return;
	}
	if (session_decode(s, at, &r)) {
		s->tally.broken_records++;
		return;
	}
	tally_record(&s->tally, &r);
	if (at->h.type == PERF_RECORD_FINISHED_ROUND && round_body_is(round_body(s, at)))
		f->rounds[f->nr_rounds++ % ROUNDS_KEPT] = *at;
	aux_note(&s->aux, &r, at->payload ? (u64)(at->payload - s->src->data) : 0, at->payload_size);
	if (at->h.type == PERF_RECORD_CALLCHAIN_DEFERRED)
		deferred_add(&s->deferred, r.callchain_deferred.cookie, &r.callchain_deferred.ips);
	if (at->h.type == PERF_RECORD_TLS_USER)
		note_deferred_tls(s, &r);
	if (at->h.type == PERF_RECORD_CGROUP)
		map_set(&s->cgroups, r.cgroup.id, strtab_intern(&s->strings, r.cgroup.path.p, r.cgroup.path.len));
	if (!speaks_of_processes(at->h.type))
		return;
	clock = clock_of(s, &r);
	if (s->activity_event != ID_NONE)
		note_begin(s, &r, clock);
	add_side(f, (struct side_ref){ clock, at->offset });
	if (at->h.type == PERF_RECORD_MMAP || at->h.type == PERF_RECORD_MMAP2)
		read_jitdump(f, &r, clock);
}

void session_progress(const struct session *s, const char *what, u64 done, u64 total)
{
	if (s->opts.progress)
		s->opts.progress(s->opts.progress_ctx, what, done, total);
}

static int compare_refs(const struct side_ref *a, const struct side_ref *b)
{
	if (a->clock != b->clock)
		return a->clock < b->clock ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int newest_first(const void *a, const void *b)
{
	return compare_refs(b, a);
}

static int by_clock(const void *va, const void *vb)
{
	const struct jit_code *a = va, *b = vb;
	int order = compare_refs(&a->at, &b->at);

	return order ? order : a->dso < b->dso ? -1 : a->dso > b->dso;
}

static bool has_monotonic_clock(const struct evlist *l)
{
	const struct attr *a = &l->events.v[0].attr;

	return l->has_time && a->flags & ATTR_USE_CLOCKID && a->clockid == CLOCK_MONOTONIC;
}

/* Recordings of user space alone need no kernel symbols. */
static bool sees_kernel(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++)
		if (!(l->events.v[i].attr.flags & ATTR_EXCLUDE_KERNEL))
			return true;
	return false;
}

/*
 * Most records of a short recording, and of a hostile one any number, speak of processes that no sample is from. Only
 * what samples can see is kept: going back in time, a fork makes that of the parent count which holds for the child.
 */
static bool is_seen(struct first_pass *f, u64 offset)
{
	struct source_record at;
	struct record r;

	if (!source_next(f->s->src, &offset, &at, NULL) || session_decode(f->s, &at, &r))
		return false;
	switch (at.h.type) {
	case PERF_RECORD_COMM:
		return threadset_has(f->sampled, THREADSET_TID, r.comm.tid);
	case PERF_RECORD_NAMESPACES:
		return threadset_has(f->sampled, THREADSET_TID, r.namespaces.tid);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return (at.h.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL ||
		       threadset_has(f->sampled, THREADSET_PID, r.mmap.pid);
	case PERF_RECORD_FORK:
		if (!threadset_has(f->sampled, THREADSET_PID, r.task.pid) &&
		    !threadset_has(f->sampled, THREADSET_TID, r.task.tid))
			return false;
		threadset_add(f->sampled, THREADSET_PID, r.task.ppid);
		threadset_add(f->sampled, THREADSET_TID, r.task.ptid);
		return true;
	default:
		return true;
	}
}

/* Newest first, so that the end of the array can be given back as it is gone through. */
static void order_side_band(struct first_pass *f)
{
	struct side_ref *v = f->side.v;
	size_t kept = 0;

	if (!f->sorted)
		qsort(v, f->side.n, sizeof(*v), newest_first);
	for (size_t i = 0, k = f->side.n; f->sorted && i + 1 < k--; i++) {
		struct side_ref t = v[i];

		v[i] = v[k];
		v[k] = t;
	}
	for (size_t i = 0; f->sampled && i < f->side.n; i++)
		if (is_seen(f, v[i].offset))
			v[kept++] = v[i];
	if (f->sampled)
		f->side.n = kept;
	f->side.v = mem_realloc(v, f->side.n, sizeof(*v));
	f->side.cap = f->side.n;
	if (f->code.n)
		qsort(f->code.v, f->code.n, sizeof(*f->code.v), by_clock);
}

#define GIVE_BACK (1u << 16) /* refs */

#define ROOM_FREE (8ull << 20) /* what processes may take beyond twice the recording's size */
#define REF_BYTES 40	       /* of a record that is shown in order of time, while it is sorted */

static void note_left_out(const struct session *s)
{
	u64 n = procs_left_out(s->procs);

	if (n)
		(void)notify_at(s->notify, NOTE_WARNING, ERR_LIMIT, s->src->path, NO_OFFSET,
				"its records about processes need more memory than twice its size: %llu of them are "
				"left out",
				(unsigned long long)n);
}

static void apply_side_band(struct first_pass *f)
{
	struct session *s = f->s;
	size_t code = 0;
	u64 room;

	order_side_band(f);
	room = 2 * s->src->size;
	/* Who asks about every thread shows these records too, and sorts them. */
	if (s->opts.every_thread)
		room -= MIN(room, f->side.n * REF_BYTES);
	room -= MIN(room, aux_memory(&s->aux));
	procs_limit(s->procs, room + ROOM_FREE);
	while (f->side.n || code < f->code.n) {
		const struct side_ref *next = f->side.n ? &f->side.v[f->side.n - 1] : NULL;
		const struct jit_code *c = code < f->code.n ? &f->code.v[code] : NULL;
		struct source_record at;
		struct record r;
		u64 offset;

		if (c && (!next || compare_refs(&c->at, next) < 0)) {
			procs_add_code(s->procs, c->pid, c->start, c->len, c->dso, c->at.clock);
			code++;
			continue;
		}
		offset = next->offset;
		if (source_next(s->src, &offset, &at, NULL) && !session_decode(s, &at, &r))
			procs_apply(s->procs, &r, next->clock);
		if (--f->side.n % GIVE_BACK == 0)
			f->side.v = mem_realloc(f->side.v, f->side.n, sizeof(*f->side.v));
	}
	vec_free(&f->side); /* before the index of what it said is made */
	vec_free(&f->code);
	note_left_out(s);
	procs_seal(s->procs);
}

/* Where all samples have their thread; false when events disagree on it. */
static bool find_thread_ids(const struct evlist *l, u32 *at)
{
	const struct event *first = NULL;

	for (size_t i = 0; i < l->events.n; i++) {
		const struct event *e = &l->events.v[i];

		if (e->unsupported || e->activity)
			continue;
		if (first && e->layout.at_tid != first->layout.at_tid)
			return false;
		first = e;
	}
	*at = first ? first->layout.at_tid : 0;
	return true;
}

static void apply_build_ids(struct session *s)
{
	const struct features *f = &s->src->features;

	for (size_t i = 0; i < f->build_ids.n; i++) {
		const struct rec_build_id *b = &f->build_ids.v[i];
		u32 mode = f->build_id_misc.v[i] & PERF_RECORD_MISC_CPUMODE_MASK;

		dsos_set_build_id(s->dsos, b, mode == PERF_RECORD_MISC_KERNEL);
	}
}

static bool reads_lost(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++)
		if (l->events.v[i].attr.read_format & PERF_READ_LOST)
			return true;
	return false;
}

static void hop_progress(void *ctx, u64 done, u64 total)
{
	const struct first_pass *f = ctx;

	session_progress(f->s, "reading", done, total);
}

/* What a finished file says at its end is more. */
static void take_round(struct first_pass *f)
{
	struct source *src = f->s->src;
	bool told = src->features.present[FEAT_UNWOUND / 64] >> FEAT_UNWOUND % 64 & 1;
	const struct source_record *newest = &f->rounds[(f->nr_rounds - 1) % ROUNDS_KEPT];
	u64 back = 0, most = MIN(f->nr_rounds, (u64)ROUNDS_KEPT);

	if (!most || (told && !src->features.unwound_so_far))
		return;
	while (back < most &&
	       !round_body_decode(&src->features,
				  round_body(f->s, &f->rounds[(f->nr_rounds - 1 - back) % ROUNDS_KEPT])))
		back++;
	if (back)
		(void)notify_at(f->s->notify, NOTE_WARNING, ERR_FORMAT, src->path, src->data_offset + newest->offset,
				"what became of the stacks is damaged, and %s",
				back < most ? "shown as it was some rounds earlier" : "left out");
}

static int hop(struct first_pass *f)
{
	struct session *s = f->s;
	struct hop_opts o = {
		.workers = s->opts.workers,
		.record = note_record,
		.progress = hop_progress,
		.ctx = f,
		.stop = s->opts.stop,
		.threads = f->sampled,
		.aside = s->activity_event == ID_NONE ? NULL : &s->src->events.events.v[s->activity_event],
		.lanes = s->opts.lanes && s->opts.workers > 1 && lanes_needed(&s->src->events),
		.at_tid = f->at_tid,
	};
	int err = hop_records(s->src, &o, &s->data);

	take_round(f);
	s->tally.left_out_bytes += s->data.left_out;
	return err;
}

/* Names and DSOs: those of an earlier session, or none yet. */
static void take_kept(struct session *s, const struct notify *notify)
{
	struct session_kept *k = s->opts.kept;

	if (k && k->dsos) {
		s->strings = k->strings;
		s->dsos = k->dsos;
		s->frames = k->frames;
		s->code = k->code;
		*k = (struct session_kept){ 0 };
		dsos_again(s->dsos);
		return;
	}
	s->opts.symbols.made_ns = s->src->changed_ns;
	s->dsos = dsos_new(&s->opts.symbols, notify);
	s->frames = frames_new();
	s->code = k ? code_cache_new() : NULL;
	apply_build_ids(s);
	dsos_set_recorded(s->dsos, s->src->features.files.v, s->src->features.files.n);
	if (s->opts.workers != 1 && sees_kernel(&s->src->events))
		dsos_read_ahead(s->dsos);
}

static void add_aux_events(struct session *s)
{
	static const char *const kinds[] = {
		[AUXTRACE_INTEL_PT] = "Intel PT",      [AUXTRACE_INTEL_BTS] = "Intel BTS",
		[AUXTRACE_CS_ETM] = "CoreSight ETM",   [AUXTRACE_S390_CPUMSF] = "s390 sampling facility",
		[AUXTRACE_HISI_PTT] = "HiSilicon PTT",
	};
	const char *kind = s->aux.kind < ARRAY_LEN(kinds) ? kinds[s->aux.kind] : NULL;

	if (s->aux.kind == AUXTRACE_ARM_SPE) {
		spe_add_events(&s->spe, s->opts.aux_events_given ? s->opts.aux_events : SPE_EVENTS_USUAL, &s->aux,
			       &s->src->events);
		if (s->opts.aux_counted)
			s->tally.uncounted = spe_add_counted(
				&s->spe, event_machine_of(s->src->features.arch, s->src->features.cpuid),
				&s->src->events);
		return;
	}
	if (!s->aux.bytes)
		return;
	s->tally.aux_left_out = s->aux.bytes;
	s->tally.aux_kind = kind ? kind : "of an unknown kind";
	(void)notify_at(s->notify, NOTE_WARNING, ERR_UNSUPPORTED, s->src->path, NO_OFFSET,
			"its %llu bytes of AUX data (%s) are left out: only those of Arm SPE can be read here; perf "
			"script reads them",
			(unsigned long long)s->aux.bytes, s->tally.aux_kind);
}

/* The first pass. */
static int apply_records(struct session *s)
{
	struct first_pass f = { .s = s, .sorted = true };
	int err;

	f.monotonic = has_monotonic_clock(&s->src->events);
	if (!s->opts.every_thread && find_thread_ids(&s->src->events, &f.at_tid))
		f.sampled = mem_zalloc(sizeof(*f.sampled));
	err = hop(&f);
	timelines_seal(&s->timelines);
	aux_seal(&s->aux, s->src->features.cpuid);
	if (s->aux.kind == AUXTRACE_ARM_SPE) { /* who was sampled stands in there */
		free(f.sampled);
		f.sampled = NULL;
	}
	if (!err)
		apply_side_band(&f);
	if (!err)
		add_aux_events(s);
	dsos_set_release(s->dsos, s->src->features.osrelease, s->src->features.arch);
	vec_free(&f.side);
	vec_free(&f.code);
	map_free(&f.jit_pids);
	free(f.sampled);
	return err;
}

/* The event that says what threads work for counts for nothing itself. */
static void find_activities(struct session *s)
{
	struct evlist *l = &s->src->events;

	s->activity_event = ID_NONE;
	for (u32 i = 0; i < l->events.n; i++) {
		struct event *e = &l->events.v[i];

		if (e->unsupported || !activity_event(&e->attr, e->name))
			continue;
		e->activity = e->silent = true;
		s->activity_event = i;
	}
}

int session_over(struct session **out, struct source *src, const struct session_opts *opts,
		 const struct notify *notify)
{
	struct session *s = mem_zalloc(sizeof(*s));
	int err;

	s->opts = *opts;
	if (!s->opts.workers)
		s->opts.workers = pool_default_workers();
	s->notify = notify;
	s->src = src;
	s->src_is_theirs = true;
	s->clock_is_time = src->events.has_time;
	s->tally.left_out_bytes = src->left_out;
	s->tally.lost_twice = reads_lost(&src->events);
	find_activities(s);
	take_kept(s, notify);
	s->procs = procs_new(&s->strings, s->dsos);
	err = apply_records(s);
	if (err) {
		session_close(s);
		return err;
	}
	*out = s;
	return 0;
}

#define ONE_HEAP_BYTES (4u << 20)

int session_open(struct session **out, const char *path, const struct session_opts *opts, const struct notify *notify)
{
	struct source *src;
	int err = source_open(&src, path, notify);

	if (err)
		return err;
	/* What is larger has more workers, who would wait for each other, and blocks that are better mapped. */
	if (MAX(src->size, src->file_size) <= ONE_HEAP_BYTES)
		mem_one_heap();
	err = session_over(out, src, opts, notify);
	if (err)
		source_close(src);
	else
		(*out)->src_is_theirs = false;
	return err;
}

void session_kept_free(struct session_kept *k)
{
	code_cache_free(k->code);
	frames_free(k->frames);
	dsos_free(k->dsos);
	strtab_free(&k->strings);
	*k = (struct session_kept){ 0 };
}

void session_kept_renew(struct session_kept *k)
{
	code_cache_free(k->code);
	k->code = code_cache_new();
	frames_free(k->frames);
	k->frames = frames_new();
	strtab_free(&k->strings);
	k->strings = (struct strtab){ 0 };
}

void session_forget_processes(struct session *s)
{
	procs_free(s->procs);
	s->procs = NULL;
	if (!s->opts.kept)  /* else the next session's processes take their room */
		mem_trim(); /* they were tens of thousands of small pieces */
}

void session_keep(struct session *s)
{
	dsos_keep_found(s->dsos);
}

void session_close(struct session *s)
{
	struct session_kept kept;

	if (!s)
		return;
	kept = (struct session_kept){ s->strings, s->dsos, s->frames, s->code };
	procs_free(s->procs);
	if (s->opts.kept)
		*s->opts.kept = kept;
	else
		session_kept_free(&kept);
	deferred_free(&s->deferred);
	deferred_tls_free(&s->deferred_tls);
	aux_free(&s->aux);
	timelines_free(&s->timelines);
	free(s->chosen);
	map_free(&s->cgroups);
	vec_free(&s->data.blocks);
	vec_free(&s->data.runs);
	if (!s->src_is_theirs)
		source_close(s->src);
	free(s);
}
