/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * program.c - a program of someone else, C and C++ at once, that has usermap
 * from pkg-config alone.
 */
#include <usermap/usermap.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	struct um_map *map;
	uint64_t value = 0;
	uint32_t key = 7;
	int err;

	err = um_map_create(BPF_MAP_TYPE_HASH, "program", sizeof(key), sizeof(value), 16, NULL, &map);
	if (err) {
		fprintf(stderr, "program: %s\n", um_strerror(err, UM_CREATE));
		return 1;
	}
	err = um_map_add_elem(map, &key, 0, 42);
	if (err == 1) /* inserted */
		err = um_map_lookup_elem(map, &key, &value);
	um_map_close(map);
	if (err || value != 42) {
		fprintf(stderr, "program: error %d, value %llu\n", err, (unsigned long long)value);
		return 1;
	}
	/* The library that runs is the one whose header was read. */
	if (strncmp(um_version(), "0.1.", 4)) {
		fprintf(stderr, "program: version %s\n", um_version());
		return 1;
	}
	printf("%s\n", um_version());
	return 0;
}
