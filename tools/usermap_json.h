/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * usermap_json.h - JSON written piece by piece, so that a dump of any length
 * needs the memory of one entry. Small values are jansson's, the brackets
 * around them are kept here.
 */
#ifndef USERMAP_JSON_H
#define USERMAP_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The deepest: array of a batch, its object, array of maps, object, elements. */
#define JSON_MAX_DEPTH 8

struct jw {
	FILE *file;
	bool pretty;
	bool after_key; /* a value must come next */
	bool no_memory; /* something is missing from what was written */
	unsigned int depth;
	unsigned int base; /* depth at which the current command began */
	struct {
		char close;
		bool any;
	} level[JSON_MAX_DEPTH]; /* [0] is the document: one value, no bracket */
};

void jw_open(struct jw *out, char bracket);
void jw_close(struct jw *out);
void jw_key(struct jw *out, const char *key);
void jw_put(struct jw *out, json_t *value);
void jw_bytes(struct jw *out, const unsigned char *bytes, uint32_t size);
bool jw_error(struct jw *out, const char *text);
void jw_begin(struct jw *out);
void jw_end(struct jw *out);
json_t *jw_text(const char *text);

#endif
