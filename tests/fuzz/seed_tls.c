/* SPDX-License-Identifier: Apache-2.0 */
/* What the library is made of that is the seed of the tls_symbol target's corpus. */
__thread void *seed_variable;

void *seed(void);
void *seed(void)
{
	return seed_variable;
}
