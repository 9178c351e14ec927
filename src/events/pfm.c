/* SPDX-License-Identifier: Apache-2.0 */
/* Names that libpfm4 knows: "inst_retired:any_p:u", "amd64_fam19h_zen4::RETIRED_OPS". */
#include "events/parse.h"

#ifdef HAVE_PFM
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdlib.h>

#include "base/library.h"

/* Its tables are many: the loader's work on them took longer than a whole report of a small recording. */
struct pfm {
	__typeof__(pfm_initialize) *initialize;
	__typeof__(pfm_get_os_event_encoding) *encode;
	__typeof__(pfm_get_pmu_info) *pmu_info;
	__typeof__(pfm_get_event_info) *event_info;
	__typeof__(pfm_get_event_next) *next;
};

static bool load(struct pfm *p)
{
	const struct library_function functions[] = {
		{ "pfm_initialize", &p->initialize }, { "pfm_get_os_event_encoding", &p->encode },
		{ "pfm_get_pmu_info", &p->pmu_info }, { "pfm_get_event_info", &p->event_info },
		{ "pfm_get_event_next", &p->next },
	};

	return library_load("libpfm.so.4", functions, ARRAY_LEN(functions)) && p->initialize() == PFM_SUCCESS;
}

_Static_assert(sizeof(struct attr) >= sizeof(struct perf_event_attr), "an attr can take what the library writes");

int event_add_pfm(struct event_ctx *c, span name)
{
	struct attr attr = { .flags = 0 };
	pfm_perf_encode_arg_t arg = { .attr = (struct perf_event_attr *)(void *)&attr, .size = sizeof(arg) };
	struct sysfs_pmus *pmus;
	struct event_spec *s;
	struct pfm pfm;
	char *text;
	int rc;

	/* The library's own raw codes would take "read" for one. */
	if (span_is(name, "read") || !load(&pfm))
		return ERR_NOTFOUND;
	text = mem_strndup(name.p, name.len);
	rc = pfm.encode(text, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
	free(text);
	if (rc != PFM_SUCCESS)
		return ERR_NOTFOUND;
	s = event_add(c);
	s->attr = attr;
	s->attr.size = 0;
	s->attr.flags |= ATTR_EXCLUDE_GUEST;
	s->name = mem_strndup(name.p, name.len);
	pmus = event_pmus(c);
	for (size_t i = 0; i < pmus->v.n && attr.type > PERF_TYPE_BREAKPOINT; i++)
		if (pmus->v.v[i].type == attr.type && !s->pmu) {
			s->pmu = mem_strdup(pmus->v.v[i].name);
			s->cpus = pmus->v.v[i].cpus ? mem_strdup(pmus->v.v[i].cpus) : NULL;
		}
	return 0;
}

void event_pfm_each(void (*fn)(void *ctx, const char *pmu, const char *name, const char *desc), void *ctx)
{
	struct pfm pfm;

	if (!load(&pfm))
		return;
	for (int p = 0; p < PFM_PMU_MAX; p++) {
		pfm_pmu_info_t pmu = { .size = sizeof(pmu) };
		pfm_event_info_t event;

		if (pfm.pmu_info((pfm_pmu_t)p, &pmu) != PFM_SUCCESS || !pmu.is_present)
			continue;
		for (int i = pmu.first_event; i >= 0; i = pfm.next(i)) {
			event = (pfm_event_info_t){ .size = sizeof(event) };
			if (pfm.event_info(i, PFM_OS_PERF_EVENT, &event) == PFM_SUCCESS)
				fn(ctx, pmu.name, event.name, event.desc ? event.desc : "");
		}
	}
}

bool event_pfm_built_in(void)
{
	struct pfm pfm;

	return load(&pfm);
}
#else
int event_add_pfm(struct event_ctx *c, span name)
{
	(void)c;
	(void)name;
	return ERR_NOTFOUND;
}

void event_pfm_each(void (*fn)(void *ctx, const char *pmu, const char *name, const char *desc), void *ctx)
{
	(void)fn;
	(void)ctx;
}

bool event_pfm_built_in(void)
{
	return false;
}
#endif

static void offer(void *ctx, const char *pmu, const char *name, const char *desc)
{
	(void)pmu;
	(void)desc;
	near_offer(ctx, name);
}

void event_pfm_near(struct near *n)
{
	event_pfm_each(offer, n);
}
