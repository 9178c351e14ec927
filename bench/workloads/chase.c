/* SPDX-License-Identifier: Apache-2.0 */
/* Follows chains of pointers through 16 KiB, 256 KiB and 64 MiB, so that L1, L2 and memory answer, one step after the
 * other. doc/function-metrics.md shows its table. */
#include <stdlib.h>

#if __has_attribute(noipa)
#define APART __attribute__((noipa))
#else
#define APART __attribute__((noinline))
#endif

struct line {
	struct line *next;
	char rest[56];
};

/* n, a power of two, lines in an order that no prefetcher knows. */
APART static struct line *ring(size_t n)
{
	struct line *p = aligned_alloc(sizeof(*p), n * sizeof(*p));
	size_t at = 0;

	for (size_t i = 0; p && i < n; i++) {
		size_t next = (at * 1103515245 + 12345) & (n - 1);

		p[at].next = &p[next];
		at = next;
	}
	return p;
}

APART static struct line *chase_l1(struct line *p, long n)
{
	while (n--)
		p = p->next;
	return p;
}
APART static struct line *chase_l2(struct line *p, long n)
{
	while (n--)
		p = p->next;
	return p;
}
APART static struct line *chase_memory(struct line *p, long n)
{
	while (n--)
		p = p->next;
	return p;
}

int main(void)
{
	struct line *l1 = ring(1 << 8), *l2 = ring(1 << 12), *memory = ring(1 << 20);

	if (!l1 || !l2 || !memory)
		return 1;
	for (int i = 0; i < 1000; i++) {
		l1 = chase_l1(l1, 40000);
		l2 = chase_l2(l2, 10000);
		memory = chase_memory(memory, 1000);
	}
	return l1 == l2 || l2 == memory;
}
