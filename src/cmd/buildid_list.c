/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle buildid-list`: the build ids that a recording's header lists, or of the files that samples fell into. */
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/set.h"
#include "cmd/commands.h"
#include "cmd/output.h"
#include "cmd/select.h"
#include "record/build_id.h"

struct config {
	const char *input;
	bool with_hits, kernel, json, force;
};

static void print_json(const u8 *id, u32 size, struct str file, struct bytes *out)
{
	struct json j = { .out = out };

	json_object(&j);
	json_set_hex(&j, "build_id", id, size);
	json_set_str(&j, "file", file.p, file.len);
	json_object_end(&j);
	json_end(&j);
}

/* Without an id, as wide as one: files of which none was recorded are listed, too. */
static void print(const u8 *id, u32 size, struct str file, bool json, struct bytes *out)
{
	if (json) {
		print_json(id, size, file, out);
		return;
	}
	for (u32 i = 0; i < size; i++)
		bytes_printf(out, "%02x", id[i]);
	if (!size)
		bytes_repeat(out, ' ', 2 * BUILD_ID_MAX);
	bytes_char(out, ' ');
	bytes_plain(out, file.p, file.len);
	bytes_char(out, '\n');
}

static bool same(const struct rec_build_id *a, const struct rec_build_id *b)
{
	return a->size == b->size && !memcmp(a->build_id, b->build_id, a->size) &&
	       a->filename.len == b->filename.len && !memcmp(a->filename.p, b->filename.p, a->filename.len);
}

/* perf lists a file once per side of the kernel that it was met on. */
static void list_header(const struct features *f, bool json, struct bytes *out)
{
	struct set seen = { 0 };

	for (u32 i = 0; i < f->build_ids.n; i++) {
		const struct rec_build_id *b = &f->build_ids.v[i];
		/* A file may stand there with several ids, in turns. */
		u64 key = hash_mix(hash_bytes(b->filename.p, b->filename.len), hash_bytes(b->build_id, b->size));
		u32 id, at;

		SET_FIND(id, &seen, key, at, same(&f->build_ids.v[id], b));
		if (id != ID_NONE)
			continue;
		set_add(&seen, key, i);
		print(b->build_id, b->size, b->filename, json, out);
	}
	set_free(&seen);
}

static void mark_hits(const struct profile *p, bool *hit)
{
	for (size_t i = 0; i < p->events.n; i++) {
		const struct tree *t = &p->events.v[i].tree;

		for (size_t n = 1; n < t->nodes.n; n++)
			if (t->nodes.v[n].parent && t->nodes.v[n].samples)
				hit[frames_get(p->frames, t->nodes.v[n].frame)->dso] = true;
	}
}

static void print_dso(const struct dso *d, bool json, struct bytes *out)
{
	print(d->build_id, d->build_id_size, (struct str){ d->path, (u32)strlen(d->path) }, json, out);
}

/* perf's order: the files of the header's list, then the others, as they were mapped. */
static void list_hits(const struct session *session, const struct profile *profile, bool json, struct bytes *out)
{
	const struct features *f = &session->src->features;
	u32 n = dsos_count(session->dsos);
	bool *hit = mem_zalloc(n);
	struct map by_path = { 0 };

	mark_hits(profile, hit);
	for (u32 i = 1; i < n; i++) {
		const char *path = dsos_at(session->dsos, i)->path;

		if (hit[i])
			(void)map_at(&by_path, hash_bytes(path, strlen(path)), i);
	}
	for (size_t k = 0; k < f->build_ids.n; k++) {
		struct str path = f->build_ids.v[k].filename;
		u32 i = map_get(&by_path, hash_bytes(path.p, path.len));

		if (i != ID_NONE && hit[i])
			print_dso(dsos_at(session->dsos, i), json, out);
		if (i != ID_NONE)
			hit[i] = false;
	}
	for (u32 i = 1; i < n; i++)
		if (hit[i])
			print_dso(dsos_at(session->dsos, i), json, out);
	map_free(&by_path);
	free(hit);
}

/* What they were taken in is not known before they are decoded. */
static bool has_aux_data(const struct features *f)
{
	return f->present[0] >> FEAT_AUXTRACE & 1;
}

static int read_samples(const struct config *cfg, const char *path, struct bytes *out, const struct notify *to)
{
	struct pipeline_opts opts = { .input = path, .no_chains = true, .no_inline = true, .no_rows = true };
	struct session *session;
	struct profile *profile;
	int err = pipeline_profile(&opts, &session, &profile, to);

	if (err)
		return err;
	if (session->src->features.build_ids.n && (!cfg->with_hits || has_aux_data(&session->src->features)))
		list_header(&session->src->features, cfg->json, out);
	else
		list_hits(session, profile, cfg->json, out);
	profile_free(profile);
	session_close(session);
	return 0;
}

/* The header's list; without one, or with --with-hits, the files that samples fell into. A pipe is read only once. */
static int list(const struct config *cfg, struct bytes *out, const struct notify *to)
{
	const char *path = input_path(cfg->input);
	struct source *s;
	bool done;
	int err;

	if (cfg->with_hits || !strcmp(path, "-"))
		return read_samples(cfg, path, out, to);
	err = source_open(&s, path, to);
	if (err)
		return err;
	done = s->features.build_ids.n;
	list_header(&s->features, cfg->json, out);
	source_close(s);
	return done ? 0 : read_samples(cfg, path, out, to);
}

static int list_kernel(bool json, struct bytes *out, const struct notify *to)
{
	static const char name[] = "[kernel.kallsyms]";
	struct build_id id;

	if (!build_id_of_kernel(&id))
		return notify_error(to, ERR_NOTFOUND,
				    "the running kernel's build id cannot be read (/sys/kernel/notes)");
	if (json)
		print(id.id, id.size, (struct str){ name, sizeof(name) - 1 }, json, out);
	for (u32 i = 0; !json && i < id.size; i++)
		bytes_printf(out, "%02x", id.id[i]);
	if (!json)
		bytes_char(out, '\n');
	return 0;
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct config c = *(const struct config *)config, *cfg = &c;
	struct output out;
	int err;

	if (input_word(&c.input, argc, argv, ctx->notify))
		return 2;
	(void)output_open(&out, NULL, ctx->notify);
	err = cfg->kernel ? list_kernel(cfg->json, &out.bytes, ctx->notify) : list(cfg, &out.bytes, ctx->notify);
	if (output_close(&out, ctx->notify))
		return 1;
	return err ? 1 : 0;
}

static const struct opt opts[] = {
	{ 'i', "input", OPT_STRING, offsetof(struct config, input), "FILE",
	  "recording to read (default perf.data; - is standard input)" },
	{ 'H', "with-hits", OPT_FLAG, offsetof(struct config, with_hits), NULL,
	  "list the files that samples fell into instead" },
	{ 'k', "kernel", OPT_FLAG, offsetof(struct config, kernel), NULL, "print the running kernel's build id" },
	{ 'f', "force", OPT_FLAG, offsetof(struct config, force), NULL,
	  "accepted; it does not matter who owns the recording" },
	{ 0, "json", OPT_FLAG, offsetof(struct config, json), NULL,
	  "print one JSON object per build id, each on its own line" },
};

const struct command cmd_buildid_list = {
	.name = "buildid-list",
	.summary = "list the build ids in a recording",
	.args = "[options] [RECORDING]",
	.mixed = true,
	.opts = opts,
	.nr_opts = ARRAY_LEN(opts),
	.config_size = sizeof(struct config),
	.run = run,
};
