/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>

void json_key_text(struct json *j, const char *key)
{
	json_key_part(j, key, strlen(key));
}

void json_key_part(struct json *j, const char *key, size_t n)
{
	json_next(j);
	bytes_char(j->out, '"');
	bytes_json(j->out, key, n);
	bytes_str(j->out, j->spaced ? "\": " : "\":");
	j->more = false;
}

void json_s64(struct json *j, s64 v)
{
	json_next(j);
	if (v < 0)
		bytes_char(j->out, '-');
	bytes_dec(j->out, v < 0 ? -(u64)v : (u64)v);
}

void json_real(struct json *j, double v, int digits)
{
	if (!isfinite(v)) {
		json_null(j);
		return;
	}
	json_next(j);
	bytes_real(j->out, v, digits);
}

void json_fixed(struct json *j, double v, int decimals)
{
	if (!isfinite(v)) {
		json_null(j);
		return;
	}
	json_next(j);
	bytes_printf(j->out, "%.*f", decimals, v);
}

void json_str(struct json *j, const char *s, size_t n)
{
	json_next(j);
	bytes_char(j->out, '"');
	if (n)
		bytes_json(j->out, s, n);
	bytes_char(j->out, '"');
}

void json_text(struct json *j, const char *s)
{
	if (s)
		json_str(j, s, strlen(s));
	else
		json_null(j);
}

void json_addr(struct json *j, u64 v)
{
	json_next(j);
	bytes_str(j->out, "\"0x");
	bytes_hex(j->out, v);
	bytes_char(j->out, '"');
}

void json_hex(struct json *j, const u8 *p, size_t n)
{
	json_next(j);
	bytes_char(j->out, '"');
	for (size_t i = 0; i < n; i++)
		bytes_hex_pad(j->out, p[i], 2, '0');
	bytes_char(j->out, '"');
}

void json_list_end_line(struct json *j)
{
	bytes_char(j->out, '\n');
	j->gap = NULL;
	json_list_end(j);
}

void json_rendered(struct json *j, const char *text, size_t n)
{
	size_t comma = !j->more;

	if (!n)
		return;
	bytes_put(j->out, text + comma, n - comma);
	j->more = true;
}
