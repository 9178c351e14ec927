/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "view/metrics_data.h"

static void put_string(const char *s, size_t n, struct bytes *out)
{
	bytes_char(out, '"');
	if (n)
		bytes_json(out, s, n);
	bytes_char(out, '"');
}

static void put_field(const char *name, u64 value, bool first, struct bytes *out)
{
	bytes_printf(out, "%s\"%s\":%llu", first ? "" : ",", name, (unsigned long long)value);
}

static void write_meta(const struct profile *p, const struct report_opts *o, struct bytes *out)
{
	bytes_str(out, "{\"meta\":{\"generator\":\"reticle " RETICLE_VERSION "\",\"sort\":[");
	for (u32 i = 0; i < p->nr_sort; i++)
		bytes_printf(out, "%s\"%s\"", i ? "," : "", column_json(p, column_of_key(p->sort_order[i])));
	bytes_printf(out, "],\"children\":%s,\"call_graph\":%s,\"caller\":%s,\"percent_limit\":%g,",
		     p->children ? "true" : "false", p->has_chains ? "true" : "false", o->caller ? "true" : "false",
		     o->percent_limit);
	put_field("time_slice_ns", p->time_slice_ns, true, out);
	bytes_str(out, ",\"simulated\":");
	if (p->simulated.len)
		put_string(p->simulated.p, p->simulated.len, out);
	else
		bytes_str(out, "null");
}

static void write_tally(const struct tally *t, struct bytes *out)
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

	bytes_str(out, "},\n\"tally\":{");
	for (u32 i = 0; i < ARRAY_LEN(fields); i++)
		put_field(fields[i].name, fields[i].value, !i, out);
}

static void write_graph(const struct profile *p, const struct graph_node *n, struct bytes *out)
{
	bytes_char(out, '[');
	for (u32 i = 0; i < n->nr_kids; i++) {
		const struct graph_node *kid = n->kids[i];
		char made_up[PROFILE_MADE_UP];
		const char *name = profile_frame_name(p, kid->frame, made_up, sizeof(made_up));

		bytes_str(out, i ? ",{\"frame\":" : "{\"frame\":");
		put_string(name, strlen(name), out);
		if (p->graph_key != GRAPH_KEY_FUNCTION) {
			profile_frame_place(p, kid->frame, made_up, sizeof(made_up));
			bytes_str(out, ",\"place\":");
			put_string(made_up + (*made_up == ' '), strlen(made_up + (*made_up == ' ')), out);
		}
		put_field("self", kid->self, false, out);
		put_field("total", kid->total, false, out);
		if (kid->nr_kids) {
			bytes_str(out, ",\"kids\":");
			write_graph(p, kid, out);
		}
		bytes_char(out, '}');
	}
	bytes_char(out, ']');
}

static void write_row(const struct row_view *v, const struct report_opts *o, struct graph_room *room,
		      struct bytes *raw, struct bytes *out)
{
	const struct graph_node *graph = report_row_graph(v, o, room);

	bytes_char(out, '{');
	for (u32 k = 0; k < o->nr_columns; k++) {
		const struct column *c = column_get(o->columns[k]);
		u64 number = c->number ? column_number(o->columns[k], v) : 0;

		if (number == COLUMN_UNKNOWN)
			bytes_printf(out, "%s\"%s\":null", k ? "," : "", c->key);
		else if (c->number)
			put_field(c->key, number, !k, out);
		if (!c->text)
			continue;
		raw->len = 0;
		column_text(o->columns[k], v, raw);
		bytes_printf(out, "%s\"%s\":", k ? "," : "", column_json(v->profile, o->columns[k]));
		put_string((const char *)raw->p, raw->len, out);
	}
	if (o->now)
		metrics_json_block(&o->now->table, v->windows, out);
	if (o->now && o->paths)
		metrics_json_paths(v, &o->now->table, out);
	if (graph && graph->nr_kids) {
		bytes_str(out, ",\"graph\":");
		write_graph(v->profile, graph, out);
	}
	bytes_char(out, '}');
}

static void write_event(struct profile *p, struct profile_event *e, const struct report_opts *opts, struct bytes *out)
{
	const struct report_opts of = report_plain_event_opts(opts, (size_t)(e - p->events.v)), *o = &of;
	struct row_view v = { .profile = p, .event = e, .long_names = o->long_names };
	const char *name = report_event_name(p, e);
	struct graph_room room = { 0 };
	struct bytes raw = { 0 };
	bool first = true;

	bytes_str(out, "{\"name\":");
	put_string(name, strlen(name), out);
	put_field("weight", e->weight, false, out);
	put_field("whole", report_whole(e, o), false, out);
	put_field("samples", e->samples, false, out);
	if (o->now)
		metrics_json_event(p, &o->now->table, out);
	bytes_str(out, ",\"rows\":[");
	for (size_t i = 0; i < e->rows.n; i++) {
		report_set_row(&v, o, i);
		if (!report_wants(&v, o))
			continue;
		bytes_str(out, first ? "\n" : ",\n");
		write_row(&v, o, &room, &raw, out);
		first = false;
	}
	bytes_str(out, "\n]}");
	graph_room_free(&room);
	bytes_free(&raw);
}

void report_json(struct profile *p, const struct report_opts *o, struct bytes *out)
{
	write_meta(p, o, out);
	write_tally(&p->tally, out);
	bytes_str(out, "},\n\"events\":[");
	for (size_t i = 0; i < p->events.n; i++) {
		if (i)
			bytes_str(out, ",\n");
		write_event(p, &p->events.v[i], o, out);
	}
	bytes_str(out, "]}\n");
}
