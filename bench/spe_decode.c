/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast packets of Arm SPE are decoded into records, and nothing else: spe_decode FILE TIMES. FILE is a perf.data
 * of this machine's byte order; its AUXTRACE payloads are decoded so many times, on one core. Prints the bytes, the
 * records and the CPU seconds of the fastest time.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "codec/perf_abi.h"
#include "codec/spe_reader.h"
#include "codec/spe_shapes.h"

struct total {
	u64 bytes, records, sum; /* sum: what was decoded is used */
	struct spe_shapes shapes;
};

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void decode(const u8 *data, u64 len, u64 spare, u64 aux_offset, struct total *t)
{
	struct spe_reader r = {
		.data = data, .len = len, .aux_offset = aux_offset, .shapes = &t->shapes, .spare = spare
	};
	struct spe_record o;

	while (spe_next(&r, &o)) {
		t->sum += o.pc ^ o.virtual ^ o.time ^ o.latency[SPE_TOTAL] ^ o.events ^ o.source;
		t->records++;
	}
	t->bytes += len;
}

/* AUXTRACE: header, size and offset of the payload that follows the record. */
static void walk(const u8 *file, u64 at, u64 end, struct total *t)
{
	struct perf_event_header h;
	u64 size, offset;

	while (end - at >= sizeof(h)) {
		memcpy(&h, file + at, sizeof(h));
		if (h.size < sizeof(h) || h.size > end - at)
			return;
		at += h.size;
		if (h.type != PERF_RECORD_AUXTRACE || h.size < sizeof(h) + 2 * sizeof(u64))
			continue;
		memcpy(&size, file + at - h.size + sizeof(h), sizeof(size));
		memcpy(&offset, file + at - h.size + sizeof(h) + sizeof(size), sizeof(offset));
		if (size > end - at)
			return;
		decode(file + at, size, end - at - size, offset, t);
		at += size;
	}
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	u64 section[2], size; /* of data: offset and size, behind magic, header size, attr size and section of attrs */
	double fastest = 0;
	struct total t = { 0 };
	struct stat st;
	const u8 *file;

	if (fd < 0 || fstat(fd, &st) || (u64)st.st_size < 104)
		return 2;
	size = (u64)st.st_size;
	file = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (file == MAP_FAILED)
		return 2;
	memcpy(section, file + 40, sizeof(section));
	if (section[0] > size || section[1] > size - section[0])
		return 2;
	for (int i = 0; i < atoi(argv[2]); i++) {
		double began = cpu_seconds(), took;

		t.bytes = t.records = t.sum = 0;
		walk(file, section[0], section[0] + section[1], &t);
		took = cpu_seconds() - began;
		fastest = i && fastest < took ? fastest : took;
	}
	printf("%llu %llu %.6f %llx\n", (unsigned long long)t.bytes, (unsigned long long)t.records, fastest,
	       (unsigned long long)t.sum);
	close(fd);
	return 0;
}
