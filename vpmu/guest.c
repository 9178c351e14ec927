/* SPDX-License-Identifier: Apache-2.0 */
/* The guest's pointers may lead nowhere: the system reads for us, and says so instead of a fault. */
#include <sys/uio.h>
#include <unistd.h>

#include "vpmu/tasks_impl.h"

#define PAGE 4096u

bool guest_read(u64 address, void *to, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)(uintptr_t)address, n };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n;
}

bool guest_write(u64 address, const void *from, size_t n)
{
	struct iovec local = { (void *)(uintptr_t)from, n }, remote = { (void *)(uintptr_t)address, n };

	return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n;
}

bool guest_text(u64 address, size_t max, struct bytes *out)
{
	char page[PAGE];

	while (max) {
		size_t n = MIN(PAGE - (address & (PAGE - 1)), max), len;

		if (!guest_read(address, page, n))
			return false;
		len = strnlen(page, n);
		bytes_put(out, page, len);
		if (len < n)
			return true;
		address += n;
		max -= n;
	}
	return true;
}
