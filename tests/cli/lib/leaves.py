# SPDX-License-Identifier: Apache-2.0
"""Short functions for programs of tests, in C: one divides, one has branches that nobody can foresee, one neither."""
LEAVES = r"""
#include <stdint.h>
#define APART __attribute__((noinline, noclone, aligned(64)))
static volatile uint64_t sink;
static uint64_t state = 88172645463325252u;
static inline uint64_t next(void) { state ^= state << 13; state ^= state >> 7; return state ^= state << 17; }
APART uint64_t divide(uint64_t a, uint64_t b) { __asm__ volatile("" : "+r"(a)); return a / (b | 1); }
APART uint64_t quiet(uint64_t a) { __asm__ volatile("" : "+r"(a)); return (a ^ 5) + (a << 2) - (a >> 3); }
APART uint64_t guess(uint64_t a)
{ __asm__ volatile("" : "+r"(a)); if (a & 1) sink = a; if (a & 2) sink = 77; return a + 9; }
"""
