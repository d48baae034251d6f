/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* embedding.c - the library in somebody else's process: no demands, no traces. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"
#include "maps.h"
#include "threads.h"

/* ---- without privileges ---- */

/* From now on bpf(2) kills this process. */
static void forbid_bpf(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(filter) / sizeof(*filter), filter };

	check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		skip_test("no system-call filter can be set: %s", strerror(errno));
}

static int plus_one(void *value, void *ctx)
{
	++*(char *)value;
	return 0;
}

/* Results and error codes as the kernel's, call by call. */
static void use_a_map(const struct shape *s)
{
	struct um_map *map = make_map(s);
	uint32_t key = 1, next;
	uint64_t value = 10;

	check_err(um_map_lookup_elem(map, &key, &value), -ENOENT);
	check_err(um_map_delete_elem(map, &key), -ENOENT);
	check_err(um_map_get_next_key(map, NULL, &next), -ENOENT);
	check_err(um_map_update_elem(map, &key, &value, BPF_EXIST), -ENOENT);
	check_err(um_map_update_elem(map, &key, &value, BPF_F_LOCK), -EINVAL);
	check_ok(um_map_update_elem(map, &key, &value, BPF_NOEXIST));
	check_err(um_map_update_elem(map, &key, &value, BPF_NOEXIST), -EEXIST);
	check_err(um_map_add_elem(map, &key, 0, 5), 0);
	check_err(um_map_upsert_elem(map, &key, NULL, plus_one, NULL), 0);
	check_ok(um_map_lookup_elem(map, &key, &value));
	check_eq(value, 16);
	check_ok(um_map_get_next_key(map, NULL, &next));
	check_eq(next, 1);
	check_ok(um_read_lock(map));
	check(um_map_lookup_ref(map, &key));
	um_read_unlock(map);
	check_ok(um_synchronize(map));
	check_eq(fill_up(map, 2), s->max - 1);
	check_counts(map, s->max);
	check_ok(um_map_lookup_and_delete_elem(map, &key, &value));
	check_counts(map, s->max - 1);
	um_map_close(map);
}

static void unprivileged(void *arg)
{
	if (!geteuid())
		check(!setgid(65534) && !setuid(65534));
	forbid_bpf();
	for (uint32_t i = 0; i < NR_MODES * NR_BACKINGS; i++) {
		struct shape s = { .max = 20, .map_flags = i % NR_MODES, .backing = i / NR_MODES };

		use_a_map(&s);
		if (s.backing == IN_FILE)
			check_ok(um_map_unlink("map"));
	}
}

static void an_unprivileged_process_under_a_filter_uses_maps(void)
{
	check(!chmod(test_dir(), 0777));
	unprivileged(NULL);
}

static void the_filter_of_the_test_kills(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		forbid_bpf();
		syscall(SYS_bpf, 0, NULL, 0);
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

/* ---- several users of the library in one process ---- */

struct user {
	struct um_map *map[2];
};

static void mind_own_business(int index, void *arg)
{
	struct user *u = arg;
	struct um_map *map = u->map[index];
	uint64_t value;
	uint32_t key, i;

	for (i = 0; i < 20000; i++) {
		key = i % 100;
		value = (uint64_t)index << 32 | i;
		check_ok(um_map_update_elem(map, &key, &value, BPF_ANY));
		check_ok(um_map_lookup_elem(map, &key, &value));
		check_eq(value, (uint64_t)index << 32 | i);
		if (i % 7 == 0)
			check_ok(um_map_delete_elem(map, &key));
	}
}

static void two_users_in_one_process_do_not_meet(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct user u = { { small_map(100, flags), small_map(100, flags) } };

		run_team(2, mind_own_business, &u);
		um_map_close(u.map[0]);
		check_ok(um_map_update_elem(u.map[1], &(uint32_t){ 1 }, &(uint64_t){ 1 }, 0));
		um_map_close(u.map[1]);
	}
}

/* ---- traces ---- */

static int entries_in(const char *path)
{
	DIR *d = opendir(path);
	int n = -2;

	check(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static long pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long n = 0;

	check(f && fscanf(f, "%ld", &n) == 1);
	fclose(f);
	return n;
}

static void make_and_use(enum backing backing, uint32_t flags)
{
	struct shape s = { .max = 10, .map_flags = flags, .backing = backing };
	struct um_map *map = make_map(&s);
	struct um_iter *it;
	uint32_t key = 1;
	uint64_t value = 1;

	check_ok(um_map_update_elem(map, &key, &value, BPF_ANY));
	check_ok(um_read_lock(map));
	um_read_unlock(map);
	check_ok(um_iter_open(map, &it));
	check_ok(um_iter_next(it, &key, &value));
	um_iter_close(it);
	um_map_close(map);
	if (backing == IN_FILE)
		check_ok(um_map_unlink("map"));
}

static void ten_thousand_maps_leave_nothing(void)
{
	int fds = 0, threads = 0;
	long size = 0;
	uint32_t i;

	for (i = 0; i < 10000; i++) {
		make_and_use(i % 10 < 8 ? PRIVATE : i % 10 == 8 ? MEMFD : IN_FILE, i / 10 % 2);
		if (i == 999) { /* what malloc(3) keeps is there by now */
			fds = entries_in("/proc/self/fd");
			threads = entries_in("/proc/self/task");
			size = pages();
		}
	}
	check_eq(entries_in("/proc/self/fd"), fds);
	check_eq(entries_in("/proc/self/task"), threads);
	check(threads == 1 || SANITIZED); /* a sanitizer may have one of its own */
	check_eq(entries_in(test_dir()), 0);
	check_msg(SANITIZED || pages() <= size + 16, "%ld pages more than after 1000 maps",
		  pages() - size);
}

static void use_on_thread(int index, void *arg)
{
	uint32_t key = (uint32_t)index;
	uint64_t value = 1;

	check_ok(um_map_update_elem(arg, &key, &value, BPF_ANY));
	check_ok(um_read_lock(arg));
	check(um_map_lookup_ref(arg, &key));
	um_read_unlock(arg);
}

/* More threads than a map has records for, one after the other. */
static void threads_that_have_ended_leave_room_for_others(void)
{
	struct um_map *map = small_map(64, 0);
	int i;

	for (i = 0; i < SCALED(70000) / 32 + 1; i++)
		run_team(32, use_on_thread, map);
	check_counts(map, 32);
	um_map_close(map);
}

static void nothing_is_printed_and_no_handler_installed(void)
{
	struct sigaction before[32], after;
	int out = open(test_path("output"), O_RDWR | O_CREAT, 0600), s;
	int saved_out = dup(1), saved_err = dup(2);
	struct stat st;

	check(out >= 0);
	for (s = 1; s < 32; s++)
		sigaction(s, NULL, &before[s]);
	fflush(NULL);
	check(dup2(out, 1) == 1 && dup2(out, 2) == 2);
	for (uint32_t i = 0; i < NR_MODES * NR_BACKINGS; i++)
		make_and_use(i / NR_MODES, i % NR_MODES);
	check(um_map_open("nothing", NULL, &(struct um_map *){ NULL }) < 0);
	fflush(NULL);
	check(dup2(saved_out, 1) == 1 && dup2(saved_err, 2) == 2);
	for (s = 1; s < 32; s++) {
		sigaction(s, NULL, &after);
		check_msg(after.sa_handler == before[s].sa_handler &&
				  after.sa_flags == before[s].sa_flags,
			  "the handler of signal %d is another one", s);
	}
	check(!fstat(out, &st));
	check_eq(st.st_size, 0);
}

/* Any value the library has no reason to put there. */
#define UNTOUCHED 12345

#define keeps_errno(call)                                                                          \
	do {                                                                                       \
		errno = UNTOUCHED;                                                                 \
		(void)(call);                                                                      \
		if (errno != UNTOUCHED) {                                                          \
			fprintf(stderr, "%s: errno is %s\n", #call, errno_text(-errno));           \
			touched++;                                                                 \
		}                                                                                  \
	} while (0)

static void errno_is_never_touched(void)
{
	struct shape file = { .max = 10, .backing = IN_FILE },
		     memfd = { .max = 10, .backing = MEMFD };
	struct um_map *map = NULL, *other = NULL;
	struct um_iter *it = NULL;
	uint32_t key = 1;
	uint64_t value = 1;
	int touched = 0;

	keeps_errno(try_make_map(&memfd, &map));
	keeps_errno(um_map_close(map));
	keeps_errno(try_make_map(&file, &map));
	keeps_errno(try_make_map(&file, &other));
	keeps_errno(um_map_open("map", NULL, &other));
	keeps_errno(um_map_close(other));
	keeps_errno(um_map_open_fd(um_map_fd(map), NULL, &other));
	keeps_errno(um_map_close(other));
	keeps_errno(um_map_close(map));
	keeps_errno(um_map_unlink("map"));
	keeps_errno(um_map_unlink("map"));
	keeps_errno(um_map_open("nothing", NULL, &other));
	keeps_errno(um_map_open_fd(999, NULL, &other));
	keeps_errno(um_map_create(1000, NULL, 4, 8, 1, NULL, &other));
	keeps_errno(um_map_create(BPF_MAP_TYPE_HASH, NULL, 4, 1 << 20, 1 << 27, NULL, &other));
	map = small_map(1, 0);
	keeps_errno(um_map_update_elem(map, &key, &value, BPF_ANY));
	keeps_errno(um_map_update_elem(map, &key, &value, BPF_NOEXIST));
	key = 2;
	keeps_errno(um_map_update_elem(map, &key, &value, BPF_ANY));
	keeps_errno(um_map_lookup_elem(map, &key, &value));
	keeps_errno(um_map_delete_elem(map, &key));
	keeps_errno(um_map_get_next_key(map, &key, &key));
	keeps_errno(um_map_fd(map));
	keeps_errno(um_read_lock(map));
	keeps_errno(um_synchronize(map));
	keeps_errno(um_read_unlock(map));
	keeps_errno(um_synchronize(map));
	keeps_errno(um_iter_open(map, &it));
	keeps_errno(um_iter_next(it, &key, &value));
	keeps_errno(um_iter_close(it));
	keeps_errno(um_map_freeze(map));
	keeps_errno(um_map_close(map));
	check_eq(touched, 0);
}

/* ---- fork ---- */

static void use_inherited_maps(void *arg)
{
	struct user *u = arg;
	uint32_t key = 1;
	uint64_t value;

	/* a private map is the child's own copy, a shared one is shared */
	check_ok(um_map_lookup_elem(u->map[0], &key, &value));
	check_eq(value, 10);
	value = 20;
	check_ok(um_map_update_elem(u->map[0], &key, &value, BPF_EXIST));
	check_ok(um_map_update_elem(u->map[1], &key, &value, BPF_EXIST));
	check_ok(um_read_lock(u->map[0]));
	check(um_map_lookup_ref(u->map[0], &key));
	um_read_unlock(u->map[0]);
	check_eq(fill_up(u->map[0], 100), 9);
	check_counts(u->map[0], 10);
	check_ok(um_synchronize(u->map[0]));
	unprivileged(NULL); /* and makes maps of its own */
	um_map_close(u->map[0]);
	um_map_close(u->map[1]);
}

static void a_forked_child_uses_its_maps(void)
{
	check(!chmod(test_dir(), 0777));
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .max = 10, .map_flags = flags, .backing = MEMFD };
		struct user u = { { small_map(10, flags), make_map(&s) } };
		uint32_t key = 1;
		uint64_t value = 10;

		check_ok(um_map_update_elem(u.map[0], &key, &value, BPF_ANY));
		check_ok(um_map_update_elem(u.map[1], &key, &value, BPF_ANY));
		run_child(use_inherited_maps, &u);
		check_ok(um_map_lookup_elem(u.map[0], &key, &value));
		check_eq(value, 10);
		check_ok(um_map_lookup_elem(u.map[1], &key, &value));
		check_eq(value, 20);
		check_counts(u.map[0], 1);
		check_eq(fill_up(u.map[0], 100), 9);
		um_map_close(u.map[0]);
		um_map_close(u.map[1]);
	}
}

static const struct test tests[] = {
	{ "the_filter_of_the_test_kills", the_filter_of_the_test_kills },
	{ "an_unprivileged_process_under_a_filter_uses_maps",
	  an_unprivileged_process_under_a_filter_uses_maps },
	{ "two_users_in_one_process_do_not_meet", two_users_in_one_process_do_not_meet },
	{ "ten_thousand_maps_leave_nothing", ten_thousand_maps_leave_nothing },
	{ "threads_that_have_ended_leave_room_for_others",
	  threads_that_have_ended_leave_room_for_others },
	{ "nothing_is_printed_and_no_handler_installed",
	  nothing_is_printed_and_no_handler_installed },
	{ "errno_is_never_touched", errno_is_never_touched },
	{ "a_forked_child_uses_its_maps", a_forked_child_uses_its_maps },
};

TEST_MAIN(tests)
