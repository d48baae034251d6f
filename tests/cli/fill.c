/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * fill.c - a program whose map the command looks into.
 *
 *   fill FILE N         make a map of 2 * N places, entries {i: 3 * i} for i below N
 *   fill FILE N SECONDS the same, then insert, replace and delete keys from N to
 *                       2 * N - 1 and replace those below N, until SIGTERM or
 *                       the seconds are over; prints "ready" before
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <usermap/usermap.h>

/* Three words: a value that is replaced as a whole, not in place. */
struct value {
	uint64_t number, again, round;
};

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	stop = 1;
}

static void must(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "%s: error %d\n", what, err);
	exit(1);
}

static void put(struct um_map *map, uint32_t key, uint64_t round)
{
	struct value value = { 3ULL * key, 3ULL * key, round };

	must(um_map_update_elem(map, &key, &value, BPF_ANY), "update");
}

static void churn(struct um_map *map, uint32_t n, int seconds)
{
	time_t end = time(NULL) + seconds;
	uint64_t round;

	for (round = 1; !stop && time(NULL) < end; round++) {
		uint32_t i;

		for (i = 0; i < n && !stop; i++) {
			uint32_t extra = n + i;

			put(map, extra, round);
			put(map, (uint32_t)(i * 7919ULL % n), round);
			if (round & 1)
				must(um_map_delete_elem(map, &extra), "delete");
		}
	}
}

int main(int argc, char **argv)
{
	UM_OPTS(um_map_opts, opts, .path = argc > 1 ? argv[1] : NULL);
	struct um_map *map;
	uint32_t n, key;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "fill FILE N [SECONDS]\n");
		return 2;
	}
	n = (uint32_t)strtoul(argv[2], NULL, 0);
	must(um_map_create(BPF_MAP_TYPE_HASH, "fill", sizeof(key), sizeof(struct value), 2 * n,
			   &opts, &map),
	     "create");
	for (key = 0; key < n; key++)
		put(map, key, 0);
	if (argc == 4) {
		signal(SIGTERM, on_term);
		puts("ready");
		fflush(stdout);
		churn(map, n, atoi(argv[3]));
	}
	um_map_close(map);
	return 0;
}
