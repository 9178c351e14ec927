/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heap allocation that does not fail.
 *
 * Every size that comes from input is checked against the input's own length before it reaches these functions. So if
 * memory runs out, the machine has no more, and no caller could do better than stop: these functions abort with a
 * message. This is the only place below cmd/ that ends the process.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/types.h"

void *mem_alloc(size_t size);			   /* not zeroed */
void *mem_zalloc(size_t size);			   /* zeroed */
void *mem_alloc_lines(size_t size);		   /* not zeroed; begins a cache line of 64 bytes */
void *mem_realloc(void *p, size_t n, size_t size); /* n * size bytes, overflow checked */
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);
char *mem_printf(const char *fmt, ...) PRINTF_LIKE(1, 2); /* caller frees */

/*
 * Zeroed memory for large blocks whose pages will all be used: the pages are faulted in here, once. Pages of
 * mem_zalloc that are read before they are written are faulted in twice, and the second fault has to interrupt each
 * CPU that runs one of our threads. The kernel may use huge pages that lie completely inside the block, so this takes
 * no more memory.
 */
void *mem_zalloc_used(size_t size);

/* Zeroes some hundred bytes. This is a function call because compilers that know the size would use one repeating
 * instruction instead, which takes several times as long to start. */
void mem_zero(void *p, size_t size);

/* Pages of their own, which the kernel has back as soon as they are freed: for what is large and lasts for a while. */
void *mem_pages(size_t size); /* zeroed; size is not 0 */
void mem_pages_free(void *p, size_t size);

/*
 * Lets all threads take memory from one heap whose pages are huge where the kernel has such: for a short run of few
 * threads. What a small report takes longest for is the first touch of each page, a fault of its own for each 4 kB.
 * To be called before the threads are there; may be called again, and holds for what the process does later, too. It
 * takes more memory, a few MB: a huge page is there as a whole once any of it is touched, and tens of MB of what is
 * freed are kept until mem_trim.
 */
void mem_one_heap(void);

/* From here on, what is freed is kept for what is allocated next: blocks of up to 4 MB, and 16 MB at the heap's end.
 * This is for a command that makes the same tables again and again, for which fresh pages can cost more time than the
 * work that is done in them. */
void mem_keep_freed(void);

/* Gives back to the kernel what was freed and lies between things still in use. Takes milliseconds. */
void mem_trim(void);

#endif
