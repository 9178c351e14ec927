/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "metric/share.h"

#define Z95 1.96
#define BOTH_TAILS 0.05 /* mid-P's end where there is none: half of its chance is one of the tails */

/* Paulson's approximation of a quantile of the beta distribution of h + 1/2 and n - h + 1/2: the cube root of its odds
 * is nearly normal. For many samples it is Wilson and Hilferty's of a Poisson mean. */
double share_high(double h, double n)
{
	double in = h + 0.5, out = fmax(0, n - h) + 0.5, a = 1 / (9 * in), b = 1 / (9 * out);
	double below = (1 - b) * (1 - b) - Z95 * Z95 * b, root, odds;

	if (!(below > 0))
		return 1;
	root = (1 - a) * (1 - a) * b + (1 - b) * (1 - b) * a - Z95 * Z95 * a * b;
	root = ((1 - a) * (1 - b) + Z95 * sqrt(fmax(0, root))) / below;
	odds = in / out * root * root * root;
	return fmax(-expm1(log(BOTH_TAILS) / n), odds / (1 + odds));
}

double share_low(double h, double n)
{
	return 1 - share_high(n - h, n);
}
