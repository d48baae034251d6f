/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * kernel.bpf.c - looks keys up in the kernel's hash map, and updates them, from
 * inside the kernel: no system call but one for a whole batch.
 *
 * The keys are read one after the other from a stream in an array map, as the
 * other back ends read theirs from memory. empty_keys() is the same loop and
 * the same reading without the map.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "kernel_bpf.h"

#define ENOENT 2

/* Sizes are set when it is loaded; these only have to be valid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, 8);
	__uint(value_size, 8);
} table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 8);
} streams SEC(".maps");

/* A buffer for each thread, for values that are no word. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 8);
} values SEC(".maps");

const volatile struct kernel_params params = { .value_size = 8, .stride = 8 };

struct loop {
	char *keys;
	char *big;
	__u64 value;
	__u32 pos;
	__s32 want;
	__s32 ret;
};

static __always_inline void *loop_key(const struct loop *l, __u32 i)
{
	__u64 at = (l->pos + i) & params.mask;

	return l->keys + at * params.stride;
}

static long empty_one(__u32 i, struct loop *l)
{
	l->value += *(__u64 *)loop_key(l, i);
	return 0;
}

/* The value copied to where this thread reads it. */
static __always_inline void read_value(struct loop *l, void *value)
{
	if (params.value_size == 8)
		l->value += *(__u64 *)value;
	else if (params.value_size == 4)
		l->value += *(__u32 *)value;
	else
		bpf_probe_read_kernel(l->big, params.value_size, value);
}

static long lookup_one(__u32 i, struct loop *l)
{
	void *value = bpf_map_lookup_elem(&table, loop_key(l, i));

	if (value)
		read_value(l, value);
	if ((value ? 0 : -ENOENT) == l->want)
		return 0;
	l->ret = value ? 1 : -ENOENT;
	return 1;
}

static long update_one(__u32 i, struct loop *l)
{
	long ret;

	if (params.value_size <= 8) {
		l->value++;
		ret = bpf_map_update_elem(&table, loop_key(l, i), &l->value, BPF_ANY);
	} else {
		++*(__u64 *)l->big;
		ret = bpf_map_update_elem(&table, loop_key(l, i), l->big, BPF_ANY);
	}
	if (ret == l->want)
		return 0;
	l->ret = ret ? ret : 1;
	return 1;
}

static __always_inline int run(struct kernel_job *job, long (*one)(__u32 i, struct loop *l))
{
	__u32 stream = job->stream, thread = job->thread;
	struct loop l = {
		.keys = bpf_map_lookup_elem(&streams, &stream),
		.big = bpf_map_lookup_elem(&values, &thread),
		.value = job->value,
		.pos = job->pos,
		.want = job->want,
	};

	if (!l.keys || !l.big)
		return 1;
	if (bpf_loop(job->nr, one, &l, 0) < 0)
		return 1;
	job->value = l.value;
	job->ret = l.ret;
	return 0;
}

SEC("syscall")
int empty_keys(struct kernel_job *job)
{
	return run(job, empty_one);
}

SEC("syscall")
int lookup_keys(struct kernel_job *job)
{
	return run(job, lookup_one);
}

SEC("syscall")
int update_keys(struct kernel_job *job)
{
	return run(job, update_one);
}

/* The kernel lends bpf_probe_read_kernel() to programs compatible with the GPL only. */
char bpf_license[] SEC("license") = "Dual BSD/GPL";
