/* SPDX-License-Identifier: Apache-2.0 */
/*
 * carry FILE...: copies files of the guest to the directory that QEMU was started in, under their last names.
 *
 * By semihosting, which QEMU lets user space do (-semihosting-config userspace=on): no driver is needed in the guest's
 * kernel, and no time passes there meanwhile.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SYS_OPEN = 1, SYS_CLOSE = 2, SYS_WRITE = 5, MODE_WB = 5 };

static int64_t host(uint64_t operation, const uint64_t *block)
{
	register uint64_t x0 __asm__("x0") = operation;
	register const uint64_t *x1 __asm__("x1") = block;

	__asm__ volatile("hlt #0xf000" : "+r"(x0) : "r"(x1) : "memory");
	return (int64_t)x0;
}

static int carry(const char *path)
{
	static char data[1 << 20]; /* written before QEMU reads it, so that it is in memory */
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char copy[256]; /* on the stack, which is in memory */
	int fd = open(path, O_RDONLY), bad = 0;
	ssize_t n = 0;

	snprintf(copy, sizeof(copy), "%s", name);
	int64_t out = fd < 0 ? -1 : host(SYS_OPEN, (uint64_t[]){ (uintptr_t)copy, MODE_WB, strlen(copy) });
	if (out < 0) {
		perror(path);
		return 1;
	}
	while (!bad && (n = read(fd, data, sizeof(data))) > 0)
		bad = host(SYS_WRITE, (uint64_t[]){ (uint64_t)out, (uintptr_t)data, (uint64_t)n }) != 0;
	host(SYS_CLOSE, (uint64_t[]){ (uint64_t)out });
	close(fd);
	return bad || n < 0;
}

int main(int argc, char **argv)
{
	int bad = argc < 2;

	for (int i = 1; i < argc; i++)
		bad |= carry(argv[i]);
	return bad;
}
