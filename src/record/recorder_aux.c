/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AUX data: what hardware, or the virtual PMU, writes past the kernel. In the recording each piece is the payload of
 * an AUXTRACE record, behind the records of its time from the ring; an AUXTRACE_INFO record at the beginning says what
 * they are.
 */
#include "base/clock.h"
#include "record/recorder_impl.h"
#include "sys/machine.h"

#define ALIGNMENT 8 /* of records */

/* With all, also those that do not say which core they are. */
static void find_cores(struct aux_cores *out, bool all, const struct notify *to)
{
	struct cpulist online = { 0 };
	struct aux_core core;

	(void)cpulist_online(&online, to);
	for (size_t i = 0; i < online.v.n; i++) {
		core.cpu = online.v.v[i];
		if (machine_midr(core.cpu, &core.midr) || all)
			vec_push(&out->v, core);
	}
	cpulist_free(&online);
}

static const struct aux_pmu *pmu_of(u32 cpu, const struct aux_pmus *pmus)
{
	for (size_t i = 0; i < pmus->v.n; i++) {
		struct cpulist cpus = { 0 };
		bool here =
			!pmus->v.v[i].cpus || (!cpulist_parse(&cpus, pmus->v.v[i].cpus) && cpulist_has(&cpus, cpu));

		cpulist_free(&cpus);
		if (here)
			return &pmus->v.v[i];
	}
	return NULL;
}

static bool are_different(const struct aux_cores *cores, const struct aux_pmus *pmus)
{
	bool differ = pmus->v.n > 1;

	for (size_t i = 1; i < cores->v.n; i++)
		differ |= cores->v.v[i].midr != cores->v.v[0].midr;
	return differ;
}

void recorder_aux_words(struct bytes *words, const struct aux_cores *cores, const struct aux_pmus *pmus)
{
	bool each = are_different(cores, pmus);

	if (each) {
		bytes_u64(words, SPE_INFO_V2);
		bytes_u64(words, SPE_INFO_WORDS);
		bytes_u64(words, pmus->v.v[0].type);
		bytes_u64(words, cores->v.n);
	} else {
		bytes_u64(words, pmus->v.v[0].type);
		bytes_u64(words, 1);
	}
	for (size_t i = 0; each && i < cores->v.n; i++) {
		const struct aux_pmu *pmu = pmu_of(cores->v.v[i].cpu, pmus);

		bytes_u64(words, SPE_CPU_MAGIC);
		bytes_u64(words, cores->v.v[i].cpu);
		bytes_u64(words, SPE_CPU_WORDS - SPE_CPU_MIDR);
		bytes_u64(words, cores->v.v[i].midr);
		bytes_u64(words, pmu ? pmu->type : UINT64_MAX);
		bytes_u64(words, pmu ? pmu->least_period : 0);
	}
}

void recorder_aux_info(struct record *out, struct bytes *words, const struct aux_pmus *pmus, bool real,
		       const struct notify *to)
{
	struct aux_cores cores = { 0 };

	if (real)
		find_cores(&cores, pmus->v.n > 1, to);
	recorder_aux_words(words, &cores, pmus);
	vec_free(&cores.v);
	*out = (struct record){ .h.type = PERF_RECORD_AUXTRACE_INFO };
	out->auxtrace_info.type = AUXTRACE_ARM_SPE;
	out->auxtrace_info.priv = (struct u64s){ words->p, (u32)(words->len / sizeof(u64)), false };
}

int recorder_put_aux(struct recorder *r, const struct rec_auxtrace *a, const struct iovec *part, int nr)
{
	static const u8 zeros[ALIGNMENT];
	struct record record = { .h.type = PERF_RECORD_AUXTRACE, .auxtrace = *a };
	u64 fill = -a->size & (ALIGNMENT - 1);
	struct iovec all[3];
	struct bytes b = { 0 };
	int err;

	for (int i = 0; i < nr; i++)
		all[i] = part[i];
	if (fill)
		all[nr++] = (struct iovec){ (void *)zeros, fill };
	record.auxtrace.size += fill;
	err = record_encode(&record, NULL, &b);
	/* perf finds them all at the start then. Else it does not come back to an area of which nothing came for a
	 * while. */
	if (!err && !r->writer.pipe)
		vec_push(&r->aux_index, ((struct feat_auxtrace_index){ writer_size(&r->writer), b.len }));
	if (!err)
		err = writer_put_payload(&r->writer, &b, all, nr);
	r->round_bytes += b.len + record.auxtrace.size;
	r->result->aux_bytes += a->size;
	bytes_free(&b);
	return err;
}

void recorder_look_at_aux(struct recorder *r)
{
	for (size_t i = 0; i < r->set.rings.n; i++)
		aux_area_look(&r->set.rings.v[i].aux);
}

void recorder_begin_snapshot(struct recorder *r)
{
	if (!r->delayed)
		event_set_pause_aux(&r->set);
}

void recorder_end_snapshot(struct recorder *r, bool last)
{
	r->snapshot_due = false;
	r->result->snapshots++;
	for (u32 i = 0; i < r->set.rings.n && !last && !r->delayed; i++)
		event_set_resume(&r->set, i);
}

int recorder_drain_aux(struct recorder *r, bool last)
{
	u64 most = r->o->output.rings.snapshot_bytes;
	int err = 0;

	for (u32 i = 0; i < r->set.rings.n && !err; i++) {
		struct watched_ring *w = &r->set.rings.v[i];
		struct rec_auxtrace a = { .reference = clock_ns(), .idx = i };
		u64 told = flow_aux_end(&r->flow, w->ring.cpu, w->ring.tid);
		struct iovec part[2];
		int nr;

		if (!w->aux.page || (w->aux.overwritten && !r->snapshot_due))
			continue;
		/* Data and what tells of them go to the same file. */
		if (w->aux.overwritten)
			aux_area_take(&w->aux, told, most ? most : w->aux.size);
		else
			aux_area_told(&w->aux, told);
		a.offset = w->aux.tail;
		a.size = aux_area_peek(&w->aux, part, &nr);
		if (!a.size)
			continue;
		a.cpu = (u32)w->ring.cpu;
		a.tid = w->ring.cpu < 0 ? (u32)w->ring.tid : UINT32_MAX;
		err = recorder_put_aux(r, &a, part, nr);
		aux_area_consume(&w->aux, a.size);
		if (!last && !w->aux.overwritten)
			event_set_resume(&r->set, i);
	}
	return err;
}
