/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * usermap_json.c - JSON written piece by piece.
 *
 * Whatever a command does, jw_begin() and jw_end() around it make exactly
 * one value of it: what it left open is closed, and if it said nothing the
 * value is null.
 */
#include "usermap_json.h"

#include <stdlib.h>
#include <string.h>

#define INDENT 4

static void new_line(struct jw *out, unsigned int depth)
{
	if (out->pretty)
		fprintf(out->file, "\n%*s", (int)(depth * INDENT), "");
}

static void before_value(struct jw *out)
{
	if (out->after_key) {
		out->after_key = false;
		return;
	}
	if (out->depth > 0) {
		if (out->level[out->depth].any)
			putc(',', out->file);
		new_line(out, out->depth);
	}
	out->level[out->depth].any = true;
}

void jw_open(struct jw *out, char bracket)
{
	before_value(out);
	putc(bracket, out->file);
	out->depth++;
	out->level[out->depth].close = bracket == '[' ? ']' : '}';
	out->level[out->depth].any = false;
}

void jw_close(struct jw *out)
{
	if (out->after_key)
		jw_put(out, json_null());
	if (out->level[out->depth].any)
		new_line(out, out->depth - 1);
	putc(out->level[out->depth].close, out->file);
	out->depth--;
}

void jw_key(struct jw *out, const char *key)
{
	before_value(out);
	fprintf(out->file, out->pretty ? "\"%s\": " : "\"%s\":", key);
	out->after_key = true;
}

/* jansson indents from column 0; move that to the depth the value stands at. */
static int write_piece(const char *piece, size_t size, void *ctx)
{
	struct jw *out = ctx;
	const char *end;

	while (out->depth > 0 && (end = memchr(piece, '\n', size))) {
		size_t n = (size_t)(end - piece);

		fwrite_unlocked(piece, 1, n, out->file);
		new_line(out, out->depth);
		piece += n + 1;
		size -= n + 1;
	}
	fwrite_unlocked(piece, 1, size, out->file);
	return 0; /* the stream remembers its errors until the end of the program */
}

/* Takes over the reference; NULL, which is jansson out of memory, becomes null. */
void jw_put(struct jw *out, json_t *value)
{
	size_t flags = JSON_ENCODE_ANY | (out->pretty ? JSON_INDENT(INDENT) : JSON_COMPACT);

	before_value(out);
	if (!value) {
		out->no_memory = true;
		fputs("null", out->file);
	} else if (json_dump_callback(value, write_piece, out, flags)) {
		out->no_memory = true;
	}
	json_decref(value);
}

/*
 * An array of strings "0x00" to "0xff", in one line also if indented. Made here,
 * since jansson would make five calls of each and a dump has millions.
 */
void jw_bytes(struct jw *out, const unsigned char *bytes, uint32_t size)
{
	static const char digit[] = "0123456789abcdef";
	char text[] = ",\"0x00\"";
	uint32_t i;

	before_value(out);
	putc_unlocked('[', out->file);
	for (i = 0; i < size; i++) {
		text[4] = digit[bytes[i] >> 4];
		text[5] = digit[bytes[i] & 15];
		fwrite_unlocked(i > 0 ? text : text + 1, 1, i > 0 ? 7 : 6, out->file);
	}
	putc_unlocked(']', out->file);
}

static bool value_due(const struct jw *out)
{
	return out->depth > 0 ? out->after_key : !out->level[0].any;
}

/*
 * An error takes the place of the command's value; inside an array it is one
 * more element, inside an object one more member. False: the value is complete
 * and there is no place for it.
 */
bool jw_error(struct jw *out, const char *text)
{
	if (out->depth == out->base && !value_due(out))
		return false;
	if (out->level[out->depth].close == '}' && !out->after_key && out->depth > 0) {
		jw_key(out, "error");
		jw_put(out, jw_text(text));
	} else {
		jw_put(out, json_pack("{s:o}", "error", jw_text(text)));
	}
	return true;
}

void jw_begin(struct jw *out)
{
	out->base = out->depth;
}

void jw_end(struct jw *out)
{
	while (out->depth > out->base)
		jw_close(out);
	if (value_due(out))
		jw_put(out, json_null());
}

/* A string of any bytes: what is not UTF-8, as a file's name may be, becomes U+FFFD. */
json_t *jw_text(const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd";
	json_t *value = json_string(text);
	char *clean, *p;

	if (value)
		return value;
	clean = malloc(strlen(text) * (sizeof(replacement) - 1) + 1);
	if (!clean)
		return NULL;
	for (p = clean; *text; text++) {
		if ((unsigned char)*text < 0x80)
			*p++ = *text;
		else
			p = stpcpy(p, replacement);
	}
	*p = '\0';
	value = json_string(clean);
	free(clean);
	return value;
}
