/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * iolat_kernel_bpf.c - loads and attaches the tracer of iolat.bpf.c: what
 * usermap-iolat does, written as BPF programs with the kernel's hash maps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "iolat.h"
#include "iolat_bpf.h"
#include "kernel_map.h"

/* iolat.bpf.o, put in by the build. */
extern const char iolat_bpf_begin[], iolat_bpf_end[];

struct tracer {
	struct bpf_object *obj;
	struct bpf_link *begins;
	struct bpf_link *ends;
	uint64_t calls;
};

/* The calls that usermap-iolat traces too. */
static const unsigned int traced_calls[] = {
	SYS_read,   SYS_write,	 SYS_pread64, SYS_pwrite64,  SYS_readv,	   SYS_writev,
	SYS_preadv, SYS_pwritev, SYS_preadv2, SYS_pwritev2,
#ifdef SYS_open
	SYS_open,   SYS_creat,
#endif
	SYS_openat, SYS_close,	 SYS_fsync,   SYS_fdatasync, SYS_sendfile, SYS_copy_file_range,
};

static int set_calls(struct bpf_object *obj)
{
	struct bpf_map *rodata = bpf_object__find_map_by_name(obj, ".rodata");
	uint8_t op_of_call[IOLAT_CALLS] = { 0 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(traced_calls); i++)
		op_of_call[traced_calls[i]] = (uint8_t)(i + 1);
	if (!rodata)
		return -ENOENT;
	return bpf_map__set_initial_value(rodata, op_of_call, sizeof(op_of_call));
}

static int create(const struct conf *conf, const struct stream *streams, unsigned int nr_streams,
		  void **state, struct why *why)
{
	struct tracer *t = calloc(1, sizeof(*t));

	if (!t) {
		why_set(why, "out of memory");
		return -1;
	}
	if (bpf_embedded_open("iolat", iolat_bpf_begin, iolat_bpf_end, &t->obj, why))
		goto free;
	if (set_calls(t->obj)) {
		why_set(why, "the programs lack their table of system calls");
		goto close;
	}
	if (bpf_embedded_load(t->obj, why))
		goto close;
	*state = t;
	return 0;
close:
	bpf_object__close(t->obj);
free:
	free(t);
	return -1;
}

static void destroy(void *state)
{
	struct tracer *t = state;

	bpf_object__close(t->obj);
	free(t);
}

/* Calls in the histogram. */
static uint64_t count_calls(const struct tracer *t)
{
	int fd = bpf_object__find_map_fd_by_name(t->obj, "histogram");
	struct iolat_bucket key, *prev = NULL;
	uint64_t sum = 0, count;

	while (!bpf_map_get_next_key(fd, prev, &key)) {
		if (!bpf_map_lookup_elem(fd, &key, &count))
			sum += count;
		prev = &key;
	}
	return sum;
}

static struct bpf_link *attach(const struct tracer *t, const char *program)
{
	return bpf_program__attach(bpf_object__find_program_by_name(t->obj, program));
}

/* The end first, so that no call is left half traced. */
static int begin(void *state, struct why *why)
{
	struct tracer *t = state;

	t->calls = count_calls(t);
	t->ends = attach(t, "call_ends");
	t->begins = t->ends ? attach(t, "call_begins") : NULL;
	if (t->begins)
		return 0;
	why_set(why, "cannot attach to the raw tracepoints sys_enter and sys_exit: %s",
		strerror(errno));
	bpf_link__destroy(t->ends);
	return -1;
}

static int end(void *state, uint64_t *calls, struct why *why)
{
	struct tracer *t = state;

	bpf_link__destroy(t->begins);
	bpf_link__destroy(t->ends);
	*calls = count_calls(t) - t->calls;
	return 0;
}

static int probe(struct why *why)
{
	void *state;
	uint64_t calls;
	int ret;

	if (fio_probe(why) || kernel_map_probe(why) || create(NULL, NULL, 0, &state, why))
		return -1;
	ret = begin(state, why);
	if (!ret)
		end(state, &calls, why);
	destroy(state);
	return ret;
}

const struct iolat_impl iolat_kernel_bpf = {
	.base = {
		.name = "kernel-bpf",
		.about = "a BPF program on the raw tracepoints sys_enter and sys_exit, with the "
			 "kernel's hash maps",
		.probe = probe,
		.create = create,
		.destroy = destroy,
	},
	.begin = begin,
	.end = end,
};
