/* SPDX-License-Identifier: Apache-2.0 */
/* How the servers among the examples begin. */
#ifndef LISTEN_H
#define LISTEN_H

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* A socket at a free port of this machine alone, which is told: "port N". -1: errno says why. */
static inline int listen_here(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t length = sizeof(address);

	if (fd >= 0 && (bind(fd, (struct sockaddr *)&address, length) || listen(fd, 64) ||
			getsockname(fd, (struct sockaddr *)&address, &length))) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0) {
		printf("port %u\n", ntohs(address.sin_port));
		fflush(stdout);
	}
	return fd;
}

#endif
