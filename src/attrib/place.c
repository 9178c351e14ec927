/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/place.h"

#include <stdio.h>
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

/* "[libc.so.6+0x1234]"; a name that has brackets of its own keeps one pair. Large tables have many of them: no printf.
 */
static void print_offset(const char *dso, u64 addr, char *buf, size_t size)
{
	size_t len = strlen(dso), at = 0;
	char tail[24];
	int from = sizeof(tail);

	if (len > 2 && dso[0] == '[' && dso[len - 1] == ']') {
		dso++;
		len -= 2;
	}
	tail[--from] = 0;
	tail[--from] = ']';
	do
		tail[--from] = "0123456789abcdef"[addr & 15];
	while (addr >>= 4);
	memcpy(&tail[from -= 3], "+0x", 3);
	len = MIN(len, size - 1 - (sizeof(tail) - (size_t)from));
	buf[at++] = '[';
	memcpy(buf + at, dso, len);
	memcpy(buf + at + len, tail + from, sizeof(tail) - (size_t)from);
}

const char *place_made_up_name(const struct dsos *dsos, u32 dso, u64 addr, char *buf, size_t size)
{
	if (!dso && !addr)
		snprintf(buf, size, "[unknown]");
	else
		print_offset(dsos_at(dsos, dso)->short_name, addr, buf, size);
	return buf;
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
