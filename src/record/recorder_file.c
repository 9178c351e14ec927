/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a recording: begun, finished, and with --switch-output one after the other. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/activity.h"
#include "record/journals.h"
#include "record/recorder_impl.h"

static void put_bare(struct recorder *r, u32 type)
{
	struct record record = { .h.type = type };
	struct bytes b = { 0 };

	record_encode(&record, NULL, &b);
	writer_put_bytes(&r->writer, &b);
	bytes_free(&b);
}

/* What is known by now is in the file from the start, for readers of what a killed recorder leaves. */
static int begin_file(struct recorder *r)
{
	struct features f = { 0 };
	struct arena arena = { 0 };
	int err;

	/* Flight recorders have no rounds to carry features, and leave nothing that is worth reading when killed. */
	if (r->writer.pipe || r->sim || r->set.overwrites)
		return writer_begin(&r->writer, &r->set, NULL);
	recorder_head_features(r, &f, &arena);
	recorder_formats(r, &f, &arena);
	err = writer_begin(&r->writer, &r->set, &f);
	features_free(&f);
	arena_free(&arena);
	return err;
}

int recorder_begin_file(struct recorder *r)
{
	const struct output_opts *o = &r->o->output;
	const struct sink *sink = r->tell ? r->tell->sink : NULL;
	int err = sink ? 0 : writer_open(&r->writer, r->path, r->notify);

	if (sink)
		writer_open_sink(&r->writer, sink, r->notify);
	if (!err && r->writer.pipe && o->switch_on != SWITCH_NEVER)
		err = notify_error(r->notify, ERR_USAGE, "--switch-output needs a file, and %s is none", r->path);
	if (!err)
		err = writer_compress(&r->writer, o->zstd_level, recorder_window(r));
	if (!err)
		err = begin_file(r);
	r->aux_index.n = 0;
	r->flow.tap = NULL; /* what is synthesized is no news */
	/* Where rounds end is chance, so a simulated recording, of which two are to be equal, has none to carry
	 * features. */
	if (!err && r->writer.pipe)
		recorder_put_head(r);
	else if (!err && r->sim)
		recorder_put_features(r);
	if (!err)
		err = r->sim ? recorder_sim_synthesize(r) : recorder_synthesize(r);
	if (!err && !r->sim)
		put_bare(r, PERF_RECORD_FINISHED_INIT);
	if (!err)
		writer_round(&r->writer, false);
	if (r->window_how > WINDOW_SIM)
		r->flow.tap = &r->windows.tap;
	r->switch_at_ms = clock_ms() + o->switch_ms;
	return err ? err : r->writer.err;
}

void recorder_put_lost(void *ctx, const struct opened *o, u64 lost)
{
	struct recorder *r = ctx;
	struct record record = { .h.type = PERF_RECORD_LOST_SAMPLES };
	struct bytes b = { 0 };

	if (r->set.rings.v[o->ring].ring.backward)
		r->read_looked_lost += lost;
	else
		r->read_lost += lost;
	record.lost.lost = lost;
	record.sid.id = o->id;
	record.sid.cpu = (u32)o->cpu;
	record.sid.pid = (u32)o->task.pid;
	record.sid.tid = (u32)o->task.tid;
	record_encode(&record, &r->events.trailer, &b);
	writer_put_bytes(&r->writer, &b);
	bytes_free(&b);
}

/* LOST records come with the next record that fits, so the last ones may be missing. */
static void count_lost(struct recorder *r)
{
	u64 looked = MAX(r->looked_lost, r->read_looked_lost);

	r->result->lost += MAX(r->flow.lost - r->looked_lost, r->read_lost) + looked;
	r->result->lost_in_looking += looked;
	r->read_lost = r->looked_lost = r->read_looked_lost = 0;
}

int recorder_end_file(struct recorder *r)
{
	struct features f = { 0 };
	struct arena arena = { 0 };
	int err;

	if (!r->writer.err) {
		(void)recorder_look(r); /* a failure is the writer's */
		if (!r->sim)
			event_set_lost(&r->set, recorder_put_lost, r);
		writer_round(&r->writer, false);
	}
	if (r->writer.pipe)
		recorder_put_build_ids(r);
	else
		recorder_features(r, &f, &arena);
	r->result->bytes = writer_size(&r->writer);
	r->result->packed = r->writer.packed;
	r->result->unpacked = r->writer.unpacked;
	r->result->samples += r->flow.samples;
	count_lost(r);
	r->result->throttled += r->flow.throttled;
	r->result->aux_truncated += r->flow.aux_truncated;
	r->result->aux_collisions += r->flow.aux_collisions;
	free(r->result->path);
	r->result->path = r->writer.pipe ? NULL : mem_strdup(r->writer.path);
	err = writer_end(&r->writer, &f);
	features_free(&f);
	arena_free(&arena);
	return err;
}

/*
 * perf.data.2026112006071234, or with a name perf.data.NAME.2026112006071234: the time to hundredths of a second. Of
 * two files that end in one hundredth the second has the next one, so that it neither replaces the first nor sorts
 * before it.
 */
static char *dated_path(const char *path, const char *name)
{
	char text[32], *dated;
	struct timeval now;
	struct tm tm;
	u32 hundredth;

	gettimeofday(&now, NULL);
	hundredth = (u32)now.tv_usec / 10000;
	for (;;) {
		localtime_r(&now.tv_sec, &tm);
		strftime(text, sizeof(text), "%Y%m%d%H%M%S", &tm);
		dated = mem_printf("%s%s%s.%s%02u", path, name ? "." : "", name ? name : "", text, hundredth);
		if (access(dated, F_OK))
			return dated;
		free(dated);
		hundredth = (hundredth + 1) % 100;
		now.tv_sec += !hundredth;
	}
}

/* Keeps the newest --switch-max-files. Takes the path. */
static void drop_oldest(struct recorder *r, char *path)
{
	u32 max = r->o->output.switch_max_files;

	if (!max) {
		free(path);
		return;
	}
	vec_push(&r->dated, path);
	if (r->dated.n <= max)
		return;
	unlink(r->dated.v[0]);
	free(r->dated.v[0]);
	memmove(r->dated.v, r->dated.v + 1, --r->dated.n * sizeof(*r->dated.v));
}

int recorder_switch_file(struct recorder *r, bool last)
{
	char *dated;
	int err, told = 0;

	/* At once: what is in the rings from now on goes to the next file. */
	if (r->activities && !last)
		activities_renew(r->activities);
	if (r->journals && !last)
		journals_renew(r->journals);
	err = recorder_end_file(r);

	if (!r->result->path)
		return err;
	dated = dated_path(r->result->path, r->o->output.switch_name);
	if (rename(r->result->path, dated)) {
		err = notify_error(r->notify, ERR_IO, "cannot rename %s to %s: %s", r->result->path, dated,
				   strerror(errno));
		free(dated);
		return err;
	}
	r->result->files++;
	if (r->tell && r->tell->switched)
		told = r->tell->switched(r->tell->ctx, dated, r->result->bytes);
	free(r->result->path);
	r->result->path = mem_strdup(dated);
	drop_oldest(r, dated);
	flow_restart(&r->flow);
	err = err ? err : told;
	return err || last ? err : recorder_begin_file(r);
}
