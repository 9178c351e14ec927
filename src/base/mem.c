/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *check(void *p)
{
	if (!p) {
		fputs("reticle: out of memory\n", stderr);
		abort();
	}
	return p;
}

void *mem_alloc(size_t size)
{
	return check(malloc(size ? size : 1));
}

void *mem_zalloc(size_t size)
{
	return check(calloc(1, size ? size : 1));
}

void *mem_alloc_lines(size_t size)
{
	void *p;

	return check(posix_memalign(&p, 64, size ? size : 1) ? NULL : p);
}

void *mem_realloc(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return check(NULL);
	return check(realloc(p, bytes ? bytes : 1));
}

char *mem_strdup(const char *s)
{
	return check(strdup(s));
}

char *mem_strndup(const char *s, size_t n)
{
	return check(strndup(s, n));
}

char *mem_printf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return check(s);
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels refuse it, which does no harm */
#endif
#define HUGE_PAGE ((uintptr_t)2 << 20)

void *mem_zalloc_used(size_t size)
{
	void *p = mem_alloc(size);
	uintptr_t start = ((uintptr_t)p + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	uintptr_t end = ((uintptr_t)p + size) & ~(HUGE_PAGE - 1);

	if (start < end)
		(void)madvise((void *)start, end - start, MADV_HUGEPAGE);
	return memset(p, 0, size);
}

#define HEAP_STEP (16 << 20)
/* More than glibc's heap has free by itself, and less than main() lets be mapped: else no page gets huge. */
#define HEAP_FIRST (200 << 10)
#define HEAP_KEPT (64 << 20) /* free at the heap's end before the kernel has some of it back */

void mem_keep_freed(void)
{
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

void mem_one_heap(void)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start, huge, end;
	void *p;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
	mallopt(M_TOP_PAD, HEAP_STEP);
	p = mem_alloc(HEAP_FIRST); /* not touched: the heap grows by a step */
	start = ((uintptr_t)p + page - 1) & ~(page - 1);
	huge = ((uintptr_t)p + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	end = (uintptr_t)sbrk(0) & ~(HUGE_PAGE - 1);
	free(p);
	if (huge >= end || end - huge > 2 * HEAP_STEP) /* not at the end of a heap of glibc's, or one that has grown */
		return;
	(void)madvise((void *)start, huge - start, MADV_POPULATE_WRITE);
	(void)madvise((void *)huge, end - huge, MADV_HUGEPAGE);
}

void mem_zero(void *p, size_t size)
{
	memset(p, 0, size);
}

void *mem_pages(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return check(p == MAP_FAILED ? NULL : p);
}

void mem_pages_free(void *p, size_t size)
{
	if (p)
		(void)munmap(p, size);
}

void mem_trim(void)
{
	malloc_trim(0);
}
