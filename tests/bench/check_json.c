/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* check_json.c - check-bench-json FILE ROWS: the file is as it must be and has so many rows. */
#include <stdio.h>
#include <stdlib.h>

#include "schema.h"

int main(int argc, char **argv)
{
	json_error_t error;
	char fault[256];
	json_t *doc;
	int rows;

	if (argc != 3) {
		fprintf(stderr, "usage: check-bench-json FILE ROWS\n");
		return 2;
	}
	doc = json_load_file(argv[1], JSON_REJECT_DUPLICATES, &error);
	if (!doc) {
		fprintf(stderr, "%s: line %d: %s\n", argv[1], error.line, error.text);
		return 1;
	}
	rows = schema_check(doc, fault, sizeof(fault));
	json_decref(doc);
	if (rows < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], fault);
		return 1;
	}
	if (rows != atoi(argv[2])) {
		fprintf(stderr, "%s: %d rows, not %s\n", argv[1], rows, argv[2]);
		return 1;
	}
	return 0;
}
