/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions are to the model, from their bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>

#include "vpmu/block.h"

#define PC 0x400000

struct sample {
	const char *text; /* what a disassembler says */
	u8 bytes[16];
	u32 size;
	u8 kind, cost;
	u64 target;
};

static const struct sample x86[] = {
	{ "nop", { 0x90 }, 1, OP_PLAIN, COST_NONE, 0 },
	{ "mov %rax,%rbx", { 0x48, 0x89, 0xc3 }, 3, OP_PLAIN, COST_NONE, 0 },
	{ "jne -2", { 0x75, 0xfe }, 2, OP_COND, COST_NONE, PC },
	{ "bnd jne +16", { 0xf2, 0x75, 0x10 }, 3, OP_COND, COST_NONE, PC + 3 + 16 },
	{ "jg +256", { 0x0f, 0x8f, 0x00, 0x01, 0x00, 0x00 }, 6, OP_COND, COST_NONE, PC + 6 + 256 },
	{ "jrcxz +4", { 0xe3, 0x04 }, 2, OP_COND, COST_NONE, PC + 2 + 4 },
	{ "loop -2", { 0xe2, 0xfe }, 2, OP_COND, COST_NONE, PC },
	{ "jmp -128", { 0xeb, 0x80 }, 2, OP_JUMP, COST_NONE, PC + 2 - 128 },
	{ "jmp -1", { 0xe9, 0xff, 0xff, 0xff, 0xff }, 5, OP_JUMP, COST_NONE, PC + 4 },
	{ "call +0x100", { 0xe8, 0x00, 0x01, 0x00, 0x00 }, 5, OP_CALL, COST_NONE, PC + 5 + 0x100 },
	{ "data16 rex.W call", { 0x66, 0x48, 0xe8, 0x10, 0x00, 0x00, 0x00 }, 7, OP_CALL, COST_NONE, PC + 7 + 0x10 },
	{ "call *%rax", { 0xff, 0xd0 }, 2, OP_CALL_INDIRECT, COST_NONE, 0 },
	{ "call *0x10(%rip)", { 0xff, 0x15, 0x10, 0, 0, 0 }, 6, OP_CALL_INDIRECT, COST_NONE, 0 },
	{ "notrack jmp *%rax", { 0x3e, 0xff, 0xe0 }, 3, OP_JUMP_INDIRECT, COST_NONE, 0 },
	{ "jmp *%r11", { 0x41, 0xff, 0xe3 }, 3, OP_JUMP_INDIRECT, COST_NONE, 0 },
	{ "push (%rax)", { 0xff, 0x30 }, 2, OP_PLAIN, COST_NONE, 0 },
	{ "incl (%rax)", { 0xff, 0x00 }, 2, OP_PLAIN, COST_NONE, 0 },
	{ "ret", { 0xc3 }, 1, OP_RETURN, COST_NONE, 0 },
	{ "repz ret", { 0xf3, 0xc3 }, 2, OP_RETURN, COST_NONE, 0 },
	{ "ret $8", { 0xc2, 0x08, 0x00 }, 3, OP_RETURN, COST_NONE, 0 },
	{ "syscall", { 0x0f, 0x05 }, 2, OP_SYSCALL, COST_NONE, 0 },
	{ "int $0x80", { 0xcd, 0x80 }, 2, OP_SYSCALL, COST_NONE, 0 },
	{ "rep movsq", { 0xf3, 0x48, 0xa5 }, 3, OP_REP, COST_NONE, 0 },
	{ "repnz scasb", { 0xf2, 0xae }, 2, OP_REP, COST_NONE, 0 },
	{ "rep stosl", { 0xf3, 0xab }, 2, OP_REP, COST_NONE, 0 },
	{ "movsb", { 0xa4 }, 1, OP_PLAIN, COST_NONE, 0 },
	{ "popcnt", { 0xf3, 0x0f, 0xb8, 0xc1 }, 4, OP_PLAIN, COST_NONE, 0 },
	{ "endbr64", { 0xf3, 0x0f, 0x1e, 0xfa }, 4, OP_PLAIN, COST_NONE, 0 },
	{ "imul %rcx,%rax", { 0x48, 0x0f, 0xaf, 0xc1 }, 4, OP_PLAIN, COST_MUL, 0 },
	{ "mul %rcx", { 0x48, 0xf7, 0xe1 }, 3, OP_PLAIN, COST_MUL, 0 },
	{ "div %rcx", { 0x48, 0xf7, 0xf1 }, 3, OP_PLAIN, COST_DIV, 0 },
	{ "idiv %ecx", { 0xf7, 0xf9 }, 2, OP_PLAIN, COST_DIV, 0 },
	{ "neg %rax", { 0x48, 0xf7, 0xd8 }, 3, OP_PLAIN, COST_NONE, 0 },
	{ "addsd %xmm1,%xmm0", { 0xf2, 0x0f, 0x58, 0xc1 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vmulpd %ymm2,%ymm1,%ymm0", { 0xc5, 0xf5, 0x59, 0xc2 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vfmadd231sd %xmm2,%xmm1,%xmm0", { 0xc4, 0xe2, 0xf1, 0xb9, 0xc2 }, 5, OP_PLAIN, COST_FP, 0 },
	{ "divps %xmm1,%xmm0", { 0x0f, 0x5e, 0xc1 }, 3, OP_PLAIN, COST_FP_DIV, 0 },
	{ "sqrtsd %xmm1,%xmm0", { 0xf2, 0x0f, 0x51, 0xc1 }, 4, OP_PLAIN, COST_SQRT, 0 },
	{ "fsin", { 0xd9, 0xfe }, 2, OP_PLAIN, COST_SLOW, 0 },
	{ "mfence", { 0x0f, 0xae, 0xf0 }, 3, OP_PLAIN, COST_SERIALISE, 0 },
	{ "cpuid", { 0x0f, 0xa2 }, 2, OP_PLAIN, COST_SERIALISE, 0 },
	{ "pause", { 0xf3, 0x90 }, 2, OP_PLAIN, COST_PAUSE, 0 },
	{ "lock incl (%rax)", { 0xf0, 0xff, 0x00 }, 3, OP_PLAIN, COST_ATOMIC, 0 },
	{ "lock cmpxchg %ecx,(%rdx)", { 0xf0, 0x0f, 0xb1, 0x0a }, 4, OP_PLAIN, COST_ATOMIC, 0 },
	{ "cmpsd $0,%xmm1,%xmm0", { 0xf2, 0x0f, 0xc2, 0xc1, 0x00 }, 5, OP_PLAIN, COST_FP, 0 },
	{ "cmpsd $9,%xmm1,%xmm0", { 0xf2, 0x0f, 0xc2, 0xc1, 0x09 }, 5, OP_PLAIN, COST_FP, 0 },
	{ "cmpps $1,%xmm1,%xmm0", { 0x0f, 0xc2, 0xc1, 0x01 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "cmppd $5,%xmm1,%xmm0", { 0x66, 0x0f, 0xc2, 0xc1, 0x05 }, 5, OP_PLAIN, COST_FP, 0 },
	{ "vcmpsd $0,%xmm1,%xmm0,%xmm2", { 0xc5, 0xfb, 0xc2, 0xd1, 0x00 }, 5, OP_PLAIN, COST_FP, 0 },
	{ "vcmppd $0x1f,%ymm1,%ymm0,%ymm2", { 0xc5, 0xfd, 0xc2, 0xd1, 0x1f }, 5, OP_PLAIN, COST_FP, 0 },
	{ "vcmpps $0x0a,%ymm1,%ymm0,%ymm2", { 0xc5, 0xfc, 0xc2, 0xd1, 0x0a }, 5, OP_PLAIN, COST_FP, 0 },
	{ "cmpsl", { 0xa7 }, 1, OP_PLAIN, COST_NONE, 0 },
	{ "comisd %xmm1,%xmm0", { 0x66, 0x0f, 0x2f, 0xc1 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vucomiss %xmm1,%xmm0", { 0xc5, 0xf8, 0x2e, 0xc1 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vcvtsi2sd %eax,%xmm0,%xmm1", { 0xc5, 0xfb, 0x2a, 0xc8 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vcvtsi2sd %rax,%xmm0,%xmm1", { 0xc4, 0xe1, 0xfb, 0x2a, 0xc8 }, 5, OP_PLAIN, COST_FP, 0 },
	{ "vcvtsi2sdl (%rax),%xmm0,%xmm1", { 0xc5, 0xfb, 0x2a, 0x08 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vcvttsd2si %xmm0,%rax", { 0xc4, 0xe1, 0xfb, 0x2c, 0xc0 }, 5, OP_PLAIN, COST_FP, 0 },
	{ "vcvtsd2si %xmm0,%eax", { 0xc5, 0xfb, 0x2d, 0xc0 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vcvtsd2ss %xmm0,%xmm0,%xmm1", { 0xc5, 0xfb, 0x5a, 0xc8 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vcvtpd2ps %xmm0,%xmm1", { 0xc5, 0xf9, 0x5a, 0xc8 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vcvtpd2dq %xmm0,%xmm1", { 0xc5, 0xfb, 0xe6, 0xc8 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vcvttpd2dq %xmm0,%xmm1", { 0xc5, 0xf9, 0xe6, 0xc8 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vcvttpd2dqx (%rax),%xmm1", { 0xc5, 0xf9, 0xe6, 0x08 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vcvtps2pd %xmm0,%ymm1", { 0xc5, 0xfc, 0x5a, 0xc8 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vcvtph2ps %xmm0,%ymm1", { 0xc4, 0xe2, 0x7d, 0x13, 0xc8 }, 5, OP_PLAIN, COST_FP, 0 },
	{ "vcvtps2ph $0,%ymm0,%xmm1", { 0xc4, 0xe3, 0x7d, 0x1d, 0xc1, 0x00 }, 6, OP_PLAIN, COST_FP, 0 },
	{ "cvtpi2ps %mm0,%xmm1", { 0x0f, 0x2a, 0xc8 }, 3, OP_PLAIN, COST_FP, 0 },
	{ "cvtps2pi %xmm1,%mm0", { 0x0f, 0x2d, 0xc1 }, 3, OP_PLAIN, COST_FP, 0 },
	{ "vroundsd $0,%xmm0,%xmm1,%xmm2", { 0xc4, 0xe3, 0x71, 0x0b, 0xd0, 0x00 }, 6, OP_PLAIN, COST_FP, 0 },
	{ "roundps $0,%xmm0,%xmm1", { 0x66, 0x0f, 0x3a, 0x08, 0xc8, 0x00 }, 6, OP_PLAIN, COST_FP, 0 },
	{ "vdppd $1,%xmm0,%xmm1,%xmm2", { 0xc4, 0xe3, 0x71, 0x41, 0xd0, 0x01 }, 6, OP_PLAIN, COST_FP, 0 },
	{ "dpps $1,%xmm0,%xmm1", { 0x66, 0x0f, 0x3a, 0x40, 0xc8, 0x01 }, 6, OP_PLAIN, COST_FP, 0 },
	{ "vhaddpd %ymm0,%ymm1,%ymm2", { 0xc5, 0xf5, 0x7c, 0xd0 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vaddsubps %ymm0,%ymm1,%ymm2", { 0xc5, 0xf7, 0xd0, 0xd0 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vrsqrtps %ymm0,%ymm1", { 0xc5, 0xfc, 0x52, 0xc8 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "rcpss %xmm0,%xmm1", { 0xf3, 0x0f, 0x53, 0xc8 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vrcpss %xmm0,%xmm1,%xmm2", { 0xc5, 0xf2, 0x53, 0xd0 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vfmaddsub231pd %ymm0,%ymm1,%ymm2", { 0xc4, 0xe2, 0xf5, 0xb6, 0xd0 }, 5, OP_PLAIN, COST_FP, 0 },
	{ "vfmsubadd132ps %ymm0,%ymm1,%ymm2", { 0xc4, 0xe2, 0x75, 0x97, 0xd0 }, 5, OP_PLAIN, COST_FP, 0 },
	{ "fcomp %st(1)", { 0xd8, 0xd9 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fcompp", { 0xde, 0xd9 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fcomip %st(1),%st", { 0xdf, 0xf1 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fucompp", { 0xda, 0xe9 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fucomip %st(1),%st", { 0xdf, 0xe9 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "ficoml (%rax)", { 0xda, 0x10 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "ficompl (%rax)", { 0xda, 0x18 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fcoml (%rax)", { 0xdc, 0x10 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "ftst", { 0xd9, 0xe4 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "frndint", { 0xd9, 0xfc }, 2, OP_PLAIN, COST_FP, 0 },
	{ "filds (%rax)", { 0xdf, 0x00 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fildll (%rax)", { 0xdf, 0x28 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fistl (%rax)", { 0xdb, 0x10 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fistpll (%rax)", { 0xdf, 0x38 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fisttpl (%rax)", { 0xdb, 0x08 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fscale", { 0xd9, 0xfd }, 2, OP_PLAIN, COST_SLOW, 0 },
	{ "fxtract", { 0xd9, 0xf4 }, 2, OP_PLAIN, COST_SLOW, 0 },
	{ "faddp", { 0xde, 0xc1 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fadd %st,%st(1)", { 0xdc, 0xc1 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fsubrp", { 0xde, 0xe9 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fsubr %st(1),%st", { 0xd8, 0xe9 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fdivrp", { 0xde, 0xf9 }, 2, OP_PLAIN, COST_FP_DIV, 0 },
	{ "fdivrl (%rax)", { 0xdc, 0x38 }, 2, OP_PLAIN, COST_FP_DIV, 0 },
	{ "fidivrl (%rax)", { 0xda, 0x38 }, 2, OP_PLAIN, COST_FP_DIV, 0 },
	{ "fisubrl (%rax)", { 0xda, 0x28 }, 2, OP_PLAIN, COST_FP, 0 },
	{ "fbld (%rax)", { 0xdf, 0x20 }, 2, OP_PLAIN, COST_SLOW, 0 },
	{ "fbstp (%rax)", { 0xdf, 0x30 }, 2, OP_PLAIN, COST_SLOW, 0 },
	{ "fxsave64 (%rax)", { 0x48, 0x0f, 0xae, 0x00 }, 4, OP_PLAIN, COST_SLOW, 0 },
	{ "fxrstor64 (%rax)", { 0x48, 0x0f, 0xae, 0x08 }, 4, OP_PLAIN, COST_SLOW, 0 },
	{ "xsave64 (%rax)", { 0x48, 0x0f, 0xae, 0x20 }, 4, OP_PLAIN, COST_SLOW, 0 },
	{ "xsaveopt (%rax)", { 0x0f, 0xae, 0x30 }, 3, OP_PLAIN, COST_SLOW, 0 },
	{ "xrstor64 (%rax)", { 0x48, 0x0f, 0xae, 0x28 }, 4, OP_PLAIN, COST_SLOW, 0 },
	{ "fnsave (%rax)", { 0xdd, 0x30 }, 2, OP_PLAIN, COST_SLOW, 0 },
	{ "frstor (%rax)", { 0xdd, 0x20 }, 2, OP_PLAIN, COST_SLOW, 0 },
	{ "vpmulld %xmm0,%xmm1,%xmm2", { 0xc4, 0xe2, 0x71, 0x40, 0xd0 }, 5, OP_PLAIN, COST_NONE, 0 },
	{ "vpmuludq %xmm0,%xmm1,%xmm2", { 0xc5, 0xf1, 0xf4, 0xd0 }, 4, OP_PLAIN, COST_NONE, 0 },
	{ "vpclmulqdq $0,%xmm0,%xmm1,%xmm2", { 0xc4, 0xe3, 0x71, 0x44, 0xd0, 0x00 }, 6, OP_PLAIN, COST_NONE, 0 },
	{ "pmuldq %xmm0,%xmm1", { 0x66, 0x0f, 0x38, 0x28, 0xc8 }, 5, OP_PLAIN, COST_NONE, 0 },
	{ "pmulld %xmm0,%xmm1", { 0x66, 0x0f, 0x38, 0x40, 0xc8 }, 5, OP_PLAIN, COST_NONE, 0 },
	{ "pmuludq %mm0,%mm1", { 0x0f, 0xf4, 0xc8 }, 3, OP_PLAIN, COST_NONE, 0 },
	{ "sfence", { 0x0f, 0xae, 0xf8 }, 3, OP_PLAIN, COST_SERIALISE, 0 },
	{ "lfence", { 0x0f, 0xae, 0xe8 }, 3, OP_PLAIN, COST_SERIALISE, 0 },
	{ "xchg %rax,(%rbx)", { 0x48, 0x87, 0x03 }, 3, OP_PLAIN, COST_ATOMIC, 0 },
	{ "xchg %al,(%rbx)", { 0x86, 0x03 }, 2, OP_PLAIN, COST_ATOMIC, 0 },
	{ "xchg %rax,%rbx", { 0x48, 0x93 }, 2, OP_PLAIN, COST_NONE, 0 },
	{ "xchg %rax,%rcx", { 0x48, 0x91 }, 2, OP_PLAIN, COST_NONE, 0 },
	{ "xchg %r8,%r9", { 0x4d, 0x87, 0xc1 }, 3, OP_PLAIN, COST_NONE, 0 },
	{ "xchg %eax,0", { 0x87, 0x04, 0x25, 0x00, 0x00, 0x00, 0x00 }, 7, OP_PLAIN, COST_ATOMIC, 0 },
	{ "xchg %cx,(%r12,%r13,2)", { 0x66, 0x43, 0x87, 0x0c, 0x6c }, 5, OP_PLAIN, COST_ATOMIC, 0 },
	{ "data16 xchg %rax,(%rbx)", { 0x66, 0x48, 0x87, 0x03 }, 4, OP_PLAIN, COST_ATOMIC, 0 },
	{ "lock xchg %rax,(%rbx)", { 0xf0, 0x48, 0x87, 0x03 }, 4, OP_PLAIN, COST_ATOMIC, 0 },
	{ "minpd %xmm0,%xmm1", { 0x66, 0x0f, 0x5d, 0xc8 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vmaxss %xmm0,%xmm1,%xmm1", { 0xc5, 0xf2, 0x5f, 0xc8 }, 4, OP_PLAIN, COST_FP, 0 },
	{ "vsqrtsd %xmm0,%xmm1,%xmm1", { 0xc5, 0xf3, 0x51, 0xc8 }, 4, OP_PLAIN, COST_SQRT, 0 },
	{ "vdivps %ymm0,%ymm1,%ymm1", { 0xc5, 0xf4, 0x5e, 0xc8 }, 4, OP_PLAIN, COST_FP_DIV, 0 },
	{ "half a call, at a page's end", { 0xe8, 0x00, 0x01 }, 3, OP_PLAIN, COST_NONE, 0 },
	{ "prefixes only, at a page's end", { 0xf3, 0x66 }, 2, OP_PLAIN, COST_NONE, 0 },
	{ "0f, at a page's end", { 0x0f }, 1, OP_PLAIN, COST_NONE, 0 },
};

#define A64(w) { (w)&0xff, (w) >> 8 & 0xff, (w) >> 16 & 0xff, (w) >> 24 & 0xff }, 4

static const struct sample arm64[] = {
	{ "nop", A64(0xd503201fu), OP_PLAIN, COST_NONE, 0 },
	{ "b.ne .-4", A64(0x54ffffe1u), OP_COND, COST_NONE, PC - 4 },
	{ "b.eq .+1 MiB - 4", A64(0x547fffe0u), OP_COND, COST_NONE, PC + 0xffffc },
	{ "cbz w0, .+8", A64(0x34000040u), OP_COND, COST_NONE, PC + 8 },
	{ "cbnz x0, .-8", A64(0xb5ffffc0u), OP_COND, COST_NONE, PC - 8 },
	{ "tbz w0, #0, .+8", A64(0x36000040u), OP_COND, COST_NONE, PC + 8 },
	{ "tbnz x0, #63, .-4", A64(0xb7ffffe0u), OP_COND, COST_NONE, PC - 4 },
	{ "b .-4", A64(0x17ffffffu), OP_JUMP, COST_NONE, PC - 4 },
	{ "bl .+8", A64(0x94000002u), OP_CALL, COST_NONE, PC + 8 },
	{ "br x16", A64(0xd61f0200u), OP_JUMP_INDIRECT, COST_NONE, 0 },
	{ "braa x16, x17", A64(0xd71f0a11u), OP_JUMP_INDIRECT, COST_NONE, 0 },
	{ "blr x1", A64(0xd63f0020u), OP_CALL_INDIRECT, COST_NONE, 0 },
	{ "blraaz x1", A64(0xd63f083fu), OP_CALL_INDIRECT, COST_NONE, 0 },
	{ "ret", A64(0xd65f03c0u), OP_RETURN, COST_NONE, 0 },
	{ "retaa", A64(0xd65f0bffu), OP_RETURN, COST_NONE, 0 },
	{ "svc #0", A64(0xd4000001u), OP_SYSCALL, COST_NONE, 0 },
	{ "brk #0", A64(0xd4200000u), OP_PLAIN, COST_NONE, 0 },
	{ "mrs x0, tpidr_el0", A64(0xd53bd040u), OP_PLAIN, COST_NONE, 0 },
	{ "mul x0, x1, x2", A64(0x9b027c20u), OP_PLAIN, COST_MUL, 0 },
	{ "umulh x0, x1, x2", A64(0x9bc27c20u), OP_PLAIN, COST_MUL, 0 },
	{ "udiv x0, x1, x2", A64(0x9ac20820u), OP_PLAIN, COST_DIV, 0 },
	{ "sdiv w0, w1, w2", A64(0x1ac20c20u), OP_PLAIN, COST_DIV, 0 },
	{ "fadd d0, d1, d2", A64(0x1e622820u), OP_PLAIN, COST_FP, 0 },
	{ "fmadd d0, d1, d2, d3", A64(0x1f420c20u), OP_PLAIN, COST_FP, 0 },
	{ "fmla v0.2d, v1.2d, v2.2d", A64(0x4e62cc20u), OP_PLAIN, COST_FP, 0 },
	{ "fdiv d0, d1, d2", A64(0x1e621820u), OP_PLAIN, COST_FP_DIV, 0 },
	{ "fsqrt d0, d1", A64(0x1e61c020u), OP_PLAIN, COST_SQRT, 0 },
	{ "isb", A64(0xd5033fdfu), OP_PLAIN, COST_SERIALISE, 0 },
	{ "dmb ish", A64(0xd5033bbfu), OP_PLAIN, COST_SERIALISE, 0 },
	{ "yield", A64(0xd503203fu), OP_PLAIN, COST_PAUSE, 0 },
	{ "ldaxr w0, [x1]", A64(0x885ffc20u), OP_PLAIN, COST_ATOMIC, 0 },
	{ "stxr w2, w0, [x1]", A64(0x88027c20u), OP_PLAIN, COST_ATOMIC, 0 },
	{ "ldadd x0, x1, [x2]", A64(0xf8200041u), OP_PLAIN, COST_ATOMIC, 0 },
	{ "ldr x0, [x1]", A64(0xf9400020u), OP_PLAIN, COST_NONE, 0 },
	{ "ldr x0, [x1, x2]", A64(0xf8626820u), OP_PLAIN, COST_NONE, 0 },
	{ "ldar x0, [x1]", A64(0xc8dffc20u), OP_PLAIN, COST_NONE, 0 },
	{ "stlr w0, [x1]", A64(0x889ffc20u), OP_PLAIN, COST_NONE, 0 },
	{ "ldarb w0, [x1]", A64(0x08dffc20u), OP_PLAIN, COST_NONE, 0 },
	{ "ldlar x0, [x1]", A64(0xc8df7c20u), OP_PLAIN, COST_NONE, 0 },
	{ "stllr x0, [x1]", A64(0xc89f7c20u), OP_PLAIN, COST_NONE, 0 },
	{ "ldapr x0, [x1]", A64(0xf8bfc020u), OP_PLAIN, COST_NONE, 0 },
	{ "ldaprb w0, [x1]", A64(0x38bfc020u), OP_PLAIN, COST_NONE, 0 },
	{ "cas x0, x1, [x2]", A64(0xc8a07c41u), OP_PLAIN, COST_ATOMIC, 0 },
	{ "casp x0, x1, x2, x3, [x4]", A64(0x48207c82u), OP_PLAIN, COST_ATOMIC, 0 },
	{ "ldxp x0, x1, [x2]", A64(0xc87f0440u), OP_PLAIN, COST_ATOMIC, 0 },
	{ "stlxr w2, x0, [x1]", A64(0xc802fc20u), OP_PLAIN, COST_ATOMIC, 0 },
	{ "swp x0, x1, [x2]", A64(0xf8208041u), OP_PLAIN, COST_ATOMIC, 0 },
	{ "staddl x0, [x1]", A64(0xf860003fu), OP_PLAIN, COST_ATOMIC, 0 },
	{ "mul v0.4s, v1.4s, v2.4s", A64(0x4ea29c20u), OP_PLAIN, COST_NONE, 0 },
	{ "smull v0.2d, v1.2s, v2.2s", A64(0x0ea2c020u), OP_PLAIN, COST_NONE, 0 },
	{ "pmull v0.1q, v1.1d, v2.1d", A64(0x0ee2e020u), OP_PLAIN, COST_NONE, 0 },
	{ "madd x0, x1, x2, x3", A64(0x9b020c20u), OP_PLAIN, COST_MUL, 0 },
	{ "mneg x0, x1, x2", A64(0x9b02fc20u), OP_PLAIN, COST_MUL, 0 },
	{ "smull x0, w1, w2", A64(0x9b227c20u), OP_PLAIN, COST_MUL, 0 },
	{ "umaddl x0, w1, w2, x3", A64(0x9ba20c20u), OP_PLAIN, COST_MUL, 0 },
	{ "smulh x0, x1, x2", A64(0x9b427c20u), OP_PLAIN, COST_MUL, 0 },
	{ "crc32x w0, w1, x2", A64(0x9ac24c20u), OP_PLAIN, COST_MUL, 0 },
	{ "crc32cb w0, w1, w2", A64(0x1ac25020u), OP_PLAIN, COST_MUL, 0 },
	{ "fcmp d0, d1", A64(0x1e612000u), OP_PLAIN, COST_FP, 0 },
	{ "fcmp d0, #0.0", A64(0x1e602008u), OP_PLAIN, COST_FP, 0 },
	{ "fccmp d0, d1, #0, eq", A64(0x1e610400u), OP_PLAIN, COST_FP, 0 },
	{ "fcmeq v0.2d, v1.2d, v2.2d", A64(0x4e62e420u), OP_PLAIN, COST_FP, 0 },
	{ "facgt v0.2d, v1.2d, v2.2d", A64(0x6ee2ec20u), OP_PLAIN, COST_FP, 0 },
	{ "fmax d0, d1, d2", A64(0x1e624820u), OP_PLAIN, COST_FP, 0 },
	{ "fminnmv s0, v1.4s", A64(0x6eb0c820u), OP_PLAIN, COST_FP, 0 },
	{ "frintz d0, d1", A64(0x1e65c020u), OP_PLAIN, COST_FP, 0 },
	{ "fcvtas x0, d0", A64(0x9e640000u), OP_PLAIN, COST_FP, 0 },
	{ "fcvtzs x0, d0", A64(0x9e780000u), OP_PLAIN, COST_FP, 0 },
	{ "fcvtl v0.2d, v1.2s", A64(0x0e617820u), OP_PLAIN, COST_FP, 0 },
	{ "fcvtn v0.2s, v1.2d", A64(0x0e616820u), OP_PLAIN, COST_FP, 0 },
	{ "fcvtxn v0.2s, v1.2d", A64(0x2e616820u), OP_PLAIN, COST_FP, 0 },
	{ "fcvtl2 v0.2d, v1.4s", A64(0x4e617820u), OP_PLAIN, COST_FP, 0 },
	{ "scvtf d0, x0", A64(0x9e620000u), OP_PLAIN, COST_FP, 0 },
	{ "ucvtf v0.2d, v1.2d", A64(0x6e61d820u), OP_PLAIN, COST_FP, 0 },
	{ "fabd d0, d1, d2", A64(0x7ee2d420u), OP_PLAIN, COST_FP, 0 },
	{ "frsqrte d0, d1", A64(0x7ee1d820u), OP_PLAIN, COST_FP, 0 },
	{ "frecps d0, d1, d2", A64(0x5e62fc20u), OP_PLAIN, COST_FP, 0 },
	{ "fmulx d0, d1, d2", A64(0x5e62dc20u), OP_PLAIN, COST_FP, 0 },
	{ "fmla v0.2d, v1.2d, v2.d[0]", A64(0x4fc21020u), OP_PLAIN, COST_FP, 0 },
	{ "fmul v0.2d, v1.2d, v2.d[0]", A64(0x4fc29020u), OP_PLAIN, COST_FP, 0 },
	{ "fmov d0, d1", A64(0x1e604020u), OP_PLAIN, COST_NONE, 0 },
	{ "fabs d0, d1", A64(0x1e60c020u), OP_PLAIN, COST_NONE, 0 },
	{ "fneg d0, d1", A64(0x1e614020u), OP_PLAIN, COST_NONE, 0 },
	{ "fcsel d0, d1, d2, eq", A64(0x1e620c20u), OP_PLAIN, COST_NONE, 0 },
	{ "add v0.4s, v1.4s, v2.4s", A64(0x4ea28420u), OP_PLAIN, COST_NONE, 0 },
	{ "dmb ishst", A64(0xd5033abfu), OP_PLAIN, COST_SERIALISE, 0 },
	{ "fnmul d0, d1, d2", A64(0x1e628820u), OP_PLAIN, COST_FP, 0 },
	{ "ldp x0, x1, [sp], #16", A64(0xa8c107e0u), OP_PLAIN, COST_NONE, 0 },
};

static void check(bool is_arm64, const struct sample *s, size_t n)
{
	struct decoder *d = decoder_new(is_arm64);
	struct decoded got;

	assert_non_null(d);
	for (size_t i = 0; i < n; i++) {
		decode(d, s[i].bytes, s[i].size, PC, &got);
		if (got.kind != s[i].kind || got.cost != s[i].cost || got.target != s[i].target)
			fail_msg("%s: kind %u, cost %u, target %lx", s[i].text, got.kind, got.cost, got.target);
	}
	decoder_free(d);
}

static void test_x86(void **state)
{
	(void)state;
	check(false, x86, ARRAY_LEN(x86));
}

/* Bytes that an iteration copies or stores. */
static void test_x86_moves(void **state)
{
	static const struct {
		u8 bytes[5];
		u32 size, moves;
	} of[] = {
		{ { 0xf3, 0xa4 }, 2, 1 },	      /* rep movsb */
		{ { 0xf3, 0x66, 0xa5 }, 3, 2 },	      /* rep movsw */
		{ { 0xf3, 0xa5 }, 2, 4 },	      /* rep movsl */
		{ { 0xf3, 0x48, 0xa5 }, 3, 8 },	      /* rep movsq */
		{ { 0x66, 0xf3, 0x48, 0xab }, 4, 8 }, /* rep stosq */
		{ { 0xf3, 0x41, 0xaa }, 3, 1 },	      /* rep stosb, REX.B */
		{ { 0xf3, 0xa6 }, 2, 0 },	      /* repe cmpsb */
		{ { 0xf2, 0x48, 0xaf }, 3, 0 },	      /* repne scasq */
		{ { 0xf3, 0xac }, 2, 0 },	      /* rep lodsb */
	};
	struct decoder *d = decoder_new(false);
	struct decoded got;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		decode(d, of[i].bytes, of[i].size, PC, &got);
		assert_int_equal(got.kind, OP_REP);
		assert_int_equal(got.moves, of[i].moves);
	}
	decoder_free(d);
}

static void test_arm64(void **state)
{
	(void)state;
	check(true, arm64, ARRAY_LEN(arm64));
}

/* QEMU hands over what it has; nothing behind it may be read. */
static void test_no_byte_behind(void **state)
{
	struct decoder *d = decoder_new(false);
	u32 derived = DERIVED_NONE;
	struct decoded got;

	(void)state;
	for (u32 first = 0; first < 256; first++)
		for (u32 size = 1; size <= 15; size++) {
			u8 *code = test_malloc(size);

			memset(code, 0xf2, size);
			code[size - 1] = (u8)first;
			code[0] = (u8)first;
			decode(d, code, size, PC, &got);
			decode_leap(d, code, size, &derived);
			code[0] = 0x48;
			decode_leap(d, code, size, &derived);
			test_free(code);
		}
	decoder_free(d);
}

/* Does the instruction go on that stands `left` bytes before a page's end, of which QEMU shows `shown`? */
static bool goes_on(struct code *c, u8 *page, const struct sample *s, u64 left, u32 shown)
{
	u8 *host = page + 4096 - left;

	memcpy(host, s->bytes, MIN(s->size, left));
	return code_goes_on(c, &(struct code_insn){ PC + 4096 - left, host, shown }, host);
}

static void test_goes_on(void **state)
{
	struct code *c = code_new(false, &core_models[VPMU_GENERIC_X86], VPMU_MODEL_ALL, false);
	u8 *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(page != MAP_FAILED);
	/* The last ones of the table are halves themselves. */
	for (size_t i = 0; i < ARRAY_LEN(x86) - 3; i++)
		for (u32 left = 1; left < 20; left++) {
			const struct sample *s = &x86[i];

			memset(page, 0x90, 8192);
			if (left < s->size)
				memcpy(page + 4096, s->bytes + left, s->size - left);
			for (u32 shown = 1; shown <= MIN(s->size, left); shown++) {
				bool whole = shown == s->size, across = left < s->size;

				if (!whole && !across)
					continue;
				if (goes_on(c, page, s, left, shown) != across)
					fail_msg("%s: %u bytes, %u of them shown, %u on the page", s->text, s->size,
						 shown, left);
			}
		}
	/* Its rest is not there. */
	munmap(page + 4096, 4096);
	assert_false(goes_on(c, page, &(struct sample){ .bytes = { 0xe8, 1 }, .size = 5 }, 2, 2));
	munmap(page, 4096);
	code_free(c);
}

/* Blocks, and whether one of their instructions leaps: the last one. */
struct leap {
	const char *text;
	u8 bytes[32], sizes[8];
	bool leaps;
};

static const struct leap x86_leaps[] = {
	{ "mov (%rsi),%rsp", { 0x48, 0x8b, 0x26 }, { 3 }, true },
	{ "mov 0xa0(%rdx),%rsp", { 0x48, 0x8b, 0xa2, 0xa0, 0, 0, 0 }, { 7 }, true },
	{ "mov 8(%rsp),%rsp", { 0x48, 0x8b, 0x64, 0x24, 0x08 }, { 5 }, true },
	{ "mov %rsi,%rsp", { 0x48, 0x89, 0xf4 }, { 3 }, true },
	{ "mov %r8,%rsp", { 0x4c, 0x89, 0xc4 }, { 3 }, true },
	{ "mov %r8,%rsp, the other way round", { 0x49, 0x8b, 0xe0 }, { 3 }, true },
	{ "lea -8(%r10),%rsp", { 0x49, 0x8d, 0x62, 0xf8 }, { 4 }, true },
	{ "lea 0(%rip),%rsp", { 0x48, 0x8d, 0x25, 0, 0, 0, 0 }, { 7 }, true },
	{ "xchg %rsp,(%rdi)", { 0x48, 0x87, 0x27 }, { 3 }, true },
	{ "xchg %rsp,%rsi", { 0x48, 0x87, 0xe6 }, { 3 }, true },
	{ "xchg %rax,%rsp, short", { 0x48, 0x94 }, { 2 }, true },
	{ "mov %rsp,%rax; xchg %rax,%rcx, short; mov %rax,%rsp",
	  { 0x48, 0x89, 0xe0, 0x48, 0x91, 0x48, 0x89, 0xc4 },
	  { 3, 2, 3 },
	  true },
	{ "mov %rsp,%rax; xchg %rax,%r8, short; xchg %rax,%rsp, short",
	  { 0x48, 0x89, 0xe0, 0x49, 0x90, 0x48, 0x94 },
	  { 3, 2, 2 },
	  true },
	{ "pop %rsp", { 0x5c }, { 1 }, true },
	{ "mov %rsp,%rax; mov %rdi,%rsp", { 0x48, 0x89, 0xe0, 0x48, 0x89, 0xfc }, { 3, 3 }, true },
	{ "mov %rsp,%rax; mov (%rax),%rax; mov %rax,%rsp",
	  { 0x48, 0x89, 0xe0, 0x48, 0x8b, 0x00, 0x48, 0x89, 0xc4 },
	  { 3, 3, 3 },
	  true },
	{ "mov 8(%rdi),%rbp; mov %rbp,%rsp", { 0x48, 0x8b, 0x6f, 0x08, 0x48, 0x89, 0xec }, { 4, 3 }, true },
	{ "mov %rsp,%rcx; pop %rcx; mov %rcx,%rsp", { 0x48, 0x89, 0xe1, 0x59, 0x48, 0x89, 0xcc }, { 3, 1, 3 }, true },
	{ "mov %rsp,(%rdi)", { 0x48, 0x89, 0x27 }, { 3 }, false },
	{ "mov %r12,%r12", { 0x4d, 0x89, 0xe4 }, { 3 }, false },
	{ "mov (%rsi),%r12", { 0x4c, 0x8b, 0x26 }, { 3 }, false },
	{ "pop %r12", { 0x41, 0x5c }, { 2 }, false },
	{ "mov %rbp,%rsp", { 0x48, 0x89, 0xec }, { 3 }, false },
	{ "lea -0x28(%rbp),%rsp", { 0x48, 0x8d, 0x65, 0xd8 }, { 4 }, false },
	{ "lea -0x100(%rsp),%rsp", { 0x48, 0x8d, 0xa4, 0x24, 0, 0xff, 0xff, 0xff }, { 8 }, false },
	{ "sub %rax,%rsp", { 0x48, 0x29, 0xc4 }, { 3 }, false },
	{ "and $-32,%rsp", { 0x48, 0x83, 0xe4, 0xe0 }, { 4 }, false },
	{ "leave", { 0xc9 }, { 1 }, false },
	/* alloca */
	{ "mov %rsp,%rax; sub %rcx,%rax; mov %rax,%rsp",
	  { 0x48, 0x89, 0xe0, 0x48, 0x29, 0xc8, 0x48, 0x89, 0xc4 },
	  { 3, 3, 3 },
	  false },
	{ "neg %rax; add %rsp,%rax; and $-16,%rax; mov %rax,%rsp",
	  { 0x48, 0xf7, 0xd8, 0x48, 0x01, 0xe0, 0x48, 0x83, 0xe0, 0xf0, 0x48, 0x89, 0xc4 },
	  { 3, 3, 4, 3 },
	  false },
	{ "lea (%rsp,%rax),%rcx; xchg %rcx,%rdx; mov %rdx,%rsp",
	  { 0x48, 0x8d, 0x0c, 0x04, 0x48, 0x87, 0xca, 0x48, 0x89, 0xd4 },
	  { 4, 3, 3 },
	  false },
	{ "mov %rsp,%rax; xchg %rax,%rsp, short", { 0x48, 0x89, 0xe0, 0x48, 0x94 }, { 3, 2 }, false },
	{ "mov %rsp,%rax; xchg %rax,%rcx, short; mov %rcx,%rsp",
	  { 0x48, 0x89, 0xe0, 0x48, 0x91, 0x48, 0x89, 0xcc },
	  { 3, 2, 3 },
	  false },
	{ "mov %rsp,%rax; xchg %rax,%r8, short; mov %r8,%rsp",
	  { 0x48, 0x89, 0xe0, 0x49, 0x90, 0x4c, 0x89, 0xc4 },
	  { 3, 2, 3 },
	  false },
	{ "mov %rsp,%rax; nop; rex.w nop; mov %rax,%rsp",
	  { 0x48, 0x89, 0xe0, 0x90, 0x48, 0x90, 0x48, 0x89, 0xc4 },
	  { 3, 1, 2, 3 },
	  false },
	{ "xchg %rax,%r12, short", { 0x49, 0x94 }, { 2 }, false },
	{ "half a mov, at a page's end", { 0x48, 0x8b }, { 2 }, false },
	{ "a prefix, at a page's end", { 0x48 }, { 1 }, false },
};

#define BYTES(w) (w) & 0xff, (w) >> 8 & 0xff, (w) >> 16 & 0xff, (w) >> 24 & 0xff

static const struct leap arm64_leaps[] = {
	{ "mov sp, x2", { BYTES(0x9100005fu) }, { 4 }, true },
	{ "sub sp, x9, #16", { BYTES(0xd100413fu) }, { 4 }, true },
	{ "sub sp, x9, x8", { BYTES(0xcb28613fu) }, { 4 }, true },
	{ "and sp, x9, #~15", { BYTES(0x927ced3fu) }, { 4 }, true },
	{ "mov x9, sp; ldr x9, [x1]; mov sp, x9",
	  { BYTES(0x910003e9u), BYTES(0xf9400029u), BYTES(0x9100013fu) },
	  { 4, 4, 4 },
	  true },
	{ "ldp x9, x29, [x1]; mov sp, x29", { BYTES(0xa9407429u), BYTES(0x910003bfu) }, { 4, 4 }, true },
	{ "mov x9, sp; mov sp, x0", { BYTES(0x910003e9u), BYTES(0x9100001fu) }, { 4, 4 }, true },
	{ "mov x9, sp; mov x9, #1; mov sp, x9",
	  { BYTES(0x910003e9u), BYTES(0xd2800029u), BYTES(0x9100013fu) },
	  { 4, 4, 4 },
	  true },
	{ "mov x9, xzr; mov sp, x9", { BYTES(0xaa1f03e9u), BYTES(0x9100013fu) }, { 4, 4 }, true },
	{ "mov sp, x29", { BYTES(0x910003bfu) }, { 4 }, false },
	{ "sub sp, sp, #64", { BYTES(0xd10103ffu) }, { 4 }, false },
	{ "sub sp, sp, x0", { BYTES(0xcb2063ffu) }, { 4 }, false },
	{ "cmp x0, #1", { BYTES(0xf100041fu) }, { 4 }, false },
	{ "cmp x0, x1", { BYTES(0xeb01001fu) }, { 4 }, false },
	{ "tst x0, #1", { BYTES(0xf240001fu) }, { 4 }, false },
	{ "ldr xzr, [x0]", { BYTES(0xf940001fu) }, { 4 }, false },
	{ "b .+4", { BYTES(0x14000001u) }, { 4 }, false },
	/* alloca; a frame with more alignment */
	{ "mov x9, sp; sub x8, x9, x8; mov sp, x8",
	  { BYTES(0x910003e9u), BYTES(0xcb080128u), BYTES(0x9100011fu) },
	  { 4, 4, 4 },
	  false },
	{ "sub x9, sp, #80; and sp, x9, #~31", { BYTES(0xd10143e9u), BYTES(0x927be93fu) }, { 4, 4 }, false },
	{ "mov x9, sp; str x9, [x0]; mov sp, x9",
	  { BYTES(0x910003e9u), BYTES(0xf9000009u), BYTES(0x9100013fu) },
	  { 4, 4, 4 },
	  false },
};

static void check_leaps(bool is_arm64, const struct leap *l, size_t n)
{
	struct decoder *d = decoder_new(is_arm64);

	for (size_t i = 0; i < n; i++) {
		const u8 *at = l[i].bytes;
		u32 derived = DERIVED_NONE;
		bool leaps = false;

		for (u32 k = 0; l[i].sizes[k]; at += l[i].sizes[k++]) {
			assert_false(leaps);
			leaps = decode_leap(d, at, l[i].sizes[k], &derived);
		}
		if (leaps != l[i].leaps)
			fail_msg("%s", l[i].text);
	}
	decoder_free(d);
}

static void test_leaps(void **state)
{
	(void)state;
	check_leaps(false, x86_leaps, ARRAY_LEN(x86_leaps));
	check_leaps(true, arm64_leaps, ARRAY_LEN(arm64_leaps));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86),   cmocka_unit_test(test_x86_moves),
		cmocka_unit_test(test_arm64), cmocka_unit_test(test_no_byte_behind),
		cmocka_unit_test(test_leaps), cmocka_unit_test(test_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
