/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracing_data.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/smallfile.h"
#include "sys/tracefs.h"

#define FILE_LIMIT (16u << 20)

struct tracepoint {
	char *system, *event;
};

typedef VEC(struct tracepoint) tracepoints;

static void read_file(const char *root, const char *name, struct bytes *text)
{
	char *path = mem_printf("%s/%s", root, name);

	if (smallfile_read(AT_FDCWD, path, FILE_LIMIT, text))
		text->len = 0;
	free(path);
}

/* A name, its size and its text. */
static void put_named(const char *root, const char *file, const char *name, struct bytes *out)
{
	struct bytes text = { 0 };

	read_file(root, file, &text);
	bytes_put(out, name, strlen(name) + 1);
	bytes_u64(out, text.len);
	bytes_put(out, text.p, text.len);
	bytes_free(&text);
}

static bool known(const tracepoints *list, const char *system, size_t n, const char *event)
{
	for (size_t i = 0; i < list->n; i++)
		if (strlen(list->v[i].system) == n && !strncmp(list->v[i].system, system, n) &&
		    (!event || !strcmp(list->v[i].event, event)))
			return true;
	return false;
}

/* The kernel's name of a tracepoint: an event may have been given another by name=, so its id is looked up. */
static bool find_by_id(const char *root, u64 id, struct tracepoint *out)
{
	struct tracefs_names systems = { 0 }, events = { 0 };
	bool found = false;
	u64 there;

	if (tracefs_list(root, NULL, &systems))
		return false;
	for (size_t s = 0; s < systems.v.n && !found; s++) {
		if (tracefs_list(root, systems.v.v[s], &events))
			continue;
		for (size_t e = 0; e < events.v.n && !found; e++) {
			if (tracefs_event_id(root, systems.v.v[s], events.v.v[e], &there) || there != id)
				continue;
			*out = (struct tracepoint){ mem_strdup(systems.v.v[s]), mem_strdup(events.v.v[e]) };
			found = true;
		}
		tracefs_names_free(&events);
	}
	tracefs_names_free(&systems);
	return found;
}

/* The usual case: the event's name is system:event, perhaps with modifiers behind. */
static bool find_by_name(const char *root, const struct open_event *e, struct tracepoint *out)
{
	const char *colon = strchr(e->name, ':'), *event = colon ? colon + 1 : "";
	size_t n = strcspn(event, ":");
	u64 id;

	if (!colon || !n)
		return false;
	*out = (struct tracepoint){ mem_strndup(e->name, (size_t)(colon - e->name)), mem_strndup(event, n) };
	if (!tracefs_event_id(root, out->system, out->event, &id) && id == e->attr.config)
		return true;
	free(out->system);
	free(out->event);
	return false;
}

static void collect(const char *root, const struct event_set *set, tracepoints *list)
{
	for (size_t i = 0; i < set->events.n; i++) {
		const struct open_event *e = &set->events.v[i];
		struct tracepoint t;

		if (e->attr.type != PERF_TYPE_TRACEPOINT ||
		    (!find_by_name(root, e, &t) && !find_by_id(root, e->attr.config, &t)))
			continue;
		if (!known(list, t.system, strlen(t.system), t.event)) {
			vec_push(list, t);
		} else {
			free(t.system);
			free(t.event);
		}
	}
}

static void put_formats(const char *root, const tracepoints *list, const char *system, struct bytes *out)
{
	struct bytes text = { 0 };
	u32 n = 0;

	for (size_t i = 0; i < list->n; i++)
		n += !strcmp(list->v[i].system, system);
	bytes_u32(out, n);
	for (size_t i = 0; i < list->n; i++) {
		char *file;

		if (strcmp(list->v[i].system, system))
			continue;
		file = mem_printf("events/%s/%s/format", system, list->v[i].event);
		read_file(root, file, &text);
		bytes_u64(out, text.len);
		bytes_put(out, text.p, text.len);
		free(file);
	}
	bytes_free(&text);
}

static void put_systems(const char *root, const tracepoints *list, struct bytes *out)
{
	tracepoints first = { 0 }; /* one tracepoint per system */

	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->v[i].system, "ftrace") &&
		    !known(&first, list->v[i].system, strlen(list->v[i].system), NULL))
			vec_push(&first, list->v[i]);
	bytes_u32(out, (u32)first.n);
	for (size_t i = 0; i < first.n; i++) {
		bytes_put(out, first.v[i].system, strlen(first.v[i].system) + 1);
		put_formats(root, list, first.v[i].system, out);
	}
	vec_free(&first);
}

void tracing_data(const struct event_set *set, struct bytes *out)
{
	const char *root = tracefs_root(NULL);
	struct bytes text = { 0 };
	tracepoints list = { 0 };

	if (root)
		collect(root, set, &list);
	if (list.n) {
		bytes_put(out, "\x17\x08\x44tracing0.6", 14);
		bytes_u8(out, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
		bytes_u8(out, sizeof(long));
		bytes_u32(out, (u32)sysconf(_SC_PAGESIZE));
		put_named(root, "events/header_page", "header_page", out);
		put_named(root, "events/header_event", "header_event", out);
		put_formats(root, &list, "ftrace", out);
		put_systems(root, &list, out);
		bytes_u32(out, 0); /* kallsyms: readers have better */
		read_file(root, "printk_formats", &text);
		bytes_u32(out, (u32)text.len);
		bytes_put(out, text.p, text.len);
		read_file(root, "saved_cmdlines", &text);
		bytes_u64(out, text.len);
		bytes_put(out, text.p, text.len);
	}
	for (size_t i = 0; i < list.n; i++) {
		free(list.v[i].system);
		free(list.v[i].event);
	}
	vec_free(&list);
	bytes_free(&text);
}
