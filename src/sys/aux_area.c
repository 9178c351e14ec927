/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/aux_area.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int aux_area_map(struct aux_area *a, const struct ring *r, u32 pages, bool overwritten)
{
	/* Who cannot write there lets the kernel overwrite. */
	int access = overwritten ? PROT_READ : PROT_READ | PROT_WRITE;
	size_t size = (size_t)sysconf(_SC_PAGESIZE) * pages;
	u64 behind = (u64)(r->data - (u8 *)r->page) + r->size;
	void *at;

	/* The kernel reads there where the area is to be, and how large. */
	r->page->aux_offset = behind;
	r->page->aux_size = size;
	at = mmap(NULL, size, access, MAP_SHARED, r->fd, (off_t)behind);
	if (at == MAP_FAILED)
		return -errno;
	*a = (struct aux_area){ .page = r->page, .data = at, .size = size, .overwritten = overwritten };
	return 0;
}

void aux_area_unmap(struct aux_area *a)
{
	if (a->page)
		munmap(a->data, a->size);
	a->page = NULL;
}

void aux_area_look(struct aux_area *a)
{
	/* Pairs with the kernel's barrier between the data and aux_head. */
	if (a->page)
		a->head = __atomic_load_n(&a->page->aux_head, __ATOMIC_ACQUIRE);
}

void aux_area_told(struct aux_area *a, u64 end)
{
	/* The kernel writes such a record when the data are there. */
	if (a->page && end > a->head && end - a->tail <= a->size)
		a->head = end;
}

u64 aux_area_peek(const struct aux_area *a, struct iovec part[2], int *nr)
{
	u64 n = MIN(a->head - a->tail, a->size), at = a->tail & (a->size - 1), first = MIN(n, a->size - at);

	*nr = 0;
	if (first)
		part[(*nr)++] = (struct iovec){ a->data + at, first };
	if (n > first)
		part[(*nr)++] = (struct iovec){ a->data, n - first };
	return n;
}

/* The kernel tells where the last byte is in the area, and records how many bytes came; drivers also leave a few out,
 * at the area's end. So the position is the first one, from what the records tell on, that is at that place. */
void aux_area_take(struct aux_area *a, u64 written, u64 most)
{
	u64 end = __atomic_load_n(&a->page->aux_head, __ATOMIC_ACQUIRE), least = a->tail + (written - a->written);

	a->written = written;
	a->head = least + ((end - least) & (a->size - 1));
	a->tail = a->head - MIN(MIN(a->head - a->tail, a->size), most);
}

void aux_area_consume(struct aux_area *a, u64 n)
{
	a->tail += n;
	if (a->overwritten)
		return;
	/* Our reads of the data end before the hardware may overwrite them. */
	__atomic_store_n(&a->page->aux_tail, a->tail, __ATOMIC_RELEASE);
}
