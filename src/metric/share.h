/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 95 % interval of a share that is known by samples, few or many.
 *
 * An interval that is never too narrow (Clopper and Pearson's of a share, Garwood's of a Poisson mean) is too wide
 * where samples are few, as their number is whole: it holds the truth in 98 to 99.6 % of the cases where a handful is
 * to be expected. This is Jeffreys' interval, by an approximation of the beta distribution's quantiles: it holds the
 * truth in 95 % on average over true shares, and in 90 % at the least favourable ones. Only where none of the samples
 * are of that kind, or all are, the end is mid-P's, which counts the chance of the number that was seen by half. For
 * the others mid-P's upper ends are higher by up to 0.3 of a sample.
 */
#ifndef METRIC_SHARE_H
#define METRIC_SHARE_H

/* The upper end of the interval of the share of which h of n samples are, 0 to 1. n > 0, h from 0 to n; either may be
 * a fraction, where samples differ in weight. The lower end is what the others' upper end leaves of 1. */
double share_high(double h, double n);
double share_low(double h, double n);

#endif
