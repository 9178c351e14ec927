/* SPDX-License-Identifier: Apache-2.0 */
#include "view/metrics_data.h"

static void write_meta(const struct profile *p, const struct report_opts *o, struct json *j)
{
	json_set_object(j, "meta");
	json_set_text(j, "generator", "reticle " RETICLE_VERSION);
	json_set_list(j, "sort");
	for (u32 i = 0; i < p->nr_sort; i++)
		json_text(j, column_json(p, column_of_key(p->sort_order[i])));
	json_list_end(j);
	json_set_bool(j, "children", p->children);
	json_set_bool(j, "call_graph", p->has_chains);
	json_set_bool(j, "caller", o->caller);
	json_set_real(j, "percent_limit", o->percent_limit, 6);
	json_set_u64(j, "time_slice_ns", p->time_slice_ns);
	json_key(j, "simulated");
	if (p->simulated.len)
		json_str(j, p->simulated.p, p->simulated.len);
	else
		json_null(j);
	json_object_end(j);
}

static void write_unwound(const struct unwind_counts *c, struct json *j)
{
	json_set_object(j, "unwound");
	json_set_u64(j, "stacks", c->stacks);
	json_set_u64(j, "frames", c->frames);
	json_set_u64(j, "frames_by_frame_pointers", c->guessed);
	for (u32 i = 0; i < UNWIND_ENDS; i++)
		json_set_u64(j, unwind_end_name(i), c->ends[i]);
	json_object_end(j);
}

static void write_tally(const struct tally *t, struct json *j)
{
	const struct {
		const char *name;
		u64 value;
	} fields[] = {
		{ "samples", t->samples },
		{ "filtered", t->filtered },
		{ "lost", t->lost },
		{ "lost_samples", t->lost_samples },
		{ "throttled", t->throttled },
		{ "undecodable", t->undecodable },
		{ "broken_records", t->broken_records },
		{ "unknown_records", t->unknown_records },
		{ "frames", t->frames },
		{ "unresolved_frames", t->unresolved },
		{ "user_stacks", t->stacks },
		{ "broken_stacks", t->broken },
		{ "first_time_ns", t->first_time },
		{ "last_time_ns", t->last_time },
		{ "aux_lost", t->aux_lost },
		{ "aux_truncated", t->aux_truncated },
		{ "aux_collisions", t->aux_collisions },
		{ "aux_operations", t->aux_operations },
		{ "aux_broken", t->aux_broken },
		{ "aux_bad_bytes", t->aux_bad_bytes },
		{ "aux_unknown_packets", t->aux_unknown_packets },
		{ "left_out_bytes", t->left_out_bytes },
	};

	json_line(j, "");
	json_set_object(j, "tally");
	for (u32 i = 0; i < ARRAY_LEN(fields); i++)
		json_set_u64(j, fields[i].name, fields[i].value);
	if (t->unwound.stacks)
		write_unwound(&t->unwound, j);
	json_object_end(j);
}

static void write_graph(const struct profile *p, const struct graph_node *n, struct json *j)
{
	for (u32 i = 0; i < n->nr_kids; i++) {
		const struct graph_node *kid = n->kids[i];
		char made_up[PROFILE_MADE_UP];

		json_object(j);
		json_set_text(j, "frame", profile_frame_name(p, kid->frame, made_up, sizeof(made_up)));
		if (p->graph_key != GRAPH_KEY_FUNCTION) {
			profile_frame_place(p, kid->frame, made_up, sizeof(made_up));
			json_set_text(j, "place", made_up + (*made_up == ' '));
		}
		json_set_u64(j, "self", kid->self);
		json_set_u64(j, "total", kid->total);
		if (kid->nr_kids) {
			json_set_list(j, "kids");
			write_graph(p, kid, j);
			json_list_end(j);
		}
		json_object_end(j);
	}
}

static void write_row(const struct row_view *v, const struct report_opts *o, struct graph_room *room,
		      struct bytes *raw, struct json *j)
{
	const struct graph_node *graph = report_row_graph(v, o, room);

	json_object(j);
	for (u32 k = 0; k < o->nr_columns; k++) {
		const struct column *c = column_get(o->columns[k]);
		u64 number = c->number ? column_number(o->columns[k], v) : 0;

		if (c->number)
			json_key(j, c->key);
		if (number == COLUMN_UNKNOWN)
			json_null(j);
		else if (c->number)
			json_u64(j, number);
		if (!c->text)
			continue;
		raw->len = 0;
		column_text(o->columns[k], v, raw);
		json_key_text(j, column_json(v->profile, o->columns[k]));
		json_str(j, (const char *)raw->p, raw->len);
	}
	if (o->now)
		metrics_json_block(&o->now->table, v->windows, j);
	if (o->now && o->paths)
		metrics_json_paths(v, &o->now->table, j);
	if (graph && graph->nr_kids) {
		json_set_list(j, "graph");
		write_graph(v->profile, graph, j);
		json_list_end(j);
	}
	json_object_end(j);
}

static void write_event(struct profile *p, struct profile_event *e, const struct report_opts *opts, struct json *j)
{
	const struct report_opts of = report_plain_event_opts(opts, (size_t)(e - p->events.v)), *o = &of;
	struct row_view v = { .profile = p, .event = e, .long_names = o->long_names };
	struct graph_room room = { 0 };
	struct bytes raw = { 0 };

	json_object(j);
	json_set_text(j, "name", report_event_name(p, e));
	json_set_u64(j, "weight", e->weight);
	json_set_u64(j, "whole", report_whole(e, o));
	json_set_u64(j, "samples", e->samples);
	if (o->now)
		metrics_json_event(p, &o->now->table, j);
	json_set_list(j, "rows");
	for (size_t i = 0; i < e->rows.n; i++) {
		report_set_row(&v, o, i);
		if (!report_wants(&v, o))
			continue;
		json_line(j, "");
		write_row(&v, o, &room, &raw, j);
	}
	json_list_end_line(j);
	json_object_end(j);
	graph_room_free(&room);
	bytes_free(&raw);
}

void report_json(struct profile *p, const struct report_opts *o, struct bytes *out)
{
	struct json j = { .out = out };

	json_object(&j);
	write_meta(p, o, &j);
	write_tally(&p->tally, &j);
	json_line(&j, "");
	json_set_list(&j, "events");
	for (size_t i = 0; i < p->events.n; i++) {
		if (i)
			json_line(&j, "");
		write_event(p, &p->events.v[i], o, &j);
	}
	json_list_end(&j);
	json_object_end(&j);
	json_end(&j);
}
