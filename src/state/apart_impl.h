/* SPDX-License-Identifier: Apache-2.0 */
/* What both sides of state/apart.h share; nobody else includes this. */
#ifndef STATE_APART_IMPL_H
#define STATE_APART_IMPL_H

#include "base/bytes.h"

enum apart_kind {
	APART_SPAWN, /* to the keeper, with the parser's socket: fork one. Answer: its pid */
	APART_OPEN,  /* u32 id, u32 of what apart_file_new was told, where the file is, and a descriptor. Answer: u32,
			APART_USABLE and so on */
	APART_CLOSE, /* u32 id. No answer */
	APART_LINES, /* u32 id, then u64s: addresses. Answer as in apart.h */
	APART_FUNCTIONS, /* u32 id, then u64s: addresses. Answer as in apart.h */
	APART_TYPES,	 /* u32 id, u32 bytes of code, u32 its machine, u64 where it begins, the code, then u64s:
			    addresses. No     code: of data. Answer as in apart.h */
	APART_NAMES,	 /* names, each with its NUL. Answer as in apart.h */
	APART_UNXZ,	 /* .xz bytes. Answer: a byte, and what they stand for where that is 1 */
	APART_ANSWER,
	APART_WANT_FILE, /* from the parser, while it works: a path. Answered with a descriptor, or without */
	APART_WANT_LINK, /* likewise: /proc/self/fd/N. Answered with where that leads to */
};

enum { APART_USABLE = 1, APART_SPLIT = 2, APART_LATER = 4 /* cannot be opened alone, and is not open */ };
enum { APART_ALONE = 1, APART_AHEAD = 2 /* no other file is asked for */, APART_PART = 4 /* times enum dwarf_part */ };

struct apart_head {
	u32 kind, size;
};

#define APART_LARGEST (64u << 20) /* of an answer */
#define APART_SOCKET 3		  /* the number of the socket, in both children */

/* Both whole, or false. fd -1: none goes along; *fd -1: none came. */
bool apart_send(int sock, enum apart_kind kind, const void *p, u32 size, int fd);
bool apart_receive(int sock, struct apart_head *h, struct bytes *out, int *fd);
/* Their parts, for who must not wait for ever. One sendmsg of what stands behind the first `at` bytes of a message;
 * how many bytes went, or -1. */
ssize_t apart_put(int sock, const struct apart_head *head, const void *p, size_t at, int fd, int flags);
/* One recvmsg; how many bytes came, 0 at the end, -1: none yet or an error. *fd: set when a descriptor came. One that
 * comes beside another, or while *fd is one, is an error, and is closed. */
ssize_t apart_take(int sock, void *to, size_t n, int *fd, int flags);

/* In the keeper, which never returns from it. */
_Noreturn void apart_keep(int sock);
/* In the parser, likewise. */
_Noreturn void apart_parse(void);
/* Gives up everything that parsing does not need. False: this kernel cannot filter system calls. */
bool apart_confine(void);

#endif
