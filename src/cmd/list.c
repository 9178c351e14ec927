/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle list`: the events of this machine. */
#include <fnmatch.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/json.h"
#include "cmd/commands.h"
#include "cmd/output.h"
#include "events/catalog.h"

/* The virtual PMU's are no events of this machine: they are listed when asked for. */
#define ALL_CLASSES (((1u << CLASS_COUNT) - 1) & ~(1u << CLASS_SIM))
#define WIDTH_MAX 56 /* of the column of names, where longer ones push the rest to the right */

struct config {
	bool json, usable;
};

/* What each class is called, and the words that ask for it. */
static const struct {
	const char *title, *id, *words[4];
} classes[CLASS_COUNT] = {
	[CLASS_HW] = { "hardware events", "hardware", { "hw", "hardware" } },
	[CLASS_SW] = { "software events", "software", { "sw", "software" } },
	[CLASS_CACHE] = { "cache events", "cache", { "cache", "hwcache", "hw-cache" } },
	[CLASS_PMU] = { "PMU events", "pmu", { "pmu" } },
	[CLASS_TRACEPOINT] = { "tracepoints", "tracepoint", { "tracepoint", "tracepoints", "trace" } },
	[CLASS_PFM] = { "libpfm4 events", "pfm", { "pfm", "libpfm4" } },
	[CLASS_SIM] = { "events of the virtual PMU (--pmu=sim)", "sim", { "sim", "vpmu" } },
};

static const struct {
	const char *id, *text;
} usable_words[] = {
	[EVENT_USABLE] = { "yes", "" },
	[EVENT_USER_ONLY] = { "user", "user code only (:u)" },
	[EVENT_NOT_PERMITTED] = { "denied", "not permitted for this user" },
	[EVENT_ABSENT] = { "no", "not in this machine" },
	[EVENT_UNTESTED] = { "untested", "" },
};

static u32 class_of(const char *word)
{
	for (u32 c = 0; c < CLASS_COUNT; c++)
		for (u32 k = 0; k < ARRAY_LEN(classes[c].words) && classes[c].words[k]; k++)
			if (!strcasecmp(word, classes[c].words[k]))
				return c;
	return CLASS_COUNT;
}

/* A glob fits the whole name, other words any part of it. */
static bool name_fits(const char *name, const char *word)
{
	if (word[strcspn(word, "*?[")])
		return !fnmatch(word, name, FNM_CASEFOLD);
	return strcasestr(name, word) != NULL;
}

struct filter {
	const struct config *cfg;
	char **words;
	int n;
};

/* Words that name a class choose it; others choose events by name. */
static bool row_fits(const struct filter *f, const struct event_row *row)
{
	bool by_class = false, named = false, in_class = false, fits = false;

	if (f->cfg->usable && row->usable != EVENT_USABLE && row->usable != EVENT_USER_ONLY)
		return false;
	for (int i = 0; i < f->n; i++) {
		u32 class = class_of(f->words[i]);

		if (class < CLASS_COUNT) {
			by_class = true;
			in_class |= class == row->class;
			continue;
		}
		named = true;
		fits |= name_fits(row->name, f->words[i]) || (row->alias && name_fits(row->alias, f->words[i]));
	}
	return (!by_class || in_class) && (!named || fits);
}

static u32 wanted_classes(const struct filter *f)
{
	u32 mask = 0;

	for (int i = 0; i < f->n; i++)
		if (class_of(f->words[i]) < CLASS_COUNT)
			mask |= 1u << class_of(f->words[i]);
	return mask ? mask : ALL_CLASSES;
}

static u32 row_width(const struct event_row *r)
{
	return (u32)(strlen(r->name) + (r->alias ? 4 + strlen(r->alias) : 0));
}

static void put_row(const struct event_row *r, u32 width, struct bytes *out)
{
	const char *why = usable_words[r->usable].text;
	bool usable = r->usable <= EVENT_USER_ONLY || r->usable == EVENT_UNTESTED;

	bytes_printf(out, "  %c ", usable ? '+' : '-');
	bytes_plain(out, r->name, strlen(r->name));
	if (r->alias)
		bytes_printf(out, " OR %s", r->alias);
	if (*why || r->desc)
		bytes_repeat(out, ' ', MAX((int)width - (int)row_width(r), 0) + 2);
	bytes_str(out, why);
	if (r->desc) {
		bytes_str(out, *why ? "; " : "");
		bytes_plain(out, r->desc, strlen(r->desc));
	}
	bytes_char(out, '\n');
}

static void put_class(const struct event_catalog *c, const struct filter *f, u32 class, struct bytes *out)
{
	u32 width = 0, n = 0, usable = 0;

	for (size_t i = 0; i < c->v.n; i++) {
		const struct event_row *r = &c->v.v[i];

		if (r->class != class || !row_fits(f, r))
			continue;
		n++;
		usable += r->usable <= EVENT_USER_ONLY;
		width = MAX(width, MIN(row_width(r), (u32)WIDTH_MAX));
	}
	if (!n)
		return;
	bytes_printf(out, "%s%s: %u, usable here: %u\n", out->len ? "\n" : "", classes[class].title, n, usable);
	for (size_t i = 0; i < c->v.n; i++)
		if (c->v.v[i].class == class && row_fits(f, &c->v.v[i]))
			put_row(&c->v.v[i], width, out);
}

static void put_json(const struct event_row *r, struct json *j)
{
	json_line(j, "  ");
	json_object(j);
	json_set_text(j, "class", classes[r->class].id);
	json_set_text(j, "name", r->name);
	json_set_text(j, "alias", r->alias);
	json_set_text(j, "description", r->desc);
	json_set_text(j, "usable", usable_words[r->usable].id);
	json_object_end(j);
}

static u32 print_json(const struct event_catalog *c, const struct filter *f, struct bytes *out)
{
	struct json j = { .out = out, .spaced = true };
	u32 n = 0;

	json_list(&j);
	for (size_t i = 0; i < c->v.n; i++)
		if (row_fits(f, &c->v.v[i])) {
			put_json(&c->v.v[i], &j);
			n++;
		}
	json_list_end_line(&j);
	json_end(&j);
	return n;
}

static u32 print_text(const struct event_catalog *c, const struct filter *f, struct bytes *out)
{
	u32 n = 0;

	for (size_t i = 0; i < c->v.n; i++)
		n += row_fits(f, &c->v.v[i]);
	for (u32 class = 0; class < CLASS_COUNT; class ++)
		put_class(c, f, class, out);
	return n;
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct filter f = { config, argv, argc };
	struct event_catalog catalog = { 0 };
	struct bytes text = { 0 };
	struct output out;
	u32 n, wanted = wanted_classes(&f);
	int status = 0;

	event_catalog_load(&catalog, wanted, NULL);
	n = f.cfg->json ? print_json(&catalog, &f, &text) : print_text(&catalog, &f, &text);
	if (output_open(&out, NULL, ctx->notify))
		return 1;
	bytes_put(&out.bytes, text.p, text.len);
	if (output_close(&out, ctx->notify))
		status = 1;
	if (wanted & 1u << CLASS_TRACEPOINT && catalog.trace_err)
		notify_warn(ctx->notify, "tracepoints are not listed: tracefs %s",
			    catalog.trace_err == ERR_PERM ?
				    "is not readable for this user (run as root)" :
				    "is not mounted (mount -t tracefs nodev /sys/kernel/tracing)");
	if (!n) {
		notify_error(ctx->notify, ERR_NOTFOUND, "there is no event of that name or kind");
		status = 1;
	}
	bytes_free(&text);
	event_catalog_free(&catalog);
	return status;
}

static const struct opt opts[] = {
	{ 0, "json", OPT_FLAG, offsetof(struct config, json), NULL, "print one array of objects" },
	{ 0, "usable", OPT_FLAG, offsetof(struct config, usable), NULL,
	  "show only events that this user can open here" },
};

const struct command cmd_list = {
	.keeps_rights = true,
	.name = "list",
	.summary = "list the events of this machine, and which of them can be used",
	.args = "[options] [hw|sw|cache|pmu|tracepoint|pfm|sim|GLOB...]",
	.opts = opts,
	.nr_opts = ARRAY_LEN(opts),
	.mixed = true,
	.config_size = sizeof(struct config),
	.run = run,
};
