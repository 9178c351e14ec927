/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of dso.h share among themselves; nobody else includes this. */
#ifndef STATE_DSO_TABLE_H
#define STATE_DSO_TABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "codec/record.h"
#include "state/dso.h"
#include "state/kallsyms.h"
#include "state/roots.h"
#include "state/symtab.h"

struct side_symbol {
	u64 start, end;
	const char *name;
};

struct apart;
struct cfi;
struct dso_entry;
struct table_to_keep;
struct dso_lines;
struct dso_types;
struct dso_code;
struct dso_entered;
struct elf_bounds;
struct elf_file;

enum { LINES_UNKNOWN, LINES_NONE, LINES_THERE };

struct dso_slot {
	struct dso pub;
	union {		       /* by pub.kind; slots are many in hostile recordings */
		u64 base;      /* MODULE: where it was mapped first; 0: unknown */
		u64 map_bytes; /* PERFMAP: of the map, when it was read */
	};
	u64 mount_ns;	      /* which root directory its process has (rootdir_of), when that is not ours; else 0 */
	u64 code_pgoff;	      /* of its mappings of code; UINT64_MAX: they differ */
	pthread_mutex_t lock; /* for loading; and for its DWARF */
	VEC(struct side_symbol) side;
	u64 moved;		     /* KERNEL by vmlinux: how far from where it was linked to */
	struct dso_lines *lines;     /* NULL: nobody asked */
	struct dso_types *types;     /* likewise */
	struct dso_code *code;	     /* likewise */
	struct elf_bounds *bounds;   /* likewise; of its functions, where symbols do not tell */
	struct cfi *cfi;	     /* likewise */
	struct dso_entered *entered; /* likewise */
	struct symtab *damaged;	 /* was over an entry of the cache, until that turned out to be damaged, or is still */
	u64 made_from;		 /* a hash of that entry's key: of the state of all that the table is made from */
	const char *missing;	 /* why there are no symbols; NULL: there are, or nobody asked */
	struct dso_slot *lender; /* whose symtab it is: the same file by another name; or NULL */
	struct dso_slot *whose;	 /* the lender, or the slot itself; NULL: not loaded. Read without the lock */
	const struct feat_file *recorded; /* its symbols in the recording, or NULL; set when it is loaded */
	atomic_uint has_lines;		  /* LINES_*: the answer, without the lock */
	/* Recordings can make many slots, so these lie together. */
	bool code_mapped; /* there was a mapping of code */
	bool outdated;	  /* another file has its name now */
	bool stripped;	  /* a file of which only the exported symbols were found */
	bool has_unnamed; /* somebody asked for an address that no symbol holds */
};

struct listed_id {
	const struct rec_build_id *b;
	struct str path; /* that it is known by */
	bool kernel;
	u32 same_key; /* the next one, or ID_NONE */
};

struct dsos {
	struct symbol_opts opts;   /* strings in the arena */
	struct apart *apart;	   /* who parses; NULL: nobody was needed yet, or nobody can. Under files_lock */
	struct apart *names_apart; /* who makes names readable while that one opens files; NULL: it does that, too */
	bool apart_asked;
	bool functions_only;
	bool apart_waits;	  /* dsos_start_parser_for starts it, and no file that is seen */
	bool opens_ahead;	  /* who parses opens a file as soon as it is seen */
	atomic_uint names_asked;  /* dsos_names_asked */
	_Atomic u64 entered;	  /* bytes that dsos_entered has looked through, or was to */
	_Atomic u64 in_cache_too; /* bytes of tables that were made in memory, and are in the cache by now */
	const struct notify *notify;
	struct cache *cache;		     /* or NULL */
	bool keeps_later;		     /* dsos_keep_later */
	VEC(struct table_to_keep *) to_keep; /* under files_lock */
	pthread_t keep_thread;		     /* keeps them, when keep_runs */
	bool keep_runs;
	struct arena arena;
	VEC(struct dso_slot *) slots;
	u64 max_slots;
	bool again;	     /* dsos_again */
	u64 refused;	     /* keys that were new when there was no room */
	struct map by_name;  /* hash of what names a DSO -> the newest such */
	struct map by_build; /* hash of that and its build id -> the DSO; the newest of a name may be missing */
	struct roots roots;
	VEC(struct listed_id) build_ids;
	struct map build_id_of;		  /* hash of path and kernel -> build_ids */
	const struct feat_file *recorded; /* files whose symbols the recording holds */
	struct map recorded_of;		  /* hash of the path -> the first such file */
	u64 recorded_left;		  /* bytes of them that may still be given to DSOs. Under files_lock */
	u64 recorded_refused;		  /* DSOs that were given none for that; likewise */
	u64 kernel_start;		  /* of the kernel's map; 0: none was recorded */
	const char *release, *arch;	  /* of the recorded kernel, as uname says them; NULL: not known. Borrowed */
	struct str ref_symbol;		  /* of the kernel's map; empty: none was recorded */
	u64 ref_addr;
	pthread_mutex_t files_lock; /* for these two */
	struct map by_file;	    /* hash of device and inode -> files */
	VEC(struct dso_slot *) files;
	atomic_uint open_codes;	   /* DSOs whose code was found */
	pthread_mutex_t lock;	   /* for what follows */
	struct kallsyms *kallsyms; /* of the recorded kernel; NULL: not asked for yet, or not found */
	pthread_t ahead_thread;	   /* reads the running kernel's, when reads_ahead */
	bool reads_ahead;
	struct kallsyms *ahead; /* what it read, or NULL */
	bool kallsyms_asked;
	const char *kallsyms_missing; /* why there are none */
	u64 kallsyms_delta;	      /* recorded address minus the address in kallsyms */
	bool kallsyms_running;	      /* it is what the running kernel tells */
	struct stored_marks marks;    /* of kallsyms: where _text and _stext are */
};

/* The file whose symbols in the recording are the DSO's, and can be placed in it, or NULL. Each call is paid from what
 * may be given to all DSOs. */
const struct feat_file *dso_recorded(struct dsos *d, const struct dso_slot *s);
/* Adds them, as addresses of the DSO. */
void dso_recorded_add(const struct dsos *d, const struct dso_slot *s, struct symtab_build *b);
/* The header's build id of that path: the first one that it lists; NULL when it has none. */
const struct rec_build_id *dso_listed_build_id(const struct dsos *d, const char *path, size_t len, bool kernel);
/* Adds one. False: it is empty, or the path has one already. */
bool dso_list_build_id(struct dsos *d, const struct rec_build_id *id, struct str path, bool kernel);

/* Builds the table of one DSO; never NULL. Called once per DSO, with its lock held, and once more when what the cache
 * held was damaged. Sets s->missing when it is empty. */
struct symtab *dso_load(struct dsos *d, struct dso_slot *s);

/* Its parts for the kernel and its modules. A table: out of the cache, and b is as it was; NULL: it is in b, and e
 * says how to keep it. */
struct stored *dso_load_kernel(struct dsos *d, struct dso_slot *s, struct symtab_build *b, struct dso_entry *e);

/* Who parses, forked when it is not there yet; NULL: that cannot be done. */
struct apart *dsos_get_parser(struct dsos *d);

/* Its table, which is read when nobody has asked for it. */
struct symtab *dso_get_table(struct dsos *d, u32 dso);

/* Finds out whether the DSO, whose symbols are loaded, has DWARF. */
void dso_find_lines(struct dsos *d, u32 dso);
/* Keeps what was asked, when there is a cache. */
void dso_lines_free(struct dsos *d, struct dso_slot *s);
/* Likewise. */
void dso_types_free(struct dsos *d, struct dso_slot *s);
void dso_code_free(struct dso_code *c);
void dso_bounds_free(struct elf_bounds *b);
void dso_cfi_free(struct cfi *c);
void dso_entered_free(struct dso_entered *e);

/* Sets `out` to the slot's field, which `make` gives if it is still NULL, with the lock held. Thread-safe. */
#define DSO_MADE_ONCE(out, slot, field, make)                                                                         \
	do {                                                                                                          \
		(out) = __atomic_load_n(&(slot)->field, __ATOMIC_ACQUIRE);                                            \
		if (out)                                                                                              \
			break;                                                                                        \
		pthread_mutex_lock(&(slot)->lock);                                                                    \
		if (!(slot)->field)                                                                                   \
			__atomic_store_n(&(slot)->field, (make), __ATOMIC_RELEASE);                                   \
		(out) = (slot)->field;                                                                                \
		pthread_mutex_unlock(&(slot)->lock);                                                                  \
	} while (0)

/* Whose symbols a DSO has, once they are loaded: one file by several names is read and kept once. Thread-safe. */
struct dso_slot *dso_slot_of_file(const struct dsos *d, u32 dso);

/* The file that was mapped, or the vdso: what holds the code. False: there is none. */
struct found_file;
bool dso_open_code(struct dsos *d, struct dso_slot *s, struct found_file *out);

/* This kernel's vdso, if that was recorded. 0 or an error. */
int dso_own_vdso(const struct dsos *d, const struct dso_slot *s, struct elf_file *out);

/* What dsos_read_ahead's thread has read, after waiting for it; the caller's. NULL: nothing. */
struct kallsyms *dso_take_ahead(struct dsos *d);

#endif
