/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/header.h"

#include <string.h>
#include <time.h>

/* When the file was last changed: for a recording, when it was made. */
static void print_captured(const struct source *s, struct bytes *out)
{
	char date[64];
	time_t at = (time_t)(s->changed_ns / 1000000000);
	struct tm tm;

	if (!at || !localtime_r(&at, &tm))
		return;
	strftime(date, sizeof(date), "%a %b %e %H:%M:%S %Y", &tm);
	bytes_printf(out, "# captured on    : %s\n", date);
}

void print_header(const struct source *s, bool all, struct bytes *out)
{
	const struct perfdata_header *h = &s->header;

	bytes_str(out, "# ========\n");
	print_captured(s, out);
	bytes_str(out, "# header version : 1\n");
	bytes_printf(out, "# data offset    : %llu\n", (unsigned long long)h->data.offset);
	bytes_printf(out, "# data size      : %llu\n", (unsigned long long)h->data.size);
	bytes_printf(out, "# feat offset    : %llu\n", (unsigned long long)(h->data.offset + h->data.size));
	if (all)
		features_print_all(&s->features, out);
	else
		features_print(&s->features, out);
	if (!h->pipe)
		features_print_missing(h->features, out);
	bytes_str(out, "# ========\n#\n");
}
