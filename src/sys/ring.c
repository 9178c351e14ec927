/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/vec.h"

int ring_map(struct ring *r, int fd, u32 pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	/* Who cannot write the tail lets the kernel overwrite. */
	int access = r->backward ? PROT_READ : PROT_READ | PROT_WRITE;
	void *at = mmap(NULL, page * (pages + 1ull), access, MAP_SHARED, fd, 0);

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
	return r->page && !r->backward ? peek(r, part, nr) : 0;
}

u64 ring_filled(const struct ring *r)
{
	return r->page && !r->backward ? __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE) - r->tail : 0;
}

const u8 *ring_record(const struct ring *r, u64 at, u64 filled, u16 *size, struct bytes *joined)
{
	u64 place = (r->tail + at) & (r->size - 1), here = r->size - place;
	struct perf_event_header h;

	if (filled < at + sizeof(h))
		return NULL;
	memcpy(&h, r->data + place, sizeof(h));
	*size = h.size;
	if (h.size < sizeof(h) || h.size > filled - at)
		return NULL;
	if (LIKELY(h.size <= here))
		return r->data + place;
	joined->len = 0;
	bytes_put(joined, r->data + place, here);
	bytes_put(joined, r->data, h.size - here);
	return joined->p;
}

void ring_consume(struct ring *r, u64 n)
{
	r->tail += n;
	/* Our reads of the data end before the kernel may overwrite it. */
	__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}

void ring_pause(const struct ring *r, bool on)
{
	if (r->page)
		ioctl(r->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, (unsigned long)on);
}

void ring_look(struct ring *r, struct bytes *out)
{
	u64 head = r->page ? __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE) : r->tail;
	u64 n = MIN(r->tail - head, r->size), at = head & (r->size - 1), first = MIN(n, r->size - at), next = 0;
	struct bytes newest_first = { 0 };
	struct perf_event_header h;
	VEC(u64) starts = { 0 };

	r->tail = head;
	if (!n)
		return;
	bytes_put(&newest_first, r->data + at, first);
	bytes_put(&newest_first, r->data, n - first);
	/* The last one may have been overwritten in part. */
	for (u64 start = 0; n - start >= sizeof(h); start = next) {
		memcpy(&h, newest_first.p + start, sizeof(h));
		next = start + h.size;
		if (h.size < sizeof(h) || next > n)
			break;
		vec_push(&starts, start);
	}
	for (size_t i = starts.n; i--;) {
		memcpy(&h, newest_first.p + starts.v[i], sizeof(h));
		bytes_put(out, newest_first.p + starts.v[i], h.size);
	}
	vec_free(&starts);
	bytes_free(&newest_first);
}
