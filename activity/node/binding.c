/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What index.js cannot do itself: calls of the library of activities. A record is made in JavaScript, once for each
 * span, and is the bytes of a struct activity_snapshot; to show it is one copy.
 *
 * Each worker thread loads this anew, with JavaScript of its own. The process has one list of keys, which all of them
 * add to.
 */
#define NAPI_VERSION 8
#include <errno.h>
#include <node_api.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "reticle/activity.h"

#define MOST_KEYS 256
#define MOST_NAME 1024 /* bytes of a key or of a service's name, with the NUL */

static struct {
	pthread_mutex_t lock;
	char *keys[MOST_KEYS];
	size_t nr;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- The thread's record ---- */

static napi_value show(napi_env env, napi_callback_info info)
{
	size_t nr = 1, length = 0;
	void *bytes = NULL;
	napi_value record;

	if (napi_get_cb_info(env, info, &nr, &record, NULL, NULL) != napi_ok || nr != 1 ||
	    napi_get_typedarray_info(env, record, NULL, &length, &bytes, NULL, NULL) != napi_ok ||
	    length != sizeof(struct activity_snapshot)) {
		napi_throw_type_error(env, NULL, "show: a record is an Uint8Array of 112 bytes");
		return NULL;
	}
	activity_restore(bytes);
	return NULL;
}

static napi_value hide(napi_env env, napi_callback_info info)
{
	(void)env;
	(void)info;
	activity_clear();
	return NULL;
}

/* -> an ArrayBuffer, what this thread's record says at present */
static napi_value seen(napi_env env, napi_callback_info info)
{
	napi_value copy = NULL;
	void *bytes;

	(void)info;
	if (napi_create_arraybuffer(env, sizeof(struct activity_snapshot), &bytes, &copy) == napi_ok)
		activity_capture(bytes);
	return copy;
}

/* ---- The process ---- */

/* False: it is no string, too long, or has a NUL in it. */
static bool get_name(napi_env env, napi_value value, char *to)
{
	size_t length;

	return napi_get_value_string_utf8(env, value, to, MOST_NAME, &length) == napi_ok && length + 1 < MOST_NAME &&
	       length == strlen(to);
}

static int add_key(const char *name)
{
	for (size_t i = 0; i < process.nr; i++)
		if (!strcmp(process.keys[i], name))
			return 0;
	if (process.nr == MOST_KEYS)
		return -E2BIG;
	process.keys[process.nr] = strdup(name);
	return process.keys[process.nr] ? (process.nr++, 0) : -ENOMEM;
}

/* Adds what is new of an array of names. If the context does not take it, the keys are those that were there. */
static int publish_keys(napi_env env, const char *service, napi_value names)
{
	const size_t before = process.nr;
	char name[MOST_NAME];
	uint32_t nr = 0;
	int err = napi_get_array_length(env, names, &nr) == napi_ok ? 0 : -EINVAL;

	for (uint32_t i = 0; !err && i < nr; i++) {
		napi_value value;

		err = napi_get_element(env, names, i, &value) == napi_ok && get_name(env, value, name) ?
			      add_key(name) :
			      -EINVAL;
	}
	if (!err)
		err = activity_publish(&(struct activity_process){
			.service = service, .keys = (const char *const *)process.keys, .nr_keys = process.nr });
	while (err && process.nr > before)
		free(process.keys[--process.nr]);
	return err;
}

static napi_value list_keys(napi_env env)
{
	napi_value list = NULL, name;

	if (napi_create_array_with_length(env, process.nr, &list) != napi_ok)
		return NULL;
	for (size_t i = 0; i < process.nr; i++)
		if (napi_create_string_utf8(env, process.keys[i], NAPI_AUTO_LENGTH, &name) != napi_ok ||
		    napi_set_element(env, list, (uint32_t)i, name) != napi_ok)
			return NULL;
	return list;
}

/* publish(service, names) -> all names, in the order of their indices */
static napi_value publish(napi_env env, napi_callback_info info)
{
	napi_value arguments[2], list = NULL;
	char service[MOST_NAME];
	size_t nr = 2;
	int err = -EINVAL;

	pthread_mutex_lock(&process.lock);
	if (napi_get_cb_info(env, info, &nr, arguments, NULL, NULL) == napi_ok && nr == 2 &&
	    get_name(env, arguments[0], service))
		err = publish_keys(env, service, arguments[1]);
	if (!err)
		list = list_keys(env);
	pthread_mutex_unlock(&process.lock);
	if (err == -EINVAL)
		napi_throw_type_error(env, NULL,
				      "publish: the service and its keys are strings of at most 1022 bytes");
	else if (err || !list)
		napi_throw_error(env, NULL, strerror(err ? -err : ENOMEM));
	return list;
}

/* The macro defines functions of which node_api.h declares not all. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
NAPI_MODULE_INIT()
{
	static const struct {
		const char *name;
		napi_callback call;
	} functions[] = { { "show", show }, { "hide", hide }, { "seen", seen }, { "publish", publish } };

	if (!activity_thread_start()) {
		napi_throw_error(env, NULL, "no memory for a stack of activities");
		return NULL;
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		napi_value function;

		if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call, NULL,
					 &function) != napi_ok ||
		    napi_set_named_property(env, exports, functions[i].name, function) != napi_ok)
			return NULL;
	}
	return exports;
}
