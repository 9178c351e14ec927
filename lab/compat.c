/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A 32-bit task: its thread pointer is another register, which it sets when it has worked for a while. The program is
 * written here, for want of a compiler.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "tls.h"

enum { BASE = 0x10000, CODE = 0x54, TLS = 0x90, WORDS_AT = 8 };

static const u32 code[] = {
	0xe3003000, /*    movw r3, #0 */
	0xe3403001, /*    movt r3, #1            65,536 rounds without TLS */
	0xe2533001, /* 1: subs r3, r3, #1 */
	0x1afffffd, /*    bne  1b */
	0xe3007005, /*    movw r7, #5            __ARM_NR_set_tls */
	0xe340700f, /*    movt r7, #15 */
	0xe28f001c, /*    add  r0, pc, #28       what follows this code */
	0xef000000, /*    svc  #0 */
	0xe3003000, /*    movw r3, #0 */
	0xe3403010, /*    movt r3, #16           1,048,576 rounds */
	0xe2533001, /* 1: subs r3, r3, #1 */
	0x1afffffd, /*    bne  1b */
	0xe3a00000, /*    mov  r0, #0 */
	0xe3a07001, /*    mov  r7, #1            exit */
	0xef000000, /*    svc  #0 */
};
_Static_assert(CODE + sizeof(code) == TLS, "add r0, pc");

/* A file image: headers, code, then the thread's data: a pointer to its words, and these. */
struct program {
	Elf32_Ehdr head;
	Elf32_Phdr load;
	u32 code[sizeof(code) / 4];
	u32 pointer, unused;
	u64 word[TLS_WORDS];
};

static struct program program_32(void)
{
	struct program p = {
		.head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_EXEC,
			  .e_machine = EM_ARM,
			  .e_version = EV_CURRENT,
			  .e_entry = BASE + CODE,
			  .e_phoff = sizeof(Elf32_Ehdr),
			  .e_flags = EF_ARM_EABI_VER5,
			  .e_ehsize = sizeof(Elf32_Ehdr),
			  .e_phentsize = sizeof(Elf32_Phdr),
			  .e_phnum = 1 },
		.load = { .p_type = PT_LOAD,
			  .p_vaddr = BASE,
			  .p_paddr = BASE,
			  .p_filesz = sizeof(p),
			  .p_memsz = sizeof(p),
			  .p_flags = PF_R | PF_W | PF_X,
			  .p_align = 4096 },
		.pointer = BASE + TLS + WORDS_AT,
	};

	memcpy(p.code, code, sizeof(code));
	activity_fill(p.word, 320);
	return p;
}

static int write_program(const char *path)
{
	struct program p = program_32();
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);

	if (fd < 0)
		return -errno;
	bool whole = write(fd, &p, sizeof(p)) == sizeof(p);
	close(fd);
	return whole ? 0 : -EIO;
}

/* -> 0, or -errno; its exit status is 127 when the kernel runs no such program. */
static int sample_program(struct tls_samples *t, const struct attr *a, int *status)
{
	int ends[2];
	struct event e;
	char byte;

	if (pipe(ends))
		return -errno;
	pin(0);
	pid_t pid = fork();
	if (!pid) {
		close(ends[1]);
		if (!read(ends[0], &byte, 1)) /* the other end is closed */
			execl("/arm32", "arm32", NULL);
		_exit(127);
	}
	int err = event_open(&e, a, pid, -1);
	close(ends[0]);
	close(ends[1]);
	waitpid(pid, status, 0);
	if (err)
		return err;
	bool good = tls_read(&e, t);
	event_close(&e);
	return good ? 0 : -EPROTO;
}

static bool run_compat(char *figures)
{
	static struct tls_samples t;
	struct tls_count counts[2];
	int status = 0, err = write_program("/arm32");

	for (int deref = 0; deref < 2 && !err; deref++) {
		struct attr a = attr_tls(2000, deref ? TLS_DEREF : 0);

		a.tls_offset = deref ? 0 : WORDS_AT;
		a.perf.enable_on_exec = 1;
		err = sample_program(&t, &a, &status);
		counts[deref] = tls_count(&t, 320);
	}
	if (err || status)
		return failed(figures, "%s, exit status %d", strerror(-err), WEXITSTATUS(status));
	snprintf(figures, FIGURES_MAX,
		 "a 32-bit program: %zu of %zu right, by its pointer of 32 bits %zu of %zu; %zu before it has a TLS",
		 counts[0].right, counts[0].all, counts[1].right, counts[1].all, counts[0].none + counts[1].none);
	/* What the program that called exec() had for its TLS must be forgotten by then. */
	return counts[0].right > 1000 && counts[1].right > 1000 && counts[0].none > 100 && counts[1].none > 100 &&
	       counts[0].right + counts[0].none == counts[0].all && counts[1].right + counts[1].none == counts[1].all;
}

const struct scenario compat_scenarios[] = {
	{ "tls-compat", run_compat, PATCHED },
	{ 0 },
};
