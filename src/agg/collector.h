/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collector: makes call trees from samples. Each worker has one; at the end they are merged.
 *
 * Most samples repeat a stack that was seen before, with another leaf address. A cache of fixed size maps the hash of
 * everything that determines the callers (event, group, address space, raw chain) to their node in the tree, so a
 * repeated stack costs one hash, one look-up of the leaf and one addition. The hash is trusted: among n distinct
 * stacks, two have the same hash with probability n^2 / 2^65.
 *
 * The tables are larger than the CPU's caches, so nearly each look-up would wait for memory. Samples are therefore
 * taken in small batches, and the data that a later step will read are first prefetched for the whole batch.
 */
#ifndef AGG_COLLECTOR_H
#define AGG_COLLECTOR_H

#include "agg/profile.h"
#include "attrib/filter.h"
#include "attrib/resolver.h"
#include "attrib/spe.h"

struct collector_opts {
	const struct profile
		*keys; /* has the keys of groups (profile_sort_by was called); it outlives the collector */
	const struct features *features;
	const struct notify *notify;
	bool costs;		 /* a hit weighs what its sample's weight field says (hit.full is there) */
	bool chains;		 /* keep whole stacks, not only leaves */
	bool by_address;	 /* as resolver_opts */
	bool functions;		 /* likewise */
	bool every_address;	 /* likewise */
	u64 samples;		 /* likewise */
	struct code_cache *code; /* likewise */
	u64 time_slice_ns;	 /* for SORT_TIME */
	u64 first_time;
	const struct sample_filter *filter;	/* or NULL */
	const struct deferred_chains *deferred; /* or NULL */
	/* Hits of operations stand for all events that an operation is a sample of (hit.together), which are this
	 * one's. Not with chains, measures or the key of events. NULL: they do not. */
	const struct spe *together;
	struct measuring measuring; /* with this collector's own parts in `of` */
};

struct collector;

struct collector *collector_new(const struct procs *procs, struct dsos *dsos, struct frames *frames,
				const struct strtab *strings, const struct evlist *events,
				const struct collector_opts *opts);
void collector_free(struct collector *c);

/* Adds a hit, with its full sample if a key needs it (profile_wants_full). Hits that end windows of one set of
 * counters come in the order of the file; others in any order. */
void collector_add(struct collector *c, const struct hit *h);

/* What was added so far. tally holds samples, filtered and times only. */
struct collected {
	struct tree_builder *trees; /* one per event, of the evlist (with SORT_EVENT all samples go into the first) */
	struct tree_builder together; /* of hits of several events: the last word of a group has these events' bits */
	u64 *weights, *samples;
	u64 *exact;	 /* number of samples whose address is exact */
	double *squares; /* sums of squared weights, for the number of samples of equal weight with the same variance
			  */
	u64 *hidden;	 /* weights that filters on comm, pid and tid left out */
	struct measured *measured; /* one per event, of its tree's nodes */
	struct tally tally;
};
struct collected *collector_result(struct collector *c);
/* Moves that to *out, its trees settled; what is added later begins from nothing. Not with measures, nor with
 * hits of several events. */
void collector_take(struct collector *c, struct collected *out);

/* Moves everything from `from` into `to`; both have nr_trees trees. rename: as in tree_merge. */
void collected_merge(struct collected *to, struct collected *from, u32 nr_trees, const struct tree_rename *rename);
/* Adds all of `from`, which stays: its trees are settled, and it has no measures. */
void collected_add(struct collected *to, const struct collected *from, u32 nr_trees, const struct tree_rename *rename);
void collected_init(struct collected *c, u32 nr_trees);
void collected_free(struct collected *c, u32 nr_trees);

#endif
