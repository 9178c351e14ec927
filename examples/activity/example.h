/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the examples share: functions that do nothing but take time, ids, and the truth.
 *
 * Each example says at its end which function worked in which span, one line for each:
 *
 *     FUNCTION SPAN ATTRIBUTE     SPAN as reticle writes it, TRACE/SPAN; "-" where a function works for no one
 *
 * so that what a profiler says can be held against it.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <reticle/activity.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXAMPLE_STEPS 8000000 /* of one call of a function: some 10 ms */

/* Whether and how it is called changes nothing in a function: no copies are made of it for some of its callers. */
#if defined(__has_attribute)
#if __has_attribute(noipa)
#define EXAMPLE_APART __attribute__((noipa))
#elif __has_attribute(noclone)
#define EXAMPLE_APART __attribute__((noinline, noclone))
#endif
#endif
#ifndef EXAMPLE_APART
#define EXAMPLE_APART __attribute__((noinline))
#endif

/* A function that takes time, whether its value is used or not. No two have the same code, so compilers do not make
 * one of them. */
#define WORK(name)                                                                                                    \
	static EXAMPLE_APART uint64_t name(uint64_t x)                                                                \
	{                                                                                                             \
		for (unsigned i = 0; i < EXAMPLE_STEPS; i++)                                                          \
			x = (x ^ x >> 29) * 0x9e3779b97f4a7c15u + __LINE__;                                           \
		__asm__ volatile("" : "+r"(x));                                                                       \
		return x;                                                                                             \
	}

typedef uint64_t work_fn(uint64_t x);

/* A real program has them from the request that it serves, or makes them at random. */
static inline struct activity_ids example_ids(unsigned trace, unsigned span)
{
	struct activity_ids ids;

	memset(&ids, 0, sizeof(ids));
	ids.trace[0] = 0xac;
	ids.trace[15] = (uint8_t)trace;
	ids.span[0] = 0x5a;
	ids.span[6] = (uint8_t)trace;
	ids.span[7] = (uint8_t)span;
	ids.flags = 1;
	return ids;
}

static inline void example_attribute(const char *value)
{
	activity_attribute(0, value, strlen(value));
}

static inline void example_publish(const char *service, const char *key)
{
	const char *const keys[] = { key };
	struct activity_process process;

	process.service = service;
	process.keys = keys;
	process.nr_keys = 1;
	if (activity_publish(&process))
		fprintf(stderr, "%s: no process context, so profilers will not look for activities\n", service);
}

/* As reticle writes it. NULL: none. */
static inline void example_span(const struct activity_ids *ids)
{
	for (unsigned i = 0; ids && i < sizeof(ids->trace); i++)
		printf("%02x", ids->trace[i]);
	for (unsigned i = 0; ids && i < sizeof(ids->span); i++)
		printf("%s%02x", i ? "" : "/", ids->span[i]);
	printf("%s", ids ? "" : "-");
}

/* ids: NULL where the function works for no one. */
static inline void example_truth(const char *function, const struct activity_ids *ids, const char *attribute)
{
	printf("%s ", function);
	example_span(ids);
	printf(" %s\n", attribute);
}

#endif
