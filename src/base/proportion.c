/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proportion.h"

#include <math.h>

#define Z95 1.959963984540054

struct proportion proportion_of(u64 part, u64 whole, u64 independent)
{
	double n = (double)MIN(whole, independent), p, middle, half, scale;

	if (!whole || !independent)
		return (struct proportion){ (double)NAN, (double)NAN, (double)NAN, (double)NAN };
	p = (double)part / (double)whole;
	scale = 1 + Z95 * Z95 / n;
	middle = (p + Z95 * Z95 / (2 * n)) / scale;
	half = Z95 * sqrt(p * (1 - p) / n + Z95 * Z95 / (4 * n * n)) / scale;
	return (struct proportion){ p, MAX(middle - half, 0.0), MIN(middle + half, 1.0), half };
}
