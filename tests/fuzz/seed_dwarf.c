/* SPDX-License-Identifier: Apache-2.0 */
/* What the seeds of the fuzz target dwarf are made of: calls that are inlined, so that ranges have holes, and loads of
 * members of structures. */
struct pair {
	int a;
	long b;
};
static struct list {
	struct list *next;
	struct pair pairs[4];
	union {
		long number;
		struct list *peer;
	} u;
	int low : 3, high : 5;
} nodes[3], *head = nodes;
static volatile int sum;

static inline __attribute__((always_inline)) int innermost(int n)
{
	return n * 3 + sum;
}

static inline __attribute__((always_inline)) int inner(int n)
{
	for (int i = 0; i < n; i++)
		sum += innermost(i);
	return innermost(n);
}

int outer(int n);

int outer(int n)
{
	return n > 5 ? inner(n) + inner(n - 1) : innermost(n);
}

long follow(struct list *l, int n);

long follow(struct list *l, int n)
{
	struct pair here[2] = { { n, 1 }, { 2, 3 } };
	long sum = 0;

	for (; l; l = l->next) {
		sum += l->pairs[n & 3].b + l->u.number + l->low;
		for (int i = 0; i < 4; i++)
			l->pairs[i].a += here[n & 1].a;
	}
	head->next->pairs[1].a++;
	return sum;
}
