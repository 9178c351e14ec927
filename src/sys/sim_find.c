/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/sim_find.h"

#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "sys/search_path.h"

#define PLUGIN "reticle-vpmu.so"
#define ANSWER_MAX (64u << 10)

const struct sim_guest_kind sim_guests[NR_SIM_GUESTS] = {
	[SIM_X86_64] = { "x86_64", "qemu-x86_64", NULL, EM_X86_64 },
	[SIM_AARCH64] = { "aarch64", "qemu-aarch64", "/usr/aarch64-linux-gnu", EM_AARCH64 },
};

static char *absolute(char *path)
{
	char *real = path ? realpath(path, NULL) : NULL;

	free(path);
	return real;
}

char *sim_find_qemu(enum sim_guest guest)
{
	char *path = NULL;

	return search_path(sim_guests[guest].qemu, &path) ? NULL : absolute(path);
}

/* Where the plugin lies, seen from the executable's directory: build tree, installation, multiarch installation. */
static const char *const places[] = {
	"vpmu/" PLUGIN,
#ifdef PLUGIN_FROM_BIN
	PLUGIN_FROM_BIN "/" PLUGIN,
#endif
	"../lib/reticle/" PLUGIN,
};

char *sim_find_plugin(void)
{
	char exe[4096], *slash;
	const char *named = getenv("RETICLE_VPMU");
	ssize_t n = named ? 0 : readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (named)
		return absolute(mem_strdup(named));
	if (n <= 0)
		return NULL;
	exe[n] = 0;
	slash = strrchr(exe, '/');
	if (!slash)
		return NULL;
	slash[1] = 0;
	for (u32 i = 0; i < ARRAY_LEN(places); i++) {
		char *path = absolute(mem_printf("%s%s", exe, places[i]));

		if (path && !access(path, R_OK))
			return path;
		free(path);
	}
	return NULL;
}

/* What `qemu word` prints; NULL when it cannot be asked. */
static char *ask(const char *qemu, const char *word)
{
	char *argv[] = { (char *)qemu, (char *)word, NULL }, *env[] = { NULL };
	struct bytes b = { 0 };
	posix_spawn_file_actions_t io;
	int ends[2], failed;
	ssize_t n;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	posix_spawn_file_actions_init(&io);
	posix_spawn_file_actions_addopen(&io, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&io, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&io, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	failed = posix_spawn(&pid, qemu, &io, NULL, argv, env);
	posix_spawn_file_actions_destroy(&io);
	close(ends[1]);
	do {
		bytes_grow(&b, 4096);
		n = read(ends[0], b.p + b.len, 4096);
		b.len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && b.len < ANSWER_MAX);
	close(ends[0]);
	if (!failed)
		waitpid(pid, NULL, 0);
	bytes_char(&b, 0);
	if (!failed)
		return (char *)b.p;
	bytes_free(&b);
	return NULL;
}

bool sim_takes_plugins(const char *qemu)
{
	char *text = ask(qemu, "-help");
	bool yes = text && strstr(text, "-plugin");

	free(text);
	return yes;
}

char *sim_qemu_version(const char *qemu)
{
	char *text = ask(qemu, "-version"), *at = text ? strstr(text, "version ") : NULL, *version = NULL;

	if (at)
		version = mem_strndup(at + 8, strcspn(at + 8, " (\n"));
	free(text);
	return version;
}
