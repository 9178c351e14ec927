/* SPDX-License-Identifier: Apache-2.0 */
/* The text files that name code: 'k' and the text of kallsyms, or anything else and that of a perf map. */
#include "fuzz.h"
#include "state/kallsyms.h"
#include "state/perfmap.h"

static void check_table(struct symtab_build *b, u64 addr)
{
	struct symtab *t = symtab_finish(b);
	u32 found = symtab_find(t, addr);

	MUST(found == ID_NONE || found < symtab_count(t));
	for (u32 i = 0; i < symtab_count(t); i++)
		MUST(symtab_at(t, i)->start < symtab_at(t, i)->end && *symtab_shown_name(t, i) | 1);
	symtab_free(t);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const char *text = (const char *)data + 1;
	struct symtab_build b;

	if (!size)
		return 0;
	symtab_build_init(&b);
	if (*data == 'k') {
		struct bytes copy = { 0 };
		struct kallsyms k = { 0 };
		u64 addr;

		bytes_put(&copy, text, size - 1);
		kallsyms_parse(&k, &copy);
		kallsyms_address(&k, (struct str){ "_text", 5 }, &addr);
		kallsyms_take_kernel(&b, &k, 0);
		kallsyms_add_module(&b, &k, (struct str){ "mod", 3 }, 0);
		kallsyms_free(&k);
	} else {
		perfmap_parse(&b, text, size - 1);
	}
	check_table(&b, 0x401000);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
