/* SPDX-License-Identifier: Apache-2.0 */
/* The data that hardware wrote beside the records, packet by packet, in the form of perf report -D. */
#include "cmd/dump.h"
#include "codec/spe.h"

#define PACKET_COLUMNS 16u /* bytes of a packet that have room on its line */

void dump_packets(const u8 *data, u64 len, u64 aux_offset, struct bytes *out)
{
	struct spe_packet p;

	for (u64 at = 0; at < len && !out->err; at += p.size) {
		spe_packet_decode(data, len, at, aux_offset, &p);
		bytes_str(out, ".  ");
		bytes_hex_pad(out, at, 8, '0');
		bytes_str(out, ": ");
		for (u32 i = 0; i < p.size; i++)
			bytes_printf(out, " %02x", data[at + i]);
		bytes_repeat(out, ' ', 3 * (int)PACKET_COLUMNS - 3 * p.size + 1);
		spe_packet_print(&p, out);
		bytes_char(out, '\n');
	}
}
