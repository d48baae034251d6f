/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * iolat.bpf.c - traces file I/O in the kernel: start time into a hash map when a
 * system call begins, looked up and deleted when it ends, a log2 bucket of a
 * histogram incremented. Of all processes.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "iolat_bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u32);
	__type(value, struct iolat_start);
} starts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct iolat_bucket);
	__type(value, __u64);
} histogram SEC(".maps");

/* The operation of each system call, from 1 on; 0: not traced. */
const volatile __u8 op_of_call[IOLAT_CALLS];

static __always_inline __u32 log2_of(__u64 v)
{
	__u32 r = (v > 0xffffffffULL) << 5, shift;

	v >>= r;
	shift = (v > 0xffff) << 4;
	v >>= shift;
	r |= shift;
	shift = (v > 0xff) << 3;
	v >>= shift;
	r |= shift;
	shift = (v > 0xf) << 2;
	v >>= shift;
	r |= shift;
	shift = (v > 0x3) << 1;
	v >>= shift;
	r |= shift;
	return r | (__u32)(v >> 1);
}

SEC("raw_tp/sys_enter")
int call_begins(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 call = ctx->args[1];
	struct iolat_start start = { 0 };
	__u32 tid;

	if (call >= IOLAT_CALLS)
		return 0;
	start.op = op_of_call[call];
	if (!start.op)
		return 0;
	tid = (__u32)bpf_get_current_pid_tgid();
	start.ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&starts, &tid, &start, BPF_ANY);
	return 0;
}

SEC("raw_tp/sys_exit")
int call_ends(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct iolat_start *start = bpf_map_lookup_elem(&starts, &tid);
	struct iolat_bucket key;
	__u64 one = 1, *count;

	if (!start)
		return 0;
	key.op = start->op;
	key.bucket = log2_of(bpf_ktime_get_ns() - start->ns);
	bpf_map_delete_elem(&starts, &tid);

	count = bpf_map_lookup_elem(&histogram, &key);
	if (!count) {
		/* Another CPU may have put it there since: then add to that. */
		if (!bpf_map_update_elem(&histogram, &key, &one, BPF_NOEXIST))
			return 0;
		count = bpf_map_lookup_elem(&histogram, &key);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char bpf_license[] SEC("license") = "Dual BSD/GPL";
