/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DSOs: everything that code is mapped from, and the symbols in each.
 *
 * A DSO is named by what the side-band says (path, build id, process for anonymous memory). Its symbols are loaded on
 * the first look-up, once, from the best source that matches (see dso_load.c); look-ups may come from several
 * threads.
 *
 * Addresses. A look-up takes the address that map_addr() gives: for files the *file offset* of the code (what perf
 * calls map_ip and prints for an unresolved address), for the kernel, modules, BPF, JIT and perf maps the absolute
 * address.
 */
#ifndef STATE_DSO_H
#define STATE_DSO_H

#include "base/err.h"
#include "base/types.h"

enum dso_kind {
	DSO_FILE,    /* an ELF file, or something that claims to be one */
	DSO_KERNEL,  /* [kernel.kallsyms] */
	DSO_MODULE,  /* [name], path of the .ko if known */
	DSO_VDSO,    /* [vdso]; addresses are offsets in its image */
	DSO_PERFMAP, /* memory without a file; when executable its path is /tmp/perf-PID.map, one per process */
	DSO_JIT,     /* one code object of a jitdump: jitted-PID-N.so; or generated code that the recording names */
	DSO_BPF,     /* one BPF program or trampoline */
	DSO_NONE,    /* [unknown]: no map holds the address. Always id 0 */
};

struct dso_key {
	enum dso_kind kind;
	struct str path;    /* as in the side-band: "/usr/lib/libc.so.6", "[kernel.kallsyms]", "//anon" */
	u32 pid;	    /* the process, for PERFMAP, JIT, and to find files in its mount namespace; 0: none */
	const u8 *build_id; /* or NULL */
	u8 build_id_size;
	u64 base; /* MODULE: where its text is mapped; 0: not known */
};

struct dso {
	enum dso_kind kind;
	const char *path;	/* perf's long name */
	const char *short_name; /* perf's "Shared Object": the basename; "[kernel.kallsyms]", "[ext4]", "[unknown]" */
	u32 pid;
	u8 build_id[20], build_id_size;
	u64 mapped;	       /* bytes of the largest mapping of its code; 0: not known */
	struct symtab *symtab; /* state/symtab.h; NULL before the first look-up */
};

/* One symbol. Ranges do not overlap after loading; end is exclusive. */
struct symbol {
	u64 start, end; /* in the DSO's addresses, as above */
	u32 name;	/* offset into the symtab's names; dsos_symbol_name */
};

struct symbol_opts {
	const char *kallsyms;	 /* or NULL: /proc/kallsyms */
	const char *vmlinux;	 /* or NULL */
	const char *symfs;	 /* prefix of all file look-ups, or NULL */
	const char *buildid_dir; /* or NULL: ~/.debug, as perf */
	bool demangle;		 /* default true */
	bool no_kernel;		 /* do not resolve kernel symbols */
	bool debuginfod;	 /* ask the servers of $DEBUGINFOD_URLS */
	bool no_lines;		 /* no line information */
	bool offline;		 /* do not look at this machine's /proc: the recording is of another one */
	u64 made_ns;		 /* when the recording was last written to: see state/roots.h */
	struct apart *apart;	 /* who parses for them, and outlives the DSOs; NULL: one is forked when needed */
	bool cache;		 /* keep what was worked out, and take what was kept (state/cache.h) */
};

struct apart;
struct dsos;
struct feat_file;
struct rec_build_id;

struct dsos *dsos_new(const struct symbol_opts *opts, const struct notify *notify);
void dsos_free(struct dsos *d);
/* Begins to read the running kernel's symbols on a thread of its own, because nearly every recording needs them soon
 * and they take long. What dsos_start_parser forks is forked before. */
void dsos_read_ahead(struct dsos *d);

/* The DSO of that key, added when new. Same (kind, path, pid where it matters) and no contradicting build id: same
 * DSO. Not thread-safe. */
u32 dsos_get(struct dsos *d, const struct dso_key *key);
/* Would dsos_get add one? */
bool dsos_is_new(struct dsos *d, const struct dso_key *key);
/* A build id of the header, which outlives d: it is that of DSOs of its path, now and later. */
void dsos_set_build_id(struct dsos *d, const struct rec_build_id *b, bool kernel);
/*
 * Symbols that the recording holds (simpleperf's), by the path of their file; they outlive d. A DSO of that path has
 * them beside those of the file that was mapped, if that is known by its build id, else alone: a file that merely has
 * the same path may be another one. The kernel and its modules have them alone, too, unless the user gave a kernel. A
 * DSO has none when its build id is not the one that the header lists for that path, when they cannot be placed in it,
 * or when more DSOs than an honest recording has were given them before.
 */
void dsos_set_recorded(struct dsos *d, const struct feat_file *files, size_t n);
/* Generated code whose symbols the recording holds, by the addresses where it lay? */
bool dsos_is_recorded_code(const struct dsos *d, struct str path);
/* Which kernel was recorded, as uname tells release and machine; NULL: not known. They outlive d. Kernel symbols are
 * taken from the running one only when that, or its build id, is the same. */
void dsos_set_release(struct dsos *d, const char *release, const char *arch);
/* The kernel's map, from its MMAP record: "[kernel.kallsyms]_text" with start, and pgoff = the address of that
 * reference symbol when recorded. */
void dsos_set_kernel_map(struct dsos *d, struct str ref_symbol, u64 start, u64 ref_addr);
/* From now on a further session tells of what d has heard before: symbols that it has are not added again. */
void dsos_again(struct dsos *d);
/* Another file has that name from now on: whoever asks for it gets a new DSO. The old one keeps what was read of it.
 * Not thread-safe. */
void dsos_outdate(struct dsos *d, struct str path);
/* Have run-time compilers added to a map (/tmp/perf-PID.map) since it was read? */
bool dsos_maps_grew(const struct dsos *d);
/* So many bytes of its code were mapped somewhere, from pgoff on. Not thread-safe. */
void dsos_note_mapped(struct dsos *d, u32 dso, u64 bytes, u64 pgoff);
/* Side-band symbols: KSYMBOL registers BPF programs and others (name at [start, end)), state/jit.h the code of
 * run-time compilers. Before the first look-up in that DSO. */
void dsos_add_symbol(struct dsos *d, u32 dso, u64 start, u64 end, struct str name);

/*
 * Keeps the symbols of fd, which is the DSO's file, in the cache under its build id alone: of a file that nobody may
 * be able to find later, because it is below another root directory. A DSO whose file is found nowhere has them. The
 * file stays open.
 */
void dsos_keep_build(struct dsos *d, u32 dso, int fd);

u32 dsos_count(const struct dsos *d);
const struct dso *dsos_at(const struct dsos *d, u32 dso);

/* Which symbol holds addr: its index in the DSO, or ID_NONE. Thread-safe; loads symbols when first asked. */
u32 dsos_symbol_at(struct dsos *d, u32 dso, u64 addr);
const struct symbol *dsos_symbol(const struct dsos *d, u32 dso, u32 sym);
/* Demangled (once, kept) unless opts say no. Thread-safe. Valid as long as d. */
const char *dsos_symbol_name(struct dsos *d, u32 dso, u32 sym);

/*
 * Names are made readable in another process (state/apart.h), those of all symbols that were found at a time. Who
 * shows one after the other sees by this number, which goes up with each question, that it is better to find more
 * symbols first. Thread-safe.
 */
u32 dsos_names_asked(const struct dsos *d);

/*
 * Where the function that holds addr begins, of a file that does not name it: as .eh_frame tells, which stays when
 * symbols are stripped. False: that tells nothing of addr. Thread-safe; reads the file when first asked.
 */
bool dsos_unnamed_function(struct dsos *d, u32 dso, u64 addr, u64 *start);

/* Where the code of a file is linked: the segments that hold it. */
#define DSO_SEGMENTS 8
struct dso_linked {
	u32 n;
	struct {
		u64 offset, size, addr;
	} v[DSO_SEGMENTS];
};
/* False: the file that was mapped is not there. Thread-safe. */
bool dsos_linked(struct dsos *d, u32 dso, struct dso_linked *out);
/* The address of what symbol look-ups take; 0: it is in no segment. */
u64 dso_linked_address(const struct dso_linked *l, u64 offset);

/*
 * The code at addr, at most max bytes, out of the file that was mapped; *machine: its EM_*. Returns how many: 0 where
 * there is no such file (the kernel, code that was made at run time), or no code at addr. Thread-safe.
 */
u32 dsos_code_at(struct dsos *d, u32 dso, u64 addr, u8 *out, u32 max, u16 *machine);

/*
 * Where its functions keep their callers' registers (codec/cfi.h), by the same addresses; never NULL, but empty where
 * nothing is known. Thread-safe; reads the file when first asked.
 */
struct cfi;
const struct cfi *dsos_cfi(struct dsos *d, u32 dso);
/* The same as an index, anew each time and for the caller alone, who frees it. */
struct cfi_index;
struct cfi_index *dsos_cfi_index(struct dsos *d, u32 dso);

/* Does the DSO have DWARF line information here? (decides whether inlined frames and source lines can be had) */
bool dsos_has_lines(struct dsos *d, u32 dso);

/*
 * Forks the process that will parse DWARF and linkers' names (state/apart.h), if that was not done. It happens by
 * itself when the first file with DWARF is seen, or the first such name. Who is about to start threads that ask for
 * either does it before: a child that is forked beside a thread inherits the locks that the thread holds, and not all
 * allocators (AddressSanitizer's) let go of theirs.
 */
void dsos_start_parser(struct dsos *d);
/*
 * The same for who will ask for few addresses, after those threads have ended. The cache may have all their answers:
 * if it has any of an earlier run, nothing is forked before dsos_start_parser_for meets an address that is not known.
 * Else the files that have DWARF are opened as they are seen, while those threads work.
 */
void dsos_start_parser_unless_kept(struct dsos *d);
void dsos_start_parser_for(struct dsos *d, u32 dso, u64 addr);

/*
 * While the running kernel's symbols are being read (dsos_read_ahead), those of files that the header lists with a
 * build id may be: they were met. First the files, in the order of their DSOs; none when the kernel's are there, or
 * the list is too long to be one of what was met. Then for one of them: its DWARF is found, and begun to be read; and
 * its symbols are read.
 */
#define DSOS_LISTED 128
u32 dsos_listed(const struct dsos *d, u32 dsos[DSOS_LISTED]);
void dsos_find_ahead(struct dsos *d, u32 dso);
void dsos_load_ahead(struct dsos *d, u32 dso);

/*
 * Symbol tables that are read from here on go into the cache, if there is one, between begin, which has a thread do it
 * beside one that waits for something else, and end, which helps it; end does all itself where nothing was begun.
 */
void dsos_keep_later(struct dsos *d);
void dsos_keep_begin(struct dsos *d);
void dsos_keep_end(struct dsos *d);
/* Bytes of memory of the tables that were made here, and are in the cache by now. DSOs that are made anew find them
 * there, and need next to no memory for them. */
u64 dsos_in_cache_too(const struct dsos *d);
/* Puts into the cache what else was found out, as dsos_free does, when the process ends and memory is not freed. */
void dsos_keep_found(struct dsos *d);

/*
 * Source position and inlined calls at addr, from DWARF, in-process. out[0] is the innermost (inlined) function, the
 * last one the function that the symbol table names. Returns how many entries were written (0: no line information).
 * Strings live until dsos_drop_lines. Thread-safe. Slow when asked for
 * one address after the other: see dsos_source_ahead.
 */
struct source_frame {
	const char *function; /* demangled */
	const char *file;     /* or NULL */
	u32 line;	      /* 0: unknown */
};
u32 dsos_source_at(struct dsos *d, u32 dso, u64 addr, struct source_frame *out, u32 max);
/* Says that these addresses will be asked for: many at a time cost much less than each alone. */
void dsos_source_ahead(struct dsos *d, u32 dso, const u64 *addrs, u32 n);

/*
 * What type of data lies at addr, which is that of a variable; and what the instruction at addr loads or stores
 * (state/data_types.h). From DWARF, once for each address. False: that is not known. Strings live as long as d.
 * Thread-safe.
 */
struct typed_place;
bool dsos_type_of_datum(struct dsos *d, u32 dso, u64 addr, struct typed_place *out);
bool dsos_type_of_access(struct dsos *d, u32 dso, u64 addr, struct typed_place *out);

/* Lets go of all line information, and of what dsos_source_at returned; it is read again when asked for. */
void dsos_drop_lines(struct dsos *d);
/* From here on answers have no files and lines, which spares most of the time. Drops lines. */
void dsos_functions_only(struct dsos *d, bool only);

/* What names are missing, and why, as notes for the report's foot: one for all stripped files that had an address
 * without a symbol, and one per DSO that has no symbols at all. */
void dsos_note_missing(const struct dsos *d, const struct notify *to);
/* Why the kernel's functions have no names; NULL: they have, or nobody asked. */
const char *dsos_kernel_missing(const struct dsos *d);

#endif
