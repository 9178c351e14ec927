/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of tables: at most seven characters for a number, so that one row about which little is known does not widen a
 * column. */
#include <math.h>

#include "metric/metrics.h"

#define UNITS "KMGTPE"

/* "0.26", "2821", "990K", "1.2M", ">999E". */
static void put_short(double v, int decimals, struct bytes *out)
{
	const char *unit = UNITS;
	double size = fabs(v);

	if (size < 1000 || size < 99999.5) {
		bytes_printf(out, "%.*f", size < 999.5 ? decimals : 0, v);
		return;
	}
	for (size /= 1000; size >= 999.5 && unit[1]; unit++)
		size /= 1000;
	if (size >= 999.5) {
		bytes_printf(out, "%s999%c", v < 0 ? "<-" : ">", *unit);
		return;
	}
	bytes_printf(out, "%s%.*f%c", v < 0 ? "-" : "", size < 9.95, size, *unit);
}

/* An interval wider than the value is noise (NAN: it has no end), and 0 of few windows says as little; CSV and JSON
 * have both for those who add them up. */
static bool says_nothing(const struct metric_table *t, const struct metric_value *v)
{
	return t->windows->attribution == ATTRIBUTION_ESTIMATE && v->doubtful &&
	       (!(v->half <= fabs(v->value)) || !(fabs(v->value) > 0));
}

void metric_shown_value(const struct metric_table *t, u32 metric, const double *block, struct metric_value *out)
{
	metric_value(t, metric, block, out);
	if (says_nothing(t, out))
		out->value = NAN;
}

void metric_put(const struct metric_value *v, int decimals, bool bare, struct bytes *out)
{
	if (isnan(v->value)) {
		bytes_char(out, '-');
		return;
	}
	if (v->doubtful)
		bytes_char(out, '~');
	put_short(v->value, decimals, out);
	if (isnan(v->half) || bare)
		return;
	bytes_str(out, "±");
	put_short(v->half, decimals, out);
}
