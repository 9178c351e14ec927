/* SPDX-License-Identifier: Apache-2.0 */
/* The header features of a recording: those of the machine, of the events, and the build ids of the files with
 * samples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/build_id.h"
#include "record/recorder_impl.h"
#include "record/tracing_data.h"
#include "sys/machine.h"

#define KERNEL_MAP "[kernel.kallsyms]"
#define NO_PID MET_NO_PID

struct id_ctx {
	struct features *f;
	struct arena *arena;
	const struct record_met *met; /* or NULL */
	bool own_pids;		      /* of flow */
	bool kernel_done;
};

static void tell_met(const struct id_ctx *c, const char *name, u32 pid, bool kernel, const struct build_id *id, int fd)
{
	struct met_file f = { name, kernel, kernel || c->own_pids ? NO_PID : pid, *id, fd };

	if (c->met)
		c->met->file(c->met->ctx, &f);
}

static void add_build_id(struct id_ctx *c, const char *name, u16 misc, const struct build_id *id)
{
	struct rec_build_id b = { .pid = NO_PID, .size = id->size };

	memcpy(b.build_id, id->id, sizeof(b.build_id));
	b.filename = (struct str){ arena_strndup(c->arena, name, strlen(name)), (u32)strlen(name) };
	vec_push(&c->f->build_ids, b);
	vec_push(&c->f->build_id_misc, misc);
}

/* "/lib/modules/6.1.0/kernel/fs/xfs/xfs.ko.xz" or "[xfs]": "xfs", with '_' for '-', as /sys/module has it. */
static char *module_name(const char *file)
{
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file[0] == '[' ? file + 1 : file;
	char *name = mem_strndup(base, strcspn(base, ".]"));

	for (char *p = name; *p; p++)
		*p = *p == '-' ? '_' : *p;
	return name;
}

static bool is_module(const char *file, u32 pid)
{
	return pid == NO_PID && strncmp(file, KERNEL_MAP, strlen(KERNEL_MAP));
}

static void look_up_kernel(struct id_ctx *c, const char *file)
{
	struct build_id id = { 0 };
	char *name = is_module(file, NO_PID) ? module_name(file) : NULL;
	const char *known_as = name ? file : KERNEL_MAP;

	if (name ? build_id_of_module(name, &id) : !c->kernel_done && build_id_of_kernel(&id)) {
		add_build_id(c, known_as, PERF_RECORD_MISC_KERNEL, &id);
		tell_met(c, known_as, NO_PID, true, &id, -1);
	}
	c->kernel_done |= !name;
	free(name);
}

static void look_up(void *ctx, const char *file, u32 pid, const struct flow_build_id *known)
{
	struct id_ctx *c = ctx;
	struct build_id id = { 0 };

	if (pid == NO_PID) {
		look_up_kernel(c, file);
	} else if (known) {
		id.size = known->size;
		memcpy(id.id, known->id, sizeof(id.id));
		add_build_id(c, file, PERF_RECORD_MISC_USER, &id);
		tell_met(c, file, pid, false, &id, known->fd);
	} else if (!strcmp(file, "[vdso]")) {
		if (build_id_of_vdso(&id))
			add_build_id(c, file, PERF_RECORD_MISC_USER, &id);
	} else if (file[0] == '/' && file[1] != '/' && build_id_of_file(file, &id)) {
		add_build_id(c, file, PERF_RECORD_MISC_USER, &id);
		tell_met(c, file, pid, false, &id, -1);
	}
}

void recorder_build_ids(struct recorder *r, struct features *f, struct arena *arena)
{
	struct id_ctx c = {
		.f = f, .arena = arena, .met = r->tell ? r->tell->met : NULL, .own_pids = r->flow.own_pids
	};

	if (r->o->output.build_ids == BUILDID_NONE || r->hurry)
		return;
	flow_files(&r->flow, look_up, &c);
	if (f->build_ids.n)
		feature_mark(f, FEAT_BUILD_ID);
}

static void describe_events(struct recorder *r, struct features *f, struct arena *arena)
{
	for (size_t e = 0; e < r->set.events.n; e++) {
		const struct open_event *event = &r->set.events.v[e];
		u64 *ids = arena_array(arena, u64, event->on.n + 1);
		struct feat_event_desc d = { .attr = event_recorded_attr(event), .name = event->name, .ids = ids };

		for (size_t i = 0; i < event->on.n; i++)
			ids[d.nr_ids++] = event->on.v[i].id;
		vec_push(&f->event_desc, d);
		if (event->attr.branch_sample_type)
			feature_mark(f, FEAT_BRANCH_STACK);
	}
	feature_mark(f, FEAT_EVENT_DESC);
}

static u32 members(const struct event_set *set, u32 leader)
{
	u32 n = 0;

	for (size_t e = 0; e < set->events.n; e++)
		n += set->events.v[e].leader == leader;
	return n;
}

static void describe_groups(struct recorder *r, struct features *f)
{
	for (u32 e = 0; e < r->set.events.n; e++) {
		const struct open_event *event = &r->set.events.v[e];
		u32 n = members(&r->set, e);

		if (event->leader == e && n > 1)
			vec_push(&f->groups, (struct feat_group){ event->spec && event->spec->group_name ?
									  event->spec->group_name :
									  "{anon_group}",
								  e, n });
	}
	if (f->groups.n)
		feature_mark(f, FEAT_GROUP_DESC);
}

static void describe_clock(struct recorder *r, struct features *f)
{
	struct timespec res;

	if (!r->o->attr.use_clockid || r->sim || clock_getres(r->o->attr.clockid, &res))
		return;
	f->clockid_res_ns = (u64)res.tv_sec * 1000000000 + (u64)res.tv_nsec;
	f->clock_data_clockid = (u32)r->o->attr.clockid;
	f->clock_data_wall_ns = r->clock_wall_ns;
	f->clock_data_clockid_ns = r->clock_ns;
	feature_mark(f, FEAT_CLOCKID);
	feature_mark(f, FEAT_CLOCK_DATA);
}

static void describe_compression(struct recorder *r, struct features *f)
{
	const struct writer *w = &r->writer;

	if (!w->packer)
		return;
	f->compressed_type = 1; /* zstd */
	f->compressed_level = r->o->output.zstd_level;
	f->compressed_ratio = w->packed ? (u32)(w->unpacked / w->packed) : 1;
	f->compressed_mmap_len = (u32)recorder_window(r);
	feature_mark(f, FEAT_COMPRESSED);
}

void recorder_head_features(struct recorder *r, struct features *f, struct arena *arena)
{
	if (r->sim)
		recorder_sim_features(r, f, arena);
	else
		machine_features(f, arena);
	describe_events(r, f, arena);
	describe_groups(r, f);
	describe_clock(r, f);
	describe_compression(r, f);
}

void recorder_formats(struct recorder *r, struct features *f, struct arena *arena)
{
	struct bytes formats = { 0 };

	tracing_data(&r->set, &formats);
	if (formats.len) {
		f->tracing_data = arena_copy(arena, formats.p, formats.len);
		f->tracing_data_size = formats.len;
		feature_mark(f, FEAT_TRACING_DATA);
	}
	bytes_free(&formats);
}

void recorder_features(struct recorder *r, struct features *f, struct arena *arena)
{
	recorder_head_features(r, f, arena);
	recorder_build_ids(r, f, arena);
	if (recorder_unwinds(r))
		r->tell->unwind->describe(r->tell->unwind->ctx, f, arena);
	/* When the disk was full, the last ones are not in the file. */
	for (size_t i = 0; i < r->aux_index.n && r->aux_index.v[i].file_offset < writer_size(&r->writer); i++)
		vec_push(&f->auxtrace_index, r->aux_index.v[i]);
	if (f->auxtrace_index.n)
		feature_mark(f, FEAT_AUXTRACE);
	if (r->flow.last_time) {
		f->first_sample_time = r->flow.first_time;
		f->last_sample_time = r->flow.last_time;
		feature_mark(f, FEAT_SAMPLE_TIME);
	}
}
