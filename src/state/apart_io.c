/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the sides of state/apart.h. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/types.h"
#include "state/apart_impl.h"

/* All descriptors that came along; how many. Keeps the first one. */
static u32 take_descriptors(struct msghdr *m, int *fd)
{
	u32 n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
			int came;

			memcpy(&came, CMSG_DATA(c) + at, sizeof(came));
			if (n++)
				close(came);
			else
				*fd = came;
		}
	}
	return n;
}

ssize_t apart_take(int sock, void *to, size_t n, int *fd, int flags)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))]; /* which may hold two, as it is rounded up */
	} control;
	struct iovec part = { to, n };
	struct msghdr m = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control.room)
	};
	int first = -1;
	u32 came;
	ssize_t got;

	do
		got = recvmsg(sock, &m, flags | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return got;
	came = take_descriptors(&m, &first);
	if (came > 1 || m.msg_flags & MSG_CTRUNC || (came && *fd >= 0)) {
		if (came)
			close(first);
		errno = EPROTO;
		return -1;
	}
	if (came)
		*fd = first;
	return got;
}

ssize_t apart_put(int sock, const struct apart_head *head, const void *p, size_t at, int fd, int flags)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	size_t skip = MIN(at, sizeof(*head));
	struct iovec parts[2] = { { (u8 *)head + skip, sizeof(*head) - skip },
				  { head->size ? (u8 *)p + (at - skip) : NULL, head->size - (at - skip) } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t n;

	if (fd >= 0 && !at) {
		m.msg_control = control.room;
		m.msg_controllen = sizeof(control.room);
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
						       .cmsg_level = SOL_SOCKET,
						       .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(int));
	}
	do
		n = sendmsg(sock, &m, flags | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n;
}

bool apart_send(int sock, enum apart_kind kind, const void *p, u32 size, int fd)
{
	struct apart_head head = { kind, size };

	for (size_t at = 0; at < sizeof(head) + size;) {
		ssize_t n = apart_put(sock, &head, p, at, fd, 0);

		if (n < 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static bool take_all(int sock, void *to, size_t n, int *fd)
{
	for (size_t at = 0; at < n;) {
		ssize_t got = apart_take(sock, (u8 *)to + at, n - at, fd, 0);

		if (got <= 0)
			return false;
		at += (size_t)got;
	}
	return true;
}

bool apart_receive(int sock, struct apart_head *h, struct bytes *out, int *fd)
{
	*fd = -1;
	out->len = 0;
	if (!take_all(sock, h, sizeof(*h), fd) || h->size > APART_LARGEST)
		return false;
	if (h->size > out->cap)
		bytes_grow(out, h->size);
	if (!take_all(sock, out->p, h->size, fd))
		return false;
	out->len = h->size;
	return true;
}
