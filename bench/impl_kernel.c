/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * impl_kernel.c - the kernel's hash map, used inside the kernel: the programs of
 * kernel.bpf.c, run a batch at a time by BPF_PROG_TEST_RUN.
 *
 * So the map is measured without a system call for each operation, as programs
 * attached in the kernel use it. What the batch's own call and loop cost is
 * measured with an empty loop and taken off.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel_bpf.h"
#include "kernel_map.h"

/* kernel.bpf.o, put in by the build. */
extern const char kernel_bpf_begin[], kernel_bpf_end[];

struct kernel {
	struct bpf_object *obj;
	int table;
	int empty_keys;
	int lookup_keys;
	int update_keys;
};

static uint32_t value_room(const struct conf *conf)
{
	return (conf->value_size + 7) & ~7U;
}

/* Sizes that the object leaves open. */
static int set_sizes(struct bpf_object *obj, const struct conf *conf, const struct stream *streams,
		     unsigned int nr_streams)
{
	struct bpf_map *table = bpf_object__find_map_by_name(obj, "table");
	struct bpf_map *keys = bpf_object__find_map_by_name(obj, "streams");
	struct bpf_map *values = bpf_object__find_map_by_name(obj, "values");
	struct bpf_map *rodata = bpf_object__find_map_by_name(obj, ".rodata");
	const struct kernel_params params = {
		.value_size = conf->value_size,
		.stride = streams->stride,
		.mask = streams->nr - 1,
	};
	int err = 0;

	if (!table || !keys || !values || !rodata)
		return -ENOENT;
	err = err ?: bpf_map__set_key_size(table, conf->key_size);
	err = err ?: bpf_map__set_value_size(table, conf->value_size);
	err = err ?: bpf_map__set_max_entries(table, conf->size);
	err = err ?: bpf_map__set_value_size(keys, streams->nr * streams->stride);
	err = err ?: bpf_map__set_max_entries(keys, nr_streams);
	err = err ?: bpf_map__set_value_size(values, value_room(conf));
	err = err ?: bpf_map__set_max_entries(values, conf->threads);
	return err ?: bpf_map__set_initial_value(rodata, &params, sizeof(params));
}

/* Copy the streams to where the programs read them, one behind the other. */
static int copy_streams(const struct bpf_object *obj, const struct stream *streams,
			unsigned int nr_streams)
{
	const size_t each = (size_t)streams->nr * streams->stride;
	char *keys = mmap(NULL, each * nr_streams, PROT_READ | PROT_WRITE, MAP_SHARED,
			  bpf_object__find_map_fd_by_name(obj, "streams"), 0);
	unsigned int i;

	if (keys == MAP_FAILED)
		return -errno;
	for (i = 0; i < nr_streams; i++)
		memcpy(keys + i * each, streams[i].keys, each);
	munmap(keys, each * nr_streams);
	return 0;
}

static int program_fd(const struct bpf_object *obj, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(obj, name));
}

static int load(struct kernel *k, const struct conf *conf, const struct stream *streams,
		unsigned int nr_streams, struct why *why)
{
	int err;

	if (bpf_embedded_open("bench", kernel_bpf_begin, kernel_bpf_end, &k->obj, why))
		return -1;
	err = set_sizes(k->obj, conf, streams, nr_streams);
	if (!err && bpf_embedded_load(k->obj, why))
		goto close;
	if (!err)
		err = copy_streams(k->obj, streams, nr_streams);
	if (err) {
		why_set(why, "cannot set the programs up: %s", strerror(-err));
		goto close;
	}
	k->table = bpf_object__find_map_fd_by_name(k->obj, "table");
	k->empty_keys = program_fd(k->obj, "empty_keys");
	k->lookup_keys = program_fd(k->obj, "lookup_keys");
	k->update_keys = program_fd(k->obj, "update_keys");
	return 0;
close:
	bpf_object__close(k->obj);
	return -1;
}

static int create(const struct conf *conf, const struct stream *streams, unsigned int nr_streams,
		  void **map, struct why *why)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k) {
		why_set(why, "out of memory");
		return -1;
	}
	if (load(k, conf, streams, nr_streams, why)) {
		free(k);
		return -1;
	}
	*map = k;
	return 0;
}

static void destroy(void *map)
{
	struct kernel *k = map;

	bpf_object__close(k->obj);
	free(k);
}

/* The smallest use of all that create() needs. */
static int probe(struct why *why)
{
	static uint64_t keys[512];
	const struct stream stream = {
		.keys = (char *)keys,
		.nr = ARRAY_SIZE(keys),
		.stride = sizeof(keys[0]),
	};
	const struct conf conf = { .threads = 1, .size = 1, .key_size = 8, .value_size = 8 };
	void *map;

	if (kernel_map_probe(why) || create(&conf, &stream, 1, &map, why))
		return -1;
	destroy(map);
	return 0;
}

static int fill(void *map, const struct slice *slice, struct why *why)
{
	return kernel_map_fill(((struct kernel *)map)->table, slice, why);
}

static int run_program(int fd, const struct slice *slice, int want)
{
	struct kernel_job job = {
		.stream = slice->stream,
		.pos = slice->pos,
		.nr = slice->nr,
		.thread = slice->thread,
		.want = want,
		.value = *(uint64_t *)slice->value,
	};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &job, .ctx_size_in = sizeof(job));
	int err = bpf_prog_test_run_opts(fd, &opts);

	if (unlikely(err))
		return err;
	if (unlikely(opts.retval))
		return -ENXIO;
	*(uint64_t *)slice->value = job.value;
	return job.ret;
}

static int batch(void *map, enum bench_op op, const struct slice *slice)
{
	const struct kernel *k = map;

	switch (op) {
	case OP_HIT:
		return run_program(k->lookup_keys, slice, 0);
	case OP_MISS:
		return run_program(k->lookup_keys, slice, -ENOENT);
	case OP_UPDATE:
		return run_program(k->update_keys, slice, 0);
	case OP_REFUSED:
		return run_program(k->update_keys, slice, -E2BIG);
	}
	return -EINVAL;
}

static int empty(void *map, const struct slice *slice)
{
	return run_program(((struct kernel *)map)->empty_keys, slice, 0);
}

const struct backend impl_kernel = {
	.name = "kernel",
	.about = "the kernel's map, used by a program in the kernel; its empty loop taken off",
	.ops = OPS_READ | OPS_WRITE,
	.probe = probe,
	.create = create,
	.destroy = destroy,
	.fill = fill,
	.batch = batch,
	.empty = empty,
};
