/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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
