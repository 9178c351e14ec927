/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/thread_start.h"

#include <elf.h>
#include <string.h>

#define LONGEST 4096 /* bytes of code */

/* Names that begin with _ are the C library's own. */
bool thread_start_named(const char *name)
{
	static const char *const names[] = { "clone", "clone3", "start_thread", "thread_start" };

	for (u32 i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* libc.so.6, libc-2.31.so, libpthread.so.0, ld-linux-x86-64.so.2, ld-musl-aarch64.so.1, libc.musl-x86_64.so.1 */
static bool is_c_library(const char *name)
{
	static const char *const beginnings[] = { "libc.", "libc-", "libpthread.", "libpthread-", "ld-", "ld.so" };

	for (u32 i = 0; i < ARRAY_LEN(beginnings); i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

/* syscall, or svc #0 */
static bool asks_kernel(const u8 *code, u32 n, u16 machine)
{
	static const u8 syscall[] = { 0x0f, 0x05 }, svc[] = { 0x01, 0x00, 0x00, 0xd4 };

	if (machine == EM_X86_64)
		return memmem(code, n, syscall, sizeof(syscall)) != NULL;
	for (u32 i = 0; i + sizeof(svc) <= n; i += sizeof(svc))
		if (!memcmp(code + i, svc, sizeof(svc)))
			return true;
	return false;
}

bool thread_start_is(struct dsos *d, u32 dso, u32 sym)
{
	const struct symbol *s = dsos_symbol(d, dso, sym);
	u8 code[LONGEST];
	u16 machine;
	u32 n;

	if (is_c_library(dsos_at(d, dso)->short_name))
		return true;
	n = dsos_code_at(d, dso, s->start, code, (u32)MIN(s->end - s->start, (u64)LONGEST), &machine);
	return !n || (machine != EM_X86_64 && machine != EM_AARCH64) || asks_kernel(code, n, machine);
}
