/* SPDX-License-Identifier: Apache-2.0 */
/* A jitdump: header, then records. What is decoded whole is encoded and decoded again. */
#include "codec/jitdump.h"

#include "fuzz.h"

static void check_record(struct jitdump_record *r, bool swap)
{
	struct jitdump_record again;
	struct jitdump_line line;
	struct bytes b = { 0 };

	if (r->id == JITDUMP_DEBUG_INFO) {
		struct jitdump_debug d = r->debug;

		while (jitdump_line(&d, &line))
			MUST(line.file.p);
		return;
	}
	if (swap || r->id > JITDUMP_UNWINDING_INFO || (r->id == JITDUMP_CODE_LOAD && !r->load.code) ||
	    (r->id == JITDUMP_UNWINDING_INFO && !r->unwind.data))
		return;
	jitdump_encode(&b, r);
	MUST(!jitdump_decode(b.p, b.len, false, &again));
	MUST(again.id == r->id && again.time == r->time);
	if (r->id == JITDUMP_CODE_LOAD)
		MUST(again.load.addr == r->load.addr && again.load.name.len == r->load.name.len);
	bytes_free(&b);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct jitdump_header h;
	struct jitdump_record r;
	size_t at;

	if (jitdump_header_decode(data, size, &h))
		return 0;
	for (at = h.size; at < size; at += r.size) {
		int err = jitdump_decode(data + at, size - at, h.swap, &r);

		if (err == ERR_TRUNCATED || (err && !r.size))
			break;
		MUST(r.size >= 16);
		if (!err)
			check_record(&r, h.swap);
	}
	return 0;
}

static void put_load(struct bytes *b, u64 index)
{
	static const u8 code[] = { 0x55, 0x48, 0x89, 0xe5, 0xc3 };
	struct jitdump_record r = { .id = JITDUMP_CODE_LOAD, .time = 100 + index };

	r.load.pid = r.load.tid = 7;
	r.load.vma = r.load.addr = 0x7f0000001000 + index * 64;
	r.load.code_size = sizeof(code);
	r.load.index = index;
	r.load.name = (struct str){ "LazyCompile:*fib", 16 };
	r.load.code = code;
	jitdump_encode(b, &r);
}

/* One jitdump with a record of each kind; the recording only says how often. */
void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	const struct jitdump_header h = {
		.version = 1, .size = JITDUMP_HEADER_SIZE, .machine = 62, .pid = 7, .time = 1
	};
	const struct jitdump_line line = { .addr = 0x7f0000001000, .line = 3, .file = { "/app/fib.js", 11 } };
	struct jitdump_record debug = { .id = JITDUMP_DEBUG_INFO, .time = 99 };
	struct jitdump_record move = { .id = JITDUMP_CODE_MOVE, .time = 200 };
	struct bytes b = { 0 }, lines = { 0 };

	jitdump_line_encode(&lines, &line);
	debug.debug.addr = line.addr;
	debug.debug.n = 1;
	debug.debug.entries = cursor_over(lines.p, lines.len, false);
	move.move.pid = move.move.tid = 7;
	move.move.old_addr = 0x7f0000001000;
	move.move.new_addr = move.move.vma = 0x7f0000002000;
	move.move.code_size = 5;
	jitdump_header_encode(&b, &h);
	jitdump_encode(&b, &debug);
	for (u64 i = 0; i <= r->events.events.n; i++)
		put_load(&b, i);
	jitdump_encode(&b, &move);
	sink->give(sink->ctx, b.p, b.len);
	bytes_free(&b);
	bytes_free(&lines);
}
