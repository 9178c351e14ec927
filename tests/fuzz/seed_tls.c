/* SPDX-License-Identifier: Apache-2.0 */
/* What the library is made of that is the seed of the tls_symbol target's corpus. */
__thread void *seed_variable;
__thread long seed_words[4];

void *seed(void);
void *seed(void)
{
	return seed_words[0] ? seed_words : seed_variable;
}
