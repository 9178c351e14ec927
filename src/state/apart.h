/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsers of foreign files, apart.
 *
 * Problem: DWARF is libdw's to read, and libdw trusts its input: files that others have made crash it, keep it busy
 * for minutes, let it take gigabytes, and make it open whatever they name. Linkers' names are libiberty's to make
 * readable, which recurses as they tell it to; embedded symbols are liblzma's to unpack. We may be root.
 *
 * Design: such input is parsed in another process that can do nothing. It has no capabilities, and a filter of system
 * calls leaves it memory, reading from descriptors that it was handed, and one socket to us. Its memory and its time
 * are a small multiple of what the files that it was handed have on disk, and one that sleeps for five seconds while
 * it owes an answer, or is to read a question, is given up, even if it sends a byte now and then. What it sends back
 * is input like any other. When it wants to open a further file (split units, debug information that several files
 * share), it is we who open it, by the rules of base/regular.h, or do not.
 *
 * A process that forks when it has a large tree in memory pays for every page that it writes afterwards. So one child,
 * the keeper, is forked early, when there is little; it parses nothing, and forks the parser, and another one when it
 * has died. What a parser died of is not tried again, and after a few deaths nothing is. Time is one account for all,
 * so a new parser gets the free part again, and who had taken little of it when it was used up is asked for once more.
 *
 * Questions go in batches: a look-up takes microseconds, a round trip ten times as long.
 */
#ifndef STATE_APART_H
#define STATE_APART_H

#include "base/bytes.h"
#include "base/err.h"
#include "state/data_types.h"

struct apart;
struct apart_file;

/* Forks the keeper, which is better done early. NULL when that cannot be done. Thread-safe from then on. */
struct apart *apart_new(void);
void apart_free(struct apart *a);
/* Programs that run for long call this after they have closed all files. The next parser starts with a full budget,
 * and each file counts against it again. What a parser died of is still not tried again, so such a death does not
 * count any more, except for a few of them. */
void apart_renew(struct apart *a);

/* A file of DWARF; takes fd. alone: no other file that it names may be opened. part: what is asked for
 * (state/dwarf.h); files and lines take most of the time. Nothing is read before the first question, or
 * apart_file_ahead. Files are closed before apart_free. */
struct apart_file *apart_file_new(struct apart *a, int fd, bool alone, enum dwarf_part part);
void apart_file_free(struct apart_file *f);
/* Begins to open it, and does not wait until that is done, which may take long: a question is likely to come. If the
 * parser dies of that, the death does not count before it comes, and nothing is opened ahead any more. */
void apart_file_ahead(struct apart_file *f);

/*
 * What holds these linked addresses (state/dwarf.h): for each a u32, how many frames, innermost first; each frame a
 * u32, its line, a byte of APART_HAS, and the texts that it says are there, with a NUL behind each. 0, ERR_FORMAT when
 * the file has no usable DWARF, or ERR_LIMIT when its parser died or took too much; then *why says it, once for each
 * file.
 */
#define APART_HAS_FUNCTION 1
#define APART_HAS_FILE 2
#define APART_FRAMES 32
#define APART_BATCH 256
int apart_lines(struct apart_file *f, const u64 *addrs, u32 n, struct bytes *reply, const char **why);

/*
 * All of the functions that hold linked addresses, of which each is higher than the one before, inlined calls and all:
 * u64 from, u64 to: in all of that range the same function holds addresses, or none; so those that follow there have
 * no answers of their own. u64, where it is entered; u32 ranges, u32 spans; the ranges, two u64 each; the spans by
 * address, up to the next one or the end of a range: u64 start, u32 frames, innermost first; each frame four u32s,
 * its line, the line where its function begins, the discriminator, and where the linkers' name of its function is,
 * with a NUL behind it, counted from the beginning of the answer: right behind these numbers; or, if it has at most
 * APART_NAME_AGAIN bytes, where the answer has had it before. Without ranges: nothing holds the address. An answer
 * that has become long ends early, and the rest is to be asked for once more. A function in several parts may come
 * several times. Otherwise as apart_lines; the file was opened with lines.
 */
#define APART_NAME_AGAIN 512
int apart_functions(struct apart_file *f, const u64 *addrs, u32 n, struct bytes *reply, const char **why);

/*
 * Types of the variables at n linked addresses, or, with code, of what the instructions at them load and store
 * (state/data_types.h): for each a u32, 0 or 1, and with 1 a u64, the offset in the type, and two texts, the type and
 * its members there, with a NUL behind each. Otherwise as apart_lines; the file was opened for DWARF_TYPES.
 */
#define APART_CODE (256u << 10) /* most bytes of code */
int apart_types(struct apart_file *f, const struct data_code *code, const u64 *addrs, u32 n, struct bytes *reply,
		const char **why);

/*
 * Linkers' names made readable (state/demangle.h). Each of the n names has a NUL behind it, and so has each readable
 * one in the reply, which is empty where there is none. 0, or ERR_LIMIT when the parser died or took too much, and the
 * reply is empty; then *why says it, or is NULL when one died before of what has the same identity (a hash of where
 * the names are from; 0: not known), and nothing is asked.
 */
#define APART_NAMES_BYTES (1u << 20) /* of one question; names, too, are at most APART_BATCH */
int apart_names(struct apart *a, u64 identity, const struct bytes *names, struct bytes *reply, const char **why);

/* Unpacks .xz data (state/unxz.h). Returns 0, ERR_FORMAT if the data are not .xz, or ERR_LIMIT as above. The data are
 * identified by their contents. */
#define APART_PACKED_BYTES (16u << 20)
int apart_unxz(struct apart *a, const u8 *packed, u64 size, struct bytes *reply, const char **why);

/* Do answers depend on further files as well? Known with the first answer, and may become true with each. */
bool apart_file_needs_others(const struct apart_file *f);

#endif
