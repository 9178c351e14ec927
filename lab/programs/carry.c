/* SPDX-License-Identifier: Apache-2.0 */
/*
 * carry FILE...: copies files of the guest to the directory that QEMU was started in, under their last names; for
 * "[vdso]" the image that the kernel has mapped here, as "vdso".
 *
 * By semihosting, which QEMU lets user space do (-semihosting-config userspace=on): no driver is needed in the guest's
 * kernel, and no time passes there meanwhile.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { SYS_OPEN = 1, SYS_CLOSE = 2, SYS_WRITE = 5, MODE_WB = 5 };

static int64_t host(uint64_t operation, const uint64_t *block)
{
	register uint64_t x0 __asm__("x0") = operation;
	register const uint64_t *x1 __asm__("x1") = block;

	__asm__ volatile("hlt #0xf000" : "+r"(x0) : "r"(x1) : "memory");
	return (int64_t)x0;
}

/* A file there, to be written, or less than 0. */
static int64_t open_outside(const char *name)
{
	char copy[256]; /* on the stack, which is in memory */

	snprintf(copy, sizeof(copy), "%s", name);
	return host(SYS_OPEN, (uint64_t[]){ (uintptr_t)copy, MODE_WB, strlen(copy) });
}

static int write_outside(int64_t out, const char *data, size_t n)
{
	return host(SYS_WRITE, (uint64_t[]){ (uint64_t)out, (uintptr_t)data, n }) != 0;
}

static char data[1 << 20]; /* written before QEMU reads it, so that it is in memory */

/* Its section headers are its end. */
static int carry_vdso(void)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	int64_t out = image ? open_outside("vdso") : -1;
	Elf64_Ehdr head;
	size_t size;
	int bad;

	if (out < 0)
		return 1;
	memcpy(&head, image, sizeof(head));
	size = head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
	memcpy(data, image, size);
	bad = write_outside(out, data, size);
	host(SYS_CLOSE, (uint64_t[]){ (uint64_t)out });
	return bad;
}

static int carry(const char *path)
{
	const char *slash = strrchr(path, '/');
	int fd = open(path, O_RDONLY), bad = 0;
	ssize_t n = 0;
	int64_t out = fd < 0 ? -1 : open_outside(slash ? slash + 1 : path);

	if (out < 0) {
		perror(path);
		return 1;
	}
	while (!bad && (n = read(fd, data, sizeof(data))) > 0)
		bad = write_outside(out, data, (size_t)n);
	host(SYS_CLOSE, (uint64_t[]){ (uint64_t)out });
	close(fd);
	return bad || n < 0;
}

int main(int argc, char **argv)
{
	int bad = argc < 2;

	for (int i = 1; i < argc; i++)
		bad |= strcmp(argv[i], "[vdso]") ? carry(argv[i]) : carry_vdso();
	return bad;
}
