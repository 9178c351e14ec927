/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records into chunks.
 *
 * A chunk has one writer at a time, and what it wrote counts when `used` moves behind it, so a process may be killed
 * between any two instructions and leaves whole records. The order within a change of state is chosen for that too: a
 * chunk is empty and without owner while it is FREE (the recorder sees to that before it sets FREE), so that the worst
 * a death between OPEN and the owner's number leaves is an empty chunk that nobody owns until the recording ends.
 *
 * Threads may wait for each other, so none may wait for a chunk that another keeps: of those who are alive at once,
 * only as many keep a chunk as three quarters of them allow. The others give theirs up behind each record.
 *
 * When all chunks are taken the thread waits: the guest stands still, no record is lost. Should the recorder be gone,
 * nobody will ever free one: records are counted in control->lost and dropped, and the program runs on. Liveness is
 * asked of /proc/PID/fd/N, by which the memory was mapped: it is there as long as the recorder is, and unlike the
 * process id nobody else comes to have it.
 */
#include "vpmu/channel.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS 500000

static u8 *chunk_data(struct vpmu_control *control, u32 i)
{
	return (u8 *)control + control->data_offset + (u64)i * control->chunk_size;
}

static u64 next_turn(struct vpmu_control *control)
{
	return atomic_fetch_add(&control->turn, 1) + 1;
}

static void chunk_close(struct vpmu_control *control, u32 i)
{
	struct vpmu_chunk *c = &control->chunks[i];

	atomic_store(&c->turn, next_turn(control));
	atomic_store_explicit(&c->state, VPMU_CHUNK_CLOSED, memory_order_release);
}

static bool recorder_lives(struct vpmu_control *control)
{
	s32 pid;

	if (atomic_load(&control->done))
		return false;
	if (!access(control->control_path, F_OK))
		return true;
	if (errno == ENOENT ? !access("/proc/self", F_OK) : errno != EACCES && errno != EPERM)
		return false;
	/* A program that gave its privileges up may not look there; one that changed its root sees no /proc. */
	pid = atoi(control->control_path + strcspn(control->control_path, "0123456789"));
	return pid > 0 && (!kill(pid, 0) || errno == EPERM);
}

/* Each search begins at another place, so that threads do not queue up for the same chunk. */
static s32 take_free(struct vpmu_control *control, s32 real_pid, u64 turn)
{
	for (u32 k = 0; k < control->nr_chunks; k++) {
		u32 i = (u32)((turn + k) % control->nr_chunks);
		struct vpmu_chunk *c = &control->chunks[i];
		u32 expected = VPMU_CHUNK_FREE;

		if (atomic_load_explicit(&c->state, memory_order_relaxed) != VPMU_CHUNK_FREE ||
		    !atomic_compare_exchange_strong(&c->state, &expected, VPMU_CHUNK_OPEN))
			continue;
		atomic_store(&c->owner, real_pid);
		atomic_store(&c->turn, turn);
		return (s32)i;
	}
	return -1;
}

/* Counted with its own: of two who come at once, at least one sees both. */
bool channel_scarce(const struct vpmu_control *control)
{
	u32 open = 0;

	for (u32 i = 0; i < control->nr_chunks; i++)
		open += atomic_load(&control->chunks[i].state) == VPMU_CHUNK_OPEN;
	return open > control->nr_chunks / 4 * 3;
}

static bool channel_open(struct vthread *t)
{
	struct vpmu_control *control = t->process->control;
	u64 turn = next_turn(control);

	for (;;) {
		t->chunk = take_free(control, t->process->real_pid, turn);
		if (t->chunk >= 0) {
			t->scarce = channel_scarce(control);
			return true;
		}
		if (!recorder_lives(control))
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
	}
}

void channel_put(struct vthread *t, const struct bytes *record)
{
	struct vpmu_control *control = t->process->control;
	int kept = errno;
	u32 used = 0;

	if (t->chunk >= 0) {
		used = atomic_load_explicit(&control->chunks[t->chunk].used, memory_order_relaxed);
		if (record->len > control->chunk_size - used) {
			channel_close(t);
			used = 0;
		}
	}
	if (record->len > control->chunk_size || (t->chunk < 0 && !channel_open(t))) {
		atomic_fetch_add(&control->lost, 1);
	} else {
		memcpy(chunk_data(control, (u32)t->chunk) + used, record->p, record->len);
		atomic_store_explicit(&control->chunks[t->chunk].used, used + (u32)record->len, memory_order_release);
		if (t->scarce)
			channel_close(t);
	}
	errno = kept;
}

u8 *channel_put_kept(struct vthread *t, const struct bytes *record)
{
	struct vpmu_control *control = t->process->control;

	channel_put(t, record);
	if (t->chunk < 0)
		return NULL;
	return chunk_data(control, (u32)t->chunk) + atomic_load(&control->chunks[t->chunk].used) - record->len;
}

void channel_close(struct vthread *t)
{
	if (t->chunk >= 0)
		chunk_close(t->process->control, (u32)t->chunk);
	t->chunk = -1;
}

void channel_adopt(struct vpmu_control *control, s32 real_pid)
{
	for (u32 i = 0; i < control->nr_chunks; i++)
		if (atomic_load(&control->chunks[i].owner) == real_pid &&
		    atomic_load(&control->chunks[i].state) == VPMU_CHUNK_OPEN)
			chunk_close(control, i);
}
