/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth about unwound stacks: this program has frame pointers and unwind information. It samples itself with the
 * kernel's call chain, which follows the frame pointers, and with a copy of the stack, which pass/unwinding.h makes a
 * chain of. Both have to be the same in each sample.
 *
 * They differ at a function's edges. In its first and last instructions the frame pointer is still the caller's, and
 * the kernel leaves out one caller. And at the ret behind a leave, GCC's unwind information says that the caller's
 * frame pointer is still saved below the stack pointer, of which nothing was copied: the unwound stack is cut there,
 * and counted as such; there the kernel may leave out a caller as well. Nothing else may differ.
 */
#include "pass/unwinding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sanitized.h"
#include "codec/procmaps.h"
#include "codec/regs.h"
#include "open/retry.h"
#include "sys/ring.h"

#define RING_PAGES 4096
#define LEAST_SAMPLES 500
#define MOST_FRAMES 127
#define DEPTH 40
#define RUNTIME_FRAMES 8 /* of a sanitizer, in a row */

static volatile u32 sink;

/* Where this program's own code lies. */
extern const char __executable_start, etext; /* NOLINT: the linker's names */

struct counts {
	u32 samples, equal, edge, cut, other;
	u32 pointerless; /* within a sanitizer: none of the samples */
};

struct truth {
	struct evlist kernel, recorded;
	struct unwinding *unwinding;
	struct counts counts;
};

__attribute__((noinline)) static u32 leaf(u32 n)
{
	/* Of a size that is not known: so that the compiler cannot do without a frame pointer. */
	volatile u32 *room = __builtin_alloca((n & 15) * sizeof(*room) + 64);
	u32 s = n;

	room[0] = n;
	for (u32 i = 0; i < 1000000; i++)
		s += (i * n) ^ (s >> 3);
	return s + room[0];
}

__attribute__((noinline)) static u32 deep(u32 n) /* NOLINT(misc-no-recursion): that is what is tested */
{
	u32 r = n ? deep(n - 1) : leaf(sink);

	sink += r;
	return r + n;
}

static u32 add(struct evlist *l, struct attr a, u64 id)
{
	const struct notify none = { 0 };
	u32 at = evlist_add(l, &a, "cpu-clock", &none);

	evlist_add_id(l, at, id);
	assert_int_equal(evlist_seal(l, &none, "none"), 0);
	return at;
}

/* What is mapped in this process, as a recorder tells it. */
static void tell_mappings(struct truth *t)
{
	struct bytes record = { 0 }, out = { 0 };
	struct maps_line m;
	char line[4096];
	FILE *f = fopen("/proc/self/maps", "re");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct record r = { .h = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER } };

		if (!maps_line_parse(line, strcspn(line, "\n"), &m) || !m.path.len)
			continue;
		r.mmap = (struct rec_mmap){ .pid = (u32)getpid(),
					    .tid = (u32)getpid(),
					    .start = m.start,
					    .len = m.end - m.start,
					    .pgoff = m.pgoff,
					    .prot = m.prot,
					    .ino = m.ino,
					    .filename = m.path };
		record.len = 0;
		assert_int_equal(record_encode(&r, &t->kernel.events.v[0].trailer, &record), 0);
		unwinding_take(t->unwinding, record.p, (u16)record.len, &out);
	}
	assert_true(out.len > 0);
	fclose(f);
	bytes_free(&record);
	bytes_free(&out);
}

/* The frames of this program's own code, from the innermost one on, which is where frame pointers are. Return
 * addresses become those of the calls, as unwinding gives them: behind is 1 for the kernel's. */
static u32 own_frames(const struct u64s *chain, u64 behind, u64 v[MOST_FRAMES])
{
	u32 n = 0;

	for (u32 i = 1; i < chain->n && n < MOST_FRAMES; i++) {
		u64 pc = u64s_at(chain, i) - (i > 1 ? behind : 0);

		if (pc < (u64)(uintptr_t)&__executable_start || pc >= (u64)(uintptr_t)&etext)
			break;
		v[n++] = pc;
	}
	return n;
}

static void print_other(struct truth *t, const u64 *a, u32 na, const u64 *b, u32 nb)
{
	t->counts.other++;
	print_message("%u frames by pointers, %u unwound:", na, nb);
	for (u32 i = 0; i < na || i < nb; i++)
		print_message(" %llx/%llx", i < na ? (unsigned long long)a[i] : 0,
			      i < nb ? (unsigned long long)b[i] : 0);
	print_message("\n");
}

/* Do pointers leave out frames among the innermost ones, and no others? So it is within the runtime of a sanitizer,
 * which may be linked into this program. Most of its functions keep no pointers; where one uses that register
 * for something else, only the innermost frame is known, and pointers leave out all others. */
static bool without_pointers(const u64 *a, u32 na, const u64 *b, u32 nb)
{
	u32 found = 0;

	if (!na || na >= nb || a[0] != b[0])
		return false;
	if (na == 1)
		return true;
	for (; na > 1 && a[na - 1] == b[nb - 1]; na--)
		nb--;
	for (u32 i = 0; i < nb && found < na; i++)
		found += a[found] == b[i];
	return found == na && nb <= RUNTIME_FRAMES;
}

static void compare(struct truth *t, const struct sample *by_pointers, const struct sample *unwound)
{
	u64 a[MOST_FRAMES], b[MOST_FRAMES];
	u32 na = own_frames(&by_pointers->chain, 1, a), nb = own_frames(&unwound->chain, 0, b);

	assert_int_equal(u64s_at(&unwound->chain, 0), PERF_CONTEXT_USER);
	if (!nb)
		return; /* within the C library */
	if (SANITIZED && without_pointers(a, na, b, nb)) {
		t->counts.pointerless++;
		return;
	}
	t->counts.samples++;
	if (na == nb && !memcmp(a, b, na * sizeof(*a)))
		t->counts.equal++;
	else if (na + 1 == nb && a[0] == b[0] && !memcmp(a + 1, b + 2, (na - 1) * sizeof(*a)))
		t->counts.edge++;
	else if (nb < na && !memcmp(a, b, nb * sizeof(*a)))
		t->counts.cut++;
	else if (nb > 1 && nb <= na && a[0] == b[0] && !memcmp(a + 1, b + 2, (nb - 2) * sizeof(*a)))
		t->counts.cut++; /* and a caller is left out */
	else
		print_other(t, a, na, b, nb);
}

static void take(struct truth *t, const u8 *record, u16 size)
{
	struct perf_event_header h;
	struct sample before, after;
	struct bytes out = { 0 };

	memcpy(&h, record, sizeof(h));
	if (h.type != PERF_RECORD_SAMPLE)
		return;
	unwinding_take(t->unwinding, record, size, &out);
	memcpy(&h, out.p, sizeof(h));
	assert_int_equal(h.size, out.len);
	assert_int_equal(sample_decode_bytes(&t->kernel.events.v[0].layout, record, size, false, &before), 0);
	assert_int_equal(sample_decode_bytes(&t->recorded.events.v[0].layout, out.p, out.len, false, &after), 0);
	assert_int_equal(before.ip, after.ip);
	assert_int_equal(before.time, after.time);
	assert_int_equal(before.cpu, after.cpu);
	if ((h.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
		compare(t, &before, &after);
	bytes_free(&out);
}

static void drain(struct truth *t, struct ring *ring)
{
	u64 filled = ring_filled(ring), at = 0;
	struct bytes joined = { 0 };
	const u8 *record;
	u16 size;

	while ((record = ring_record(ring, at, filled, &size, &joined))) {
		take(t, record, size);
		at += size;
	}
	assert_int_equal(at, filled);
	ring_consume(ring, at);
	bytes_free(&joined);
}

static void frame_pointers_tell_the_same(void **state)
{
	struct attr a = { .type = PERF_TYPE_SOFTWARE,
			  .config = PERF_COUNT_SW_CPU_CLOCK,
			  .sample_period = 250000,
			  .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
					 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
			  .flags = ATTR_DISABLED | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV | ATTR_SAMPLE_ID_ALL,
			  .sample_regs_user = regs_general(REGS_HERE),
			  .sample_stack_user = 16384 };
	struct ring ring = { 0 };
	struct truth t = { 0 };
	struct timespec from, now;
	int fd;

	(void)state;
	a.size = attr_open_size(&a);
	fd = a.sample_regs_user ? perf_open(&a, 0, -1, -1, 0) : -1;
	if (fd < 0 || ring_map(&ring, fd, RING_PAGES))
		skip();
	add(&t.kernel, a, 1);
	a.sample_type &= ~(u64)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	a.sample_regs_user = a.sample_stack_user = 0;
	add(&t.recorded, a, 1);
	t.unwinding = unwinding_new(NULL);
	unwinding_begin(t.unwinding, &t.kernel, &t.recorded);
	tell_mappings(&t);
	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		for (u32 i = 0; i < 10; i++)
			sink += deep(sink % DEPTH);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		drain(&t, &ring);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (t.counts.samples < 4000 && now.tv_sec - from.tv_sec < 10);
	print_message("%u samples: %u equal, %u at a function's edge, %u cut, %u others\n", t.counts.samples,
		      t.counts.equal, t.counts.edge, t.counts.cut, t.counts.other);
	assert_true(t.counts.samples >= LEAST_SAMPLES);
	assert_true(t.counts.pointerless <= t.counts.samples / 10);
	assert_int_equal(t.counts.other, 0);
	assert_true(t.counts.equal >= t.counts.samples / 1000 * 999);
	assert_true(t.counts.cut <= unwinding_counts(t.unwinding)->ends[STACK_MEMORY]);
	assert_int_equal(unwinding_counts(t.unwinding)->ends[STACK_UNMAPPED], 0);
	unwinding_free(t.unwinding);
	evlist_free(&t.kernel);
	evlist_free(&t.recorded);
	ring_unmap(&ring);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(frame_pointers_tell_the_same) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
