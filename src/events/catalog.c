/* SPDX-License-Identifier: Apache-2.0 */
#include "events/catalog.h"

#include <stdlib.h>

#include "codec/vpmu.h"
#include "events/names.h"
#include "sys/sim_find.h"
#include "sys/sysfs_pmu.h"
#include "sys/tracefs.h"

struct loading {
	struct event_catalog *out;
	const struct event_env *env;
};

/* Parses the name as the user would give it and tries to open what comes of it. */
static enum event_usable probe_name(const struct loading *l, const char *name)
{
	struct event_specs specs = { 0 };
	enum event_usable usable = EVENT_ABSENT;

	if (!event_specs_parse(&specs, name, l->env, NULL) && specs.v.n)
		usable = event_probe(&specs.v.v[0].attr, specs.v.v[0].cpus, NULL);
	event_specs_free(&specs);
	return usable;
}

static void add(const struct loading *l, enum event_class class, const char *name, const char *alias, const char *desc,
		enum event_usable usable)
{
	vec_push(&l->out->v, (struct event_row){ class, mem_strdup(name), alias ? mem_strdup(alias) : NULL,
						 desc && *desc ? mem_strdup(desc) : NULL, usable });
}

static void add_generic(const struct loading *l, enum event_class class, u32 type)
{
	for (u32 i = 0; i < nr_event_names; i++)
		if (event_names[i].type == type)
			add(l, class, event_names[i].name, event_names[i].alias, NULL,
			    probe_name(l, event_names[i].name));
}

static void add_cache(void *ctx, const char *name, u64 config)
{
	(void)config;
	add(ctx, CLASS_CACHE, name, NULL, NULL, probe_name(ctx, name));
}

static void add_pmus(const struct loading *l)
{
	struct sysfs_pmus pmus = { 0 };

	sysfs_pmus_load(&pmus, l->env && l->env->sysfs ? l->env->sysfs : "/sys");
	for (size_t i = 0; i < pmus.v.n; i++) {
		struct sysfs_pmu *p = &pmus.v.v[i];

		sysfs_pmu_details(p);
		for (size_t k = 0; k < p->aliases.n; k++) {
			char *name = mem_printf("%s/%s/", p->name, p->aliases.v[k].name);

			add(l, CLASS_PMU, name, NULL, p->aliases.v[k].terms, probe_name(l, name));
			free(name);
		}
	}
	sysfs_pmus_free(&pmus);
}

/* Opening one takes as long as a grace period, and they all need the same rights. */
static void add_tracepoints(const struct loading *l)
{
	const char *root = tracefs_root(l->env ? l->env->tracefs : NULL);
	struct tracefs_names systems = { 0 };
	enum event_usable usable = EVENT_UNTESTED;

	l->out->trace_err = tracefs_list(root, NULL, &systems);
	for (size_t i = 0; i < systems.v.n; i++) {
		struct tracefs_names events = { 0 };

		tracefs_list(root, systems.v.v[i], &events);
		for (size_t k = 0; k < events.v.n; k++) {
			char *name;
			u64 id;

			if (tracefs_event_id(root, systems.v.v[i], events.v.v[k], &id))
				continue;
			name = mem_printf("%s:%s", systems.v.v[i], events.v.v[k]);
			if (usable == EVENT_UNTESTED)
				usable = probe_name(l, name);
			add(l, CLASS_TRACEPOINT, name, NULL, NULL, usable);
			free(name);
		}
		tracefs_names_free(&events);
	}
	tracefs_names_free(&systems);
}

/* Many of the library's events need a unit mask and are no events by their name alone. */
static void add_pfm(void *ctx, const char *pmu, const char *name, const char *desc)
{
	struct loading *l = ctx;
	char *full = mem_printf("%s::%s", pmu, name);
	struct event_specs specs = { 0 };
	enum event_usable usable = EVENT_UNTESTED;

	if (!event_specs_parse_pfm(&specs, full, l->env, NULL) && specs.v.n)
		usable = event_probe(&specs.v.v[0].attr, specs.v.v[0].cpus, NULL);
	add(l, CLASS_PFM, full, NULL, desc, usable);
	event_specs_free(&specs);
	free(full);
}

/* The virtual PMU's. What a raw number counts has no name of perf's. */
static void add_simulated(const struct loading *l)
{
	char *plugin = sim_find_plugin();
	enum event_usable usable = plugin ? EVENT_USABLE : EVENT_ABSENT;

	for (u32 i = 0; i < nr_vpmu_events; i++) {
		const struct vpmu_event_name *e = &vpmu_events[i];

		add(l, CLASS_SIM, e->name, NULL, e->type == PERF_TYPE_RAW ? vpmu_count_names[e->count] : NULL, usable);
	}
	add(l, CLASS_SIM, "arm_spe_0//", NULL, "operations of aarch64 programs, sampled as by Arm SPE", usable);
	free(plugin);
}

void event_catalog_load(struct event_catalog *out, u32 classes, const struct event_env *env)
{
	struct loading l = { .out = out, .env = env };

	if (classes & 1u << CLASS_HW)
		add_generic(&l, CLASS_HW, PERF_TYPE_HARDWARE);
	if (classes & 1u << CLASS_SW)
		add_generic(&l, CLASS_SW, PERF_TYPE_SOFTWARE);
	if (classes & 1u << CLASS_CACHE)
		event_cache_each(add_cache, &l);
	if (classes & 1u << CLASS_PMU)
		add_pmus(&l);
	if (classes & 1u << CLASS_TRACEPOINT)
		add_tracepoints(&l);
	if (classes & 1u << CLASS_PFM)
		event_pfm_each(add_pfm, &l);
	if (classes & 1u << CLASS_SIM)
		add_simulated(&l);
}

void event_catalog_free(struct event_catalog *c)
{
	for (size_t i = 0; i < c->v.n; i++) {
		free(c->v.v[i].name);
		free(c->v.v[i].alias);
		free(c->v.v[i].desc);
	}
	vec_free(&c->v);
}
