/* SPDX-License-Identifier: Apache-2.0 */
#include "io/ring.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

int ring_map(struct ring *r, int fd, u32 pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page * (pages + 1ull), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	r->page = at;
	r->data = (u8 *)at + page;
	r->size = (u64)pages * page;
	r->tail = 0;
	r->fd = fd;
	return 0;
}

void ring_unmap(struct ring *r)
{
	if (r->page)
		munmap(r->page, (size_t)(r->data - (u8 *)r->page + r->size));
	r->page = NULL;
}

static u64 peek(const struct ring *r, struct iovec part[2], int *nr)
{
	/* Pairs with the kernel's barrier between the data and data_head. */
	u64 head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE), n = head - r->tail;
	u64 at = r->tail & (r->size - 1), first = MIN(n, r->size - at);

	if (first)
		part[(*nr)++] = (struct iovec){ r->data + at, first };
	if (n > first)
		part[(*nr)++] = (struct iovec){ r->data, n - first };
	return n;
}

u64 ring_peek(const struct ring *r, struct iovec part[2], int *nr)
{
	*nr = 0;
	return r->page ? peek(r, part, nr) : 0;
}

void ring_consume(struct ring *r, u64 n)
{
	r->tail += n;
	/* Our reads of the data end before the kernel may overwrite it. */
	__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}
