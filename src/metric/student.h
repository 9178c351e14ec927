/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRIC_STUDENT_H
#define METRIC_STUDENT_H

/* Half the width of a two-sided 95 % interval in standard errors: Student's t at that many degrees of freedom (1 and
 * up). */
double student_95(double freedom);

#endif
