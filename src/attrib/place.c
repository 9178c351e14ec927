/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/place.h"

#include <string.h>

u32 context_cpumode(u64 mark)
{
	switch (mark) {
	case PERF_CONTEXT_HV:
		return PERF_RECORD_MISC_HYPERVISOR;
	case PERF_CONTEXT_KERNEL:
		return PERF_RECORD_MISC_KERNEL;
	case PERF_CONTEXT_USER:
	case PERF_CONTEXT_USER_DEFERRED:
		return PERF_RECORD_MISC_USER;
	case PERF_CONTEXT_GUEST_KERNEL:
		return PERF_RECORD_MISC_GUEST_KERNEL;
	case PERF_CONTEXT_GUEST_USER:
		return PERF_RECORD_MISC_GUEST_USER;
	default:
		return ID_NONE;
	}
}

u64 cpumode_context(u32 cpumode)
{
	switch (cpumode) {
	case PERF_RECORD_MISC_KERNEL:
		return PERF_CONTEXT_KERNEL;
	case PERF_RECORD_MISC_GUEST_KERNEL:
		return PERF_CONTEXT_GUEST_KERNEL;
	case PERF_RECORD_MISC_GUEST_USER:
		return PERF_CONTEXT_GUEST_USER;
	case PERF_RECORD_MISC_HYPERVISOR:
		return PERF_CONTEXT_HV;
	default:
		return PERF_CONTEXT_USER;
	}
}

char cpumode_level(u32 cpumode)
{
	switch (cpumode) {
	case PERF_RECORD_MISC_KERNEL:
		return 'k';
	case PERF_RECORD_MISC_USER:
		return '.';
	case PERF_RECORD_MISC_GUEST_KERNEL:
		return 'g';
	case PERF_RECORD_MISC_GUEST_USER:
		return 'u';
	default:
		return 'H';
	}
}

static const struct vmap *find_map(const struct thread_view *thread, u32 cpumode, u64 addr)
{
	if (cpumode == PERF_RECORD_MISC_KERNEL)
		return maps_find(&thread->kernel, addr);
	return cpumode == PERF_RECORD_MISC_USER ? maps_find(&thread->maps, addr) : NULL;
}

u32 place_mode(const struct thread_view *thread, u64 addr)
{
	if (maps_find(&thread->maps, addr))
		return PERF_RECORD_MISC_USER;
	return maps_find(&thread->kernel, addr) ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_HYPERVISOR;
}

u32 place_dso(const struct thread_view *thread, u32 cpumode, u64 addr)
{
	const struct vmap *m = find_map(thread, cpumode, addr);

	return m ? m->dso : 0;
}

void place_find(struct dsos *dsos, const struct thread_view *thread, u32 cpumode, u64 ip, struct place *out)
{
	const struct vmap *m = find_map(thread, cpumode, ip);

	*out = (struct place){ .map = m, .addr = ip, .sym = ID_NONE, .level = cpumode_level(cpumode) };
	if (!m)
		return;
	out->dso = m->dso;
	out->addr = vmap_addr(m, dsos, ip);
	out->sym = dsos_symbol_at(dsos, m->dso, out->addr);
}

const char *place_kernel_function(struct dsos *dsos, const struct maps *kernel, u64 addr, u64 *start,
				  const char **module)
{
	const struct vmap *map = maps_find(kernel, addr);
	u64 at = map ? vmap_addr(map, dsos, addr) : 0;
	u32 sym = map ? dsos_symbol_at(dsos, map->dso, at) : ID_NONE;

	if (sym == ID_NONE)
		return NULL;
	if (dsos_at(dsos, map->dso)->kind == DSO_MODULE)
		*module = dsos_at(dsos, map->dso)->short_name;
	*start = addr - (at - dsos_symbol(dsos, map->dso, sym)->start);
	return dsos_symbol_name(dsos, map->dso, sym);
}
