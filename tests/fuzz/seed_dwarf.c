/* SPDX-License-Identifier: Apache-2.0 */
/* What the seeds of the fuzz target dwarf are made of: calls that are inlined, so that ranges have holes. */
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
