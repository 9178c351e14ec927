/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of the virtual PMU's shared memory: what a recorder finds in them is whole and in order, whatever happens to
 * those who write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "vpmu/channel.h"

#define CHUNKS 8
#define CHUNK_SIZE 4096u
#define WRITERS 3
#define ROUNDS 60

struct fixture {
	int fd;
	struct vpmu_control *control;
	u32 next[ROUNDS + 1][WRITERS]; /* the number that each writer's next record must have */
	u64 records;
};

static int setup(void **state)
{
	struct fixture *f = mem_zalloc(sizeof(*f));
	u64 offset = (sizeof(struct vpmu_control) + 4095) & ~4095ull;

	f->fd = memfd_create("control", MFD_CLOEXEC);
	assert_int_equal(ftruncate(f->fd, (off_t)(offset + CHUNKS * CHUNK_SIZE)), 0);
	f->control = mmap(NULL, offset + CHUNKS * CHUNK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	assert_ptr_not_equal(f->control, MAP_FAILED);
	f->control->chunk_size = CHUNK_SIZE;
	f->control->nr_chunks = CHUNKS;
	f->control->data_offset = offset;
	f->control->size = offset + CHUNKS * CHUNK_SIZE;
	snprintf(f->control->control_path, VPMU_PATH, "/proc/%d/fd/%d", getpid(), f->fd);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	munmap(f->control, f->control->size);
	close(f->fd);
	free(f);
	return 0;
}

struct writer {
	struct vprocess *process;
	u32 round, index;
	u32 nr; /* records to write; 0: without end */
};

/* A record of writer (round, index): header, round, index, number, then bytes that follow from the number. */
static void write_record(struct vthread *t, const struct writer *w, u32 number)
{
	u32 filler = number * 7 % 200;

	t->record.len = 0;
	bytes_u32(&t->record, VPMU_RECORD_TOTALS);
	bytes_u16(&t->record, 0);
	bytes_u16(&t->record, (u16)(20 + filler));
	bytes_u32(&t->record, w->round);
	bytes_u32(&t->record, w->index);
	bytes_u32(&t->record, number);
	for (u32 i = 0; i < filler; i++)
		bytes_u8(&t->record, (u8)(number + i));
	channel_put(t, &t->record);
}

static void *writer_main(void *arg)
{
	struct writer *w = arg;
	struct vthread t = { .process = w->process, .chunk = -1 };

	for (u32 i = 0; !w->nr || i < w->nr; i++)
		write_record(&t, w, i);
	channel_close(&t);
	bytes_free(&t.record);
	return NULL;
}

static void start_writers(struct fixture *f, struct vprocess *p, struct writer *w, pthread_t *threads, u32 round,
			  u32 nr)
{
	*p = (struct vprocess){ .control = f->control, .real_pid = getpid() };
	for (u32 i = 0; i < WRITERS; i++) {
		w[i] = (struct writer){ p, round, i, nr };
		assert_int_equal(pthread_create(&threads[i], NULL, writer_main, &w[i]), 0);
	}
}

static void check_records(struct fixture *f, u32 chunk)
{
	struct vpmu_control *control = f->control;
	u32 used = atomic_load_explicit(&control->chunks[chunk].used, memory_order_acquire);
	struct cursor c = cursor_over((u8 *)control + control->data_offset + chunk * CHUNK_SIZE, used, false);

	assert_true(used <= CHUNK_SIZE);
	while (cursor_left(&c)) {
		u32 type = cursor_u32(&c), misc = cursor_u16(&c), size = cursor_u16(&c);
		u32 round = cursor_u32(&c), index = cursor_u32(&c), number = cursor_u32(&c);

		assert_false(c.bad);
		assert_int_equal(type, VPMU_RECORD_TOTALS);
		assert_int_equal(misc, 0);
		assert_true(round <= ROUNDS && index < WRITERS);
		assert_int_equal(number, f->next[round][index]++);
		assert_int_equal(size, 20 + number * 7 % 200);
		for (u32 i = 0; i < size - 20; i++)
			assert_int_equal(cursor_u8(&c), (u8)(number + i));
		assert_false(c.bad);
		f->records++;
	}
}

static struct vpmu_chunk *oldest(struct fixture *f, bool open)
{
	struct vpmu_chunk *best = NULL;

	for (u32 i = 0; i < CHUNKS; i++) {
		struct vpmu_chunk *c = &f->control->chunks[i];
		u32 state = atomic_load_explicit(&c->state, memory_order_acquire);

		if (state == VPMU_CHUNK_FREE || (state == VPMU_CHUNK_OPEN && !open))
			continue;
		if (!best || atomic_load(&c->turn) < atomic_load(&best->turn))
			best = c;
	}
	return best;
}

/* Takes the chunk that was closed first; with `open`, also those whose writers are known to be dead. */
static bool take_one(struct fixture *f, bool open)
{
	struct vpmu_chunk *best = oldest(f, open);

	if (!best)
		return false;
	best = oldest(f, open); /* an older one may have been closed behind the first look's back */
	check_records(f, (u32)(best - f->control->chunks));
	atomic_store(&best->used, 0);
	atomic_store(&best->owner, 0);
	atomic_store_explicit(&best->state, VPMU_CHUNK_FREE, memory_order_release);
	return true;
}

static void test_threads(void **state)
{
	struct fixture *f = *state;
	struct vprocess p;
	struct writer w[WRITERS];
	pthread_t threads[WRITERS];
	const u32 nr = 5000;

	start_writers(f, &p, w, threads, 0, nr);
	while (f->records < WRITERS * nr)
		if (!take_one(f, false))
			usleep(100);
	for (u32 i = 0; i < WRITERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(f->next[0][i], nr);
	}
	assert_int_equal(atomic_load(&f->control->lost), 0);
}

static void test_killed_at_any_moment(void **state)
{
	struct fixture *f = *state;
	u32 nr_began = 0;

	srand(20);
	for (u32 round = 0; round < ROUNDS; round++) {
		struct vprocess p;
		struct writer w[WRITERS];
		pthread_t threads[WRITERS];
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			start_writers(f, &p, w, threads, round, 0);
			pause();
		}
		/* A random number of chunks and microseconds: also while it waits for a free one. */
		for (int takes = rand() % 12; takes > 0;)
			if (take_one(f, false))
				takes--;
		usleep((useconds_t)(rand() % 2000));
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		while (take_one(f, true))
			;
		nr_began += f->next[round][0] > 0;
	}
	assert_true(nr_began > ROUNDS / 4);
	assert_true(f->records > 1000);
}

/* More live threads than chunks: none waits for one that another keeps. */
static void test_scarce(void **state)
{
	struct fixture *f = *state;
	struct vprocess p = { .control = f->control, .real_pid = getpid() };
	struct vthread t[2 * CHUNKS] = { 0 };
	struct writer w[2 * CHUNKS];
	u32 keepers = 0;

	alarm(20); /* it would wait for ever */
	for (u32 number = 0; number < 2; number++)
		for (u32 i = 0; i < ARRAY_LEN(t); i++) {
			if (!number) {
				t[i] = (struct vthread){ .process = &p, .chunk = -1 };
				w[i] = (struct writer){ &p, i / WRITERS, i % WRITERS, 0 };
			}
			write_record(&t[i], &w[i], number);
			keepers += number && t[i].chunk >= 0;
			while (take_one(f, false))
				;
		}
	assert_int_equal(keepers, CHUNKS / 4 * 3);
	assert_int_equal(f->records, 2 * (ARRAY_LEN(t) - keepers));
	/* When others have left, there is room to keep one again. */
	for (u32 i = 0; i < ARRAY_LEN(t); i++)
		channel_close(&t[i]);
	while (take_one(f, false))
		;
	write_record(&t[0], &w[0], 2);
	assert_true(t[0].chunk >= 0);
	alarm(0);
	for (u32 i = 0; i < ARRAY_LEN(t); i++)
		bytes_free(&t[i].record);
}

static void test_no_recorder(void **state)
{
	struct fixture *f = *state;
	struct vprocess p = { .control = f->control, .real_pid = getpid() };
	struct writer w = { &p, 0, 0, 0 };
	struct vthread t = { .process = &p, .chunk = -1 };
	u32 i = 0;

	snprintf(f->control->control_path, VPMU_PATH, "/proc/%d/fd/999", getpid());
	for (; !atomic_load(&f->control->lost) && i < 10000; i++)
		write_record(&t, &w, i);
	assert_true(i < 10000);
	write_record(&t, &w, i++);
	assert_int_equal(atomic_load(&f->control->lost), 2);
	while (take_one(f, false))
		;
	assert_int_equal(f->records, i - 2);
	/* With room again all is as before, but for what was lost. */
	f->next[0][0] = i;
	write_record(&t, &w, i);
	channel_close(&t);
	assert_true(take_one(f, false));
	assert_int_equal(f->records, i - 1);
	bytes_free(&t.record);
}

static void test_done(void **state)
{
	struct fixture *f = *state;
	struct vprocess p = { .control = f->control, .real_pid = getpid() };
	struct writer w = { &p, 0, 0, 0 };
	struct vthread t = { .process = &p, .chunk = -1 };

	for (u32 i = 0; i < CHUNKS; i++)
		atomic_store(&f->control->chunks[i].state, VPMU_CHUNK_CLOSED);
	atomic_store(&f->control->done, 1);
	write_record(&t, &w, 0);
	assert_int_equal(atomic_load(&f->control->lost), 1);
	assert_int_equal(t.chunk, -1);
	bytes_free(&t.record);
}

static void test_adopt(void **state)
{
	struct fixture *f = *state;
	struct vprocess p = { .control = f->control, .real_pid = 4242 },
			other = { .control = f->control, .real_pid = 77 };
	struct writer w = { &p, 0, 0, 0 }, wo = { &other, 1, 1, 0 };
	struct vthread t = { .process = &p, .chunk = -1 }, to = { .process = &other, .chunk = -1 };

	write_record(&t, &w, 0);
	write_record(&to, &wo, 0);
	assert_false(take_one(f, false));
	channel_adopt(f->control, 4242);
	assert_true(take_one(f, false));
	assert_false(take_one(f, false));
	assert_int_equal(f->next[0][0], 1);
	assert_int_equal(f->next[1][1], 0);
	bytes_free(&t.record);
	bytes_free(&to.record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed_at_any_moment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scarce, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_recorder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_done, setup, teardown),
		cmocka_unit_test_setup_teardown(test_adopt, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
