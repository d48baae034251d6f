/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * watch.c - looks into the maps of a running usermap-iolat, as one who may only
 * read them.
 *
 *   watch PREFIX    prints "calls N", "call OP FD" for each call under way, and
 *                   "file COUNT BYTES NAME" for each file
 */
#include <stdio.h>
#include <stdlib.h>
#include "iolat.h"
#include "usermap/usermap.h"

static struct um_iter *walk(const char *prefix, const char *suffix)
{
	UM_OPTS(um_open_opts, opts, .map_flags = BPF_F_RDONLY);
	struct um_map *map;
	struct um_iter *it;
	char path[4096];
	int err;

	snprintf(path, sizeof(path), "%s%s", prefix, suffix);
	err = um_map_open(path, &opts, &map);
	if (!err)
		err = um_iter_open(map, &it);
	if (err) {
		fprintf(stderr, "%s: %s\n", path, um_strerror(err, UM_OPEN));
		exit(1);
	}
	return it;
}

int main(int argc, char **argv)
{
	struct iolat_start_key start_key;
	struct iolat_hist_key hist_key;
	struct iolat_file_key file_key;
	struct iolat_start start;
	struct iolat_file file;
	uint64_t nr, calls = 0;
	struct um_iter *it;

	if (argc != 2) {
		fprintf(stderr, "watch PREFIX\n");
		return 2;
	}
	it = walk(argv[1], IOLAT_HIST);
	while (um_iter_next(it, &hist_key, &nr) == 0)
		calls += hist_key.op == IOLAT_LOST ? 0 : nr;
	printf("calls %llu\n", (unsigned long long)calls);
	it = walk(argv[1], IOLAT_STARTS);
	while (um_iter_next(it, &start_key, &start) == 0)
		if (start.start_ns)
			printf("call %u %d\n", start.op, start.fd);
	it = walk(argv[1], IOLAT_FILES);
	while (um_iter_next(it, &file_key, &file) == 0)
		printf("file %llu %llu %s\n", (unsigned long long)file.count,
		       (unsigned long long)file.bytes, file.name);
	return 0;
}
