/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin loads the library, uses it in a thread, and unloads it before that thread ends. */
#include <dlfcn.h>
#include <pthread.h>

#include "reticle/activity.h"
#include "test.h"

static void *use(void *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*push)(const struct activity_ids *);

	CHECK(library);
	*(void **)&push = dlsym(library, "activity_push");
	CHECK(push);
	push(&(const struct activity_ids){ { 1 }, { 2 }, 0 });
	CHECK(!dlclose(library));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	CHECK(argc == 2 && !pthread_create(&thread, NULL, use, argv[1]));
	CHECK(!pthread_join(thread, NULL));
	return 0;
}
