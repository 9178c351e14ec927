/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions: which one an address of user space lies in, as far as symbols tell. It answers two questions that are not
 * each other's opposite: whether two addresses surely lie in one function, and whether they may.
 */
#ifndef ATTRIB_FUNCTIONS_H
#define ATTRIB_FUNCTIONS_H

#include "state/procs.h"

struct function {
	u64 name;  /* hash of the symbol's name, of an entry of the PLT that of the function which it leads to; without
		    * a symbol, of where the file says that the function begins; 0: nobody knows */
	u64 entry; /* hash of the DSO and the symbol, or of name; 0: an entry of the PLT, or nobody knows */
	bool named; /* a symbol holds the address */
	bool binds; /* code of the dynamic linker that no symbol holds */
	u32 dso;
};

/* In which address space an address is looked up: that of a sample's thread, at the sample's time. */
struct asker {
	u32 pid, tid;
	u64 clock;
};

/* One per worker; the state behind it is shared and read-only, apart from lazily loaded symbols. */
struct functions;
struct functions *functions_new(const struct procs *procs, struct dsos *dsos);
void functions_free(struct functions *f);

/* What was mapped then: where maps are the same, an address lies in the same function, of whichever process. */
struct maps functions_maps(struct functions *f, const struct asker *who);

/* Symbols of one name in one file may be two functions of that name, so they are one only if it is one symbol. */
struct function function_at(struct functions *f, const struct asker *who, u64 addr);

/*
 * Can a thread that called `to` be in the function of `in` because the function of `to` jumps there (a tail call, a
 * part that the compiler moved away), also by way of others of its file? True also where nobody can tell: no symbols,
 * no code, not x86-64's; jumps to addresses that are worked out; functions of more than 256 KB, and all that comes
 * after 8 MB of code. An entry of the PLT leads to what has a part of its name, so an alias of quite another name is
 * missed.
 */
bool function_may_jump(struct functions *f, const struct asker *who, u64 to, u64 in);

/* Does its code have a call of itself? False also where nobody can tell. */
bool function_calls_itself(struct functions *f, const struct asker *who, u64 addr);

/* May a thread come back to it without the returns of what it has called, because its code calls setjmp or the like,
 * or code of its file switches stacks (swapcontext)? False also where nobody can tell. */
bool function_comes_back(struct functions *f, const struct asker *who, u64 addr);

/*
 * Can a thread be in the function of `in` only because the call instruction at `site` called it? CALLED_ELSEWHERE: the
 * code has another way to it, or its address, so that it may be called from anywhere. CALLED_UNKNOWN: nobody can tell:
 * its code is not there, or not x86-64's; or the C library begins a process or a thread there, with a function that it
 * was given, and no code calls that function.
 */
enum called { CALLED_UNKNOWN, CALLED_ONLY_THERE, CALLED_ELSEWHERE };
enum called function_called_at(struct functions *f, const struct asker *who, u64 in, u64 site);

static inline bool function_is(const struct function *a, const struct function *b)
{
	return a->name && a->name == b->name && (a->entry == b->entry || !a->entry || !b->entry);
}

/* True also where nobody can tell: in code of one file that says nothing of its functions. */
static inline bool function_may_be(const struct function *a, const struct function *b)
{
	return a->name && b->name ? a->name == b->name : a->dso == b->dso;
}

/* May a thread that called `to`, an entry of the PLT, be in `in` meanwhile? The first call goes by way of the dynamic
 * linker, which finds out where to. */
static inline bool function_binds(const struct function *to, const struct function *in)
{
	return to->name && !to->entry && in->binds;
}

/* The same by symbols alone: true for all code of a file that has none. */
static inline bool function_may_be_by_symbol(const struct function *a, const struct function *b)
{
	return a->named && b->named ? a->name == b->name : a->dso == b->dso;
}

#endif
