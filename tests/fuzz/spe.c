/* SPDX-License-Identifier: Apache-2.0 */
/* AUX data of Arm SPE: the first byte is where they stood. Packets and records cover them without a gap; what is
 * decoded is encoded and decoded again. */
#include "codec/data_src.h"
#include "codec/spe_reader.h"
#include "codec/spe_shapes.h"
#include "codec/spe_source.h"

#include "fuzz.h"

static void check_packet(const struct spe_packet *p)
{
	struct spe_packet again;
	struct bytes b = { 0 };

	spe_packet_print(p, &b);
	MUST(b.len > 0);
	b.len = 0;
	if (p->type == SPE_BAD || p->type == SPE_PAD || p->type == SPE_UNKNOWN)
		return bytes_free(&b);
	spe_packet_encode(p->type, p->index, p->payload, &b);
	spe_packet_decode(b.p, b.len, 0, 0, &again);
	MUST(again.type == p->type && again.index == p->index && again.payload == p->payload);
	bytes_free(&b);
}

static void check_record(const struct spe_record *r, u64 from, u64 size)
{
	struct bytes b = { 0 };
	u64 v = spe_data_src(r, 0x413fd0c1);

	MUST(r->at >= from && r->at < r->end && r->end <= size);
	MUST(!v == !(spe_is_load(r) || spe_is_store(r)));
	for (enum data_src_part part = DATA_SRC_OP; part <= DATA_SRC_BLOCKED; part++)
		data_src_put(part, data_src_part(part, v | r->source), &b);
	bytes_free(&b);
}

/* By the shapes of records, twice, so that all of them are known the second time, comes what comes packet by packet.
 */
static void check_shapes(const u8 *data, u64 size, u64 aux_offset)
{
	struct spe_shapes shapes = { 0 };

	for (u32 i = 0; i < 2; i++) {
		struct spe_reader plain = { .data = data, .len = size, .aux_offset = aux_offset };
		struct spe_reader shaped = { .data = data, .len = size, .aux_offset = aux_offset, .shapes = &shapes };
		struct spe_record a, b;
		bool more;

		do {
			memset(&a, 0, sizeof(a));
			memset(&b, 0, sizeof(b));
			more = spe_next(&plain, &a);
			MUST(spe_next(&shaped, &b) == more);
			MUST(!more || !memcmp(&a, &b, sizeof(a)));
		} while (more);
		MUST(plain.at == shaped.at && plain.bad_bytes == shaped.bad_bytes);
		MUST(plain.broken == shaped.broken && plain.unknown == shaped.unknown);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct spe_reader reader;
	struct spe_record r;
	struct spe_packet p;
	u64 end = 0;

	if (!size)
		return 0;
	reader = (struct spe_reader){ .data = data + 1, .len = size - 1, .aux_offset = data[0] };
	for (u64 at = 0; at < reader.len; at += p.size) {
		spe_packet_decode(reader.data, reader.len, at, reader.aux_offset, &p);
		MUST(p.size && p.size <= reader.len - at);
		check_packet(&p);
	}
	while (spe_next(&reader, &r)) {
		check_record(&r, end, reader.len);
		end = r.end;
	}
	check_shapes(data + 1, size - 1, data[0]);
	MUST(reader.at == reader.len && reader.bad_bytes <= reader.len);
	return 0;
}

/* A load as Neoverse cores write it, a branch, and an alignment packet; the recording only says how often. */
void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	struct bytes b = { 0 };

	bytes_u8(&b, 4);
	for (u64 i = 0; i <= r->events.events.n; i++) {
		spe_packet_encode(SPE_ADDRESS, SPE_PC, 1ull << 63 | (0x400000 + 4 * i), &b);
		spe_packet_encode(SPE_CONTEXT, 1, 42, &b);
		spe_packet_encode(SPE_COUNTER, SPE_ISSUE, 4, &b);
		spe_packet_encode(SPE_COUNTER, SPE_TOTAL, 40, &b);
		spe_packet_encode(SPE_EVENTS, 0, SPE_EV_RETIRED | SPE_EV_L1D_ACCESS | SPE_EV_LLC_REFILL, &b);
		spe_packet_encode(SPE_OPERATION, i & 1 ? SPE_BRANCH : SPE_LOAD_STORE, 0, &b);
		spe_packet_encode(SPE_ADDRESS, SPE_VIRTUAL, 0xaaaae65dda43, &b);
		spe_packet_encode(SPE_SOURCE, 0, 9, &b);
		bytes_u8(&b, 0x22);
		bytes_zero(&b, 8 - b.len % 8);
		spe_packet_encode(SPE_TIMESTAMP, 0, 1000 + i, &b);
	}
	sink->give(sink->ctx, b.p, b.len);
	bytes_free(&b);
}
