/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * fuzz_arena.c - a file of a map in which bytes have been changed by somebody who
 * may write to it: opened, read, walked and written to. Errors and wrong values
 * are right; a crash, a hang or a byte outside of the file is not. Each eight bytes
 * of input are a change: which part of the file, where in it, and what.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "check.h"
#include "fuzz.h"
#include "maps.h"
#include "mem/arena.h"

#define KEYS 40
#define STEPS 100000 /* of a walk; far above what the map has room for */

/* ---- a file to change ---- */

static int copy_of(int from)
{
	static char buf[65536];
	int fd = memfd_create("hostile", MFD_CLOEXEC);
	off_t at = 0, end, size = lseek(from, 0, SEEK_END);

	check(fd >= 0 && !ftruncate(fd, size));
	while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
		end = lseek(from, at, SEEK_HOLE);
		while (at < end) {
			ssize_t n = pread(from, buf, sizeof(buf), at);

			check(n > 0 && pwrite(fd, buf, (size_t)n, at) == n);
			at += n;
		}
	}
	return fd;
}

/* Eight of them: mode, value size, and closed properly or left as by a dead process. */
static int template_file(unsigned int kind)
{
	static int made[8];
	struct shape s = { .key_size = kind & 4 ? 4 : 12,
			   .value_size = kind & 4 ? 8 : 40,
			   .max = KEYS + 8,
			   .map_flags = (kind & 1) | BPF_F_ZERO_SEED,
			   .nr_cpus = 3,
			   .backing = MEMFD };
	unsigned char key[16], value[40];
	struct um_map *map;
	uint32_t i;

	if (made[kind])
		return made[kind];
	map = make_map(&s);
	for (i = 0; i < KEYS + 8; i++) {
		key_of(i, key, s.key_size);
		value_of(i, value, s.value_size);
		check_ok(um_map_update_elem(map, key, value, BPF_ANY));
	}
	check_ok(um_read_lock(map)); /* so that elements wait */
	for (; i > KEYS - 8; i--) {
		key_of(i - 1, key, s.key_size);
		check_ok(um_map_delete_elem(map, key));
	}
	um_read_unlock(map);
	if (kind & 2) {
		made[kind] = copy_of(um_map_fd(map));
		um_map_close(map);
	} else {
		int fd = dup(um_map_fd(map));

		um_map_close(map);
		made[kind] = copy_of(fd);
		close(fd);
	}
	return made[kind];
}

/* ---- changes ---- */

struct region {
	uint64_t start, end;
};

/* What a change may hit: a part of the arena that has memory. */
static struct region region_of(const struct um_header *h, unsigned int which)
{
	const struct um_geometry *g = &h->geo;
	uint64_t elems = (h->elem_fresh + 1) * g->stride;
	const struct region regions[] = {
		{ offsetof(struct um_header, frozen), sizeof(*h) },
		{ 0, sizeof(*h) },
		{ g->blocks, g->blocks + 64 },
		{ g->procs, g->procs + 64 },
		{ g->percpu, g->token_map },
		{ g->token_map, g->buckets },
		{ g->buckets, g->buckets + 64 * (uint64_t)g->nr_buckets },
		{ g->buckets, g->buckets + 64 * (uint64_t)g->nr_buckets },
		{ g->overflow, g->overflow + 64 * 4 },
		{ g->links, g->links + 4 * (uint64_t)g->nr_elems },
		{ g->elems, g->elems + elems },
		{ g->records, g->records + 128 * UM_BLOCK_RECS },
	};

	return regions[which % (sizeof(regions) / sizeof(*regions))];
}

static void change(int fd, const struct um_header *h, const uint8_t b[8])
{
	static const uint32_t likely[] = { 0,	       1,	   2,	       10,	  40,
					   48,	       49,	   0xff,       0xffff,	  0x10000,
					   0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff };
	struct region r = region_of(h, b[0]);
	uint64_t at = r.start + (b[1] | (uint64_t)b[2] << 8) % (r.end - r.start), word = 0;
	size_t size = 1;

	check(pread(fd, &word, 8, (off_t)at) >= 0);
	switch (b[3] % 4) {
	case 0:
		word ^= 1ull << b[4] % 8;
		break;
	case 1:
		at &= ~3ull;
		size = 4;
		word = likely[b[4] % (sizeof(likely) / sizeof(*likely))];
		break;
	case 2:
		at &= ~3ull;
		size = 4;
		memcpy(&word, b + 4, 4);
		break;
	default:
		at &= ~7ull;
		size = 8;
		word = (uint64_t)b[4] << 8 * (b[5] % 8) | b[6];
	}
	check_eq(pwrite(fd, &word, size, (off_t)at), size);
}

/* ---- use ---- */

static int keep(const void *key, void *value, void *ctx)
{
	return ++*(int *)ctx > STEPS;
}

static void look_around(struct um_map *map, uint32_t key_size)
{
	struct um_map_stats st = { .sz = sizeof(st) };
	struct um_map_info info = { .sz = sizeof(info) };
	unsigned char key[64], value[64];
	struct um_iter *it;
	uint32_t i, steps;

	um_map_get_stats(map, &st);
	um_map_get_info(map, &info);
	for (i = 0; i < KEYS + 10; i++) {
		key_of(i, key, key_size);
		um_map_lookup_elem(map, key, value);
		um_map_get_next_key(map, key, key);
	}
	for (steps = 0; steps < 200; steps++)
		if (um_map_get_next_key(map, steps ? key : NULL, key))
			break;
	check_ok(um_iter_open(map, &it));
	for (steps = 0; !um_iter_next(it, key, value); steps++)
		check_msg(steps < STEPS, "a walk does not end");
	um_iter_close(it);
}

static void write_around(struct um_map *map, uint32_t key_size, uint32_t value_size)
{
	unsigned char key[64], value[64];
	uint32_t i;
	int n = 0;

	value_of(7, value, value_size);
	for (i = 0; i < KEYS + 30; i++) {
		key_of(i, key, key_size);
		if (i % 3)
			um_map_update_elem(map, key, value, BPF_ANY);
		else
			um_map_delete_elem(map, key);
		if (i % 5 == 0)
			um_map_add_elem(map, key, 0, 1);
		if (i % 7 == 0)
			um_map_lookup_and_delete_elem(map, key, value);
	}
	if (!um_read_lock(map)) {
		for (i = 0; i < KEYS; i++) {
			volatile unsigned char *ref;

			key_of(i, key, key_size);
			ref = um_map_lookup_ref(map, key);
			if (ref)
				ref[value_size - 1] ^= 1;
		}
		um_read_unlock(map);
	}
	um_synchronize(map);
	um_map_for_each_elem(map, keep, &n, 0);
}

static void use(int fd, bool writable)
{
	UM_OPTS(um_open_opts, opts, .map_flags = writable ? 0 : BPF_F_RDONLY, .lock_timeout_ms = 1);
	struct um_map_info info = { .sz = sizeof(info) };
	struct um_map *map;

	if (um_map_open_fd(fd, &opts, &map))
		return;
	check_ok(um_map_get_info(map, &info));
	/* sizes that another layout would not contradict stay within the buffers */
	if (info.key_size <= 64 && info.value_size <= 64) {
		look_around(map, info.key_size);
		if (writable) {
			write_around(map, info.key_size, info.value_size);
			look_around(map, info.key_size);
		}
	}
	um_map_close(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct um_header h;
	uint32_t changes;
	int fd;

	if (size < 16)
		return 0;
	fd = copy_of(template_file(data[0] % 8));
	check_eq(pread(fd, &h, sizeof(h), 0), sizeof(h));
	changes = 1 + data[1] % 16;
	for (data += 8, size -= 8; size >= 8 && changes; data += 8, size -= 8, changes--)
		change(fd, &h, data);
	use(fd, false);
	use(fd, true);
	use(fd, false);
	close(fd);
	return 0;
}
