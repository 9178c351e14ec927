/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder_set.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void take_note(void *ctx, const struct note *n)
{
	struct recorder_set *s = ctx;

	bytes_printf(&s->notes, "%s\n", n->text);
}

static void add_event(struct recorder_set *s, u32 nth)
{
	struct open_event e = { .name = mem_strdup(nth ? "second" : "first"), .cgroup = -1, .spec = &s->spec };

	e.attr = (struct attr){ .type = PERF_TYPE_SOFTWARE,
				.config = nth,
				.size = ATTR_SIZE_VER7,
				.sample_type = SET_SAMPLE,
				.flags = ATTR_SAMPLE_ID_ALL };
	e.tracking = !nth;
	for (u32 i = 0; i < 2; i++)
		vec_push(&e.on, ((struct opened){ .fd = -1,
						  .id = 100 * (nth + 1) + i,
						  .cpu = 4 + 2 * (s32)i,
						  .task = { -1, -1 },
						  .ring = i }));
	vec_push(&s->r.set.events, e);
	evlist_add(&s->r.events, &e.attr, e.name, NULL);
	for (u32 i = 0; i < 2; i++)
		evlist_add_id(&s->r.events, nth, e.on.v[i].id);
}

static void add_ring(struct recorder_set *s, u64 size)
{
	struct watched_ring w = { 0 };
	u8 *at = mem_zalloc(4096 + size);

	w.ring = (struct ring){ .page = (void *)at, .data = at + 4096, .size = size, .fd = -1, .cpu = -1, .tid = -1 };
	vec_push(&s->r.set.rings, w);
}

void recorder_set_begin(struct recorder_set *s, u32 nr, u64 size)
{
	*s = (struct recorder_set){ 0 };
	own_dir_make(s->dir);
	snprintf(s->path, sizeof(s->path), "%s/r.data", s->dir);
	s->notify = (struct notify){ take_note, s };
	s->o.output.path = s->path;
	s->r.o = &s->o;
	s->r.notify = &s->notify;
	s->r.tell = &s->tell;
	s->r.result = &s->result;
	s->r.path = s->path;
	s->r.signal_fd = s->r.epoll_fd = s->r.writer.fd = s->r.windows.timer = -1;
	s->r.workload = (struct workload){ .pid = -1, .go_fd = -1, .result_fd = -1 };
	s->r.set.ring_pages = (u32)(size / 4096);
	control_init(&s->r.control);
	for (u32 i = 0; i < SET_EVENTS; i++)
		add_event(s, i);
	assert_int_equal(evlist_seal(&s->r.events, NULL, "test"), 0);
	for (u32 i = 0; i < nr; i++)
		add_ring(s, size);
	flow_init(&s->r.flow, &s->r.events, false);
}

void recorder_set_end(struct recorder_set *s)
{
	char paths[16][320];
	struct recorder *r = &s->r;
	u32 n;

	writer_abandon(&r->writer);
	for (size_t i = 0; i < r->set.rings.n; i++) {
		free(r->set.rings.v[i].ring.page);
		vec_free(&r->set.rings.v[i].fds);
	}
	vec_free(&r->set.rings);
	for (size_t i = 0; i < r->set.events.n; i++) {
		vec_free(&r->set.events.v[i].on);
		free(r->set.events.v[i].name);
	}
	vec_free(&r->set.events);
	recorder_free(r);
	free(s->result.path);
	bytes_free(&s->notes);
	n = files_of(s, paths, ARRAY_LEN(paths));
	for (u32 i = 0; i < n; i++)
		unlink(paths[i]);
	assert_int_equal(rmdir(s->dir), 0);
}

void ring_put(struct ring *r, const struct bytes *record)
{
	u64 at = r->page->data_head;

	if (r->backward)
		at -= record->len;
	for (size_t i = 0; i < record->len; i++)
		r->data[(at + i) & (r->size - 1)] = record->p[i];
	r->page->data_head = r->backward ? at : at + record->len;
}

void ring_put_sample(struct recorder_set *s, u32 ring, u64 time, u64 ip)
{
	struct sample sample = { .has = SET_SAMPLE, .id = 100, .ip = ip, .pid = 7, .tid = 7, .time = time, .cpu = 4 };
	struct bytes b = { 0 };

	assert_int_equal(sample_encode(&s->r.events.events.v[0].layout, &sample, &b), 0);
	ring_put(&s->r.set.rings.v[ring].ring, &b);
	bytes_free(&b);
}

void ring_put_lost(struct recorder_set *s, u32 ring, u64 lost)
{
	struct record record = { .h.type = PERF_RECORD_LOST, .lost = { 100, lost } };
	struct bytes b = { 0 };

	assert_int_equal(record_encode(&record, &s->r.events.trailer, &b), 0);
	ring_put(&s->r.set.rings.v[ring].ring, &b);
	bytes_free(&b);
}

char *file_text(const char *path)
{
	struct source *src = NULL;
	struct bytes text = { 0 };
	struct source_record r;
	u64 offset = 0, bad = 0;

	assert_int_equal(source_open(&src, path, NULL), 0);
	while (source_next(src, &offset, &r, &bad)) {
		struct record rec;
		struct sample_core s;

		if (r.h.type == PERF_RECORD_SAMPLE) {
			assert_int_equal(sample_core_decode(&src->events.events.v[0].layout,
							    cursor_over(r.p, r.h.size, false), &s),
					 0);
			bytes_printf(&text, "%llu ", (unsigned long long)s.time);
		} else if (r.h.type == PERF_RECORD_FINISHED_ROUND) {
			bytes_printf(&text, ". ");
		} else if (r.h.type == PERF_RECORD_LOST || r.h.type == PERF_RECORD_LOST_SAMPLES) {
			assert_int_equal(
				record_decode(cursor_over(r.p, r.h.size, false), 0, &src->events.trailer, &rec), 0);
			bytes_printf(&text, "%s%llu ", r.h.type == PERF_RECORD_LOST ? "-" : "=",
				     (unsigned long long)rec.lost.lost);
		}
	}
	assert_int_equal(bad, NO_OFFSET);
	source_close(src);
	bytes_u8(&text, 0);
	return (char *)text.p;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

u32 files_of(const struct recorder_set *s, char paths[][320], u32 most)
{
	DIR *d = opendir(s->dir);
	struct dirent *e;
	u32 n = 0;

	assert_non_null(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		assert_true(n < most);
		snprintf(paths[n++], 320, "%s/%s", s->dir, e->d_name);
	}
	closedir(d);
	qsort(paths, n, sizeof(paths[0]), by_name);
	return n;
}

struct sim *sim_new(enum sim_guest guest)
{
	struct sim *s = mem_zalloc(sizeof(*s));

	*s = (struct sim){ .fd = -1 };
	s->size = sizeof(struct vpmu_control) + (u64)VPMU_CHUNKS * VPMU_CHUNK_SIZE;
	s->control = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(s->control, MAP_FAILED);
	s->data = (u8 *)(s->control + 1);
	s->program.guest = guest;
	s->opts.v.core = guest == SIM_AARCH64 ? VPMU_NEOVERSE_N1 : VPMU_GENERIC_X86;
	s->opts.v.models = VPMU_MODEL_ALL;
	return s;
}

u32 records_of(const struct source *src, u32 type)
{
	struct source_record r;
	u64 offset = 0, bad;
	u32 n = 0;

	while (source_next(src, &offset, &r, &bad))
		n += r.h.type == type;
	return n;
}
