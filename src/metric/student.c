/* SPDX-License-Identifier: Apache-2.0 */
#include "metric/student.h"

/* For few degrees of freedom the expansion below is not good enough. Abramowitz & Stegun, table 26.10. */
static const double few[] = { 0, 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281 };

/* Cornish-Fisher expansion about the normal quantile (Abramowitz & Stegun 26.7.5). */
double student_95(double freedom)
{
	const double z = 1.959963984540054, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
	const double n = freedom < 1 ? 1 : freedom;

	if (n < 11)
		return few[(int)n];
	return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}
