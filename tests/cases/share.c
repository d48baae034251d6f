/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* share.c - several processes on one map: by path, by name, by descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"
#include "maps.h"
#include "threads.h"

/* What a parent and the child it has started before the map was made share. */
struct scene {
	uint64_t parent, child; /* how far each is */
	const char *path;
	int socket;
	struct shape shape;
};

static struct scene *new_scene(void)
{
	return shared_memory(sizeof(struct scene));
}

static void put_key(struct um_map *map, uint32_t key, uint64_t value)
{
	check_ok(um_map_update_elem(map, &key, &value, BPF_ANY));
}

static void expect(struct um_map *map, uint32_t key, uint64_t want)
{
	uint64_t value;

	check_ok(um_map_lookup_elem(map, &key, &value));
	check_eq(value, want);
}

static void send_descriptor(int sock, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	check_eq(sendmsg(sock, &msg, 0), 1);
}

static int receive_descriptor(int sock)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd;

	check_eq(recvmsg(sock, &msg, 0), 1);
	check(CMSG_FIRSTHDR(&msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

static struct um_map *open_shared(struct scene *s)
{
	struct um_map *map = NULL;
	int fd;

	if (s->path)
		return open_map(s->path, 0);
	fd = receive_descriptor(s->socket);
	check_ok(um_map_open_fd(fd, NULL, &map));
	close(fd);
	return map;
}

static void answer_updates(void *arg)
{
	struct scene *s = arg;
	struct um_map_info info = { .sz = sizeof(info) };
	struct um_map *map;
	uint32_t key = 1;

	wait_for(&s->parent, 1);
	map = open_shared(s);
	check_ok(um_map_get_info(map, &info));
	check(info.creator_pid == getppid() && info.max_entries == 10 && !info.read_only);
	expect(map, 1, 100);
	put_key(map, 1, 101);
	put_key(map, 2, 200);
	store(&s->child, 1);
	wait_for(&s->parent, 2);
	expect(map, 3, 300);
	check_err(um_map_lookup_elem(map, &key, &(uint64_t){ 0 }), -ENOENT);
	check_counts(map, 2);
	um_map_close(map);
}

static void exchange_updates(struct scene *s, struct um_map *map, pid_t child)
{
	uint32_t key = 1;

	put_key(map, 1, 100);
	store(&s->parent, 1);
	wait_for(&s->child, 1);
	expect(map, 1, 101);
	expect(map, 2, 200);
	check_ok(um_map_delete_elem(map, &key));
	put_key(map, 3, 300);
	store(&s->parent, 2);
	reap(child);
	check_counts(map, 2);
	um_map_close(map);
}

static void processes_share_a_map_by_path_and_by_name(void)
{
	for (uint32_t i = 0; i < 2 * NR_MODES; i++) {
		struct scene *s = new_scene();
		struct shape shape = { .max = 10, .map_flags = i / 2, .backing = IN_FILE };
		struct stat st;
		pid_t child;

		s->path = i % 2 ? test_path("by-path") : "by-name";
		shape.path = s->path;
		child = spawn(answer_updates, s);
		exchange_updates(s, make_map(&shape), child);
		check(!stat(i % 2 ? s->path : test_path("by-name"), &st));
		check_eq(st.st_mode & 07777, 0600);
		check_ok(um_map_unlink(s->path));
		check_err(um_map_open(s->path, NULL, &(struct um_map *){ NULL }), -ENOENT);
	}
}

static void processes_share_a_map_by_descriptor(void)
{
	for (uint32_t i = 0; i < 2 * NR_MODES; i++) {
		struct shape shape = { .max = 10,
				       .map_flags = i % NR_MODES,
				       .backing = i / NR_MODES ? MEMFD : IN_FILE };
		struct scene *s = new_scene();
		struct um_map *map;
		int sockets[2];
		pid_t child;

		check(!socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets));
		s->socket = sockets[1];
		child = spawn(answer_updates, s);
		map = make_map(&shape);
		send_descriptor(sockets[0], um_map_fd(map));
		exchange_updates(s, map, child);
		close(sockets[0]);
		close(sockets[1]);
		um_map_unlink("map");
	}
}

static void a_map_in_a_file_outlives_its_processes(void)
{
	struct shape s = { .max = 100, .backing = IN_FILE };
	struct um_map *map = make_map(&s);
	uint32_t key;

	for (key = 0; key < 50; key++)
		put_key(map, key, key * 3);
	um_map_close(map);
	check_err(try_make_map(&s, &map), -EEXIST);
	map = open_map("map", 0);
	for (key = 0; key < 50; key++)
		expect(map, key, key * 3);
	check_eq(fill_up(map, 1000), 50);
	check_counts(map, 100);
	check_ok(um_map_unlink("map"));
	put_key(map, 1, 5); /* and goes on without its name */
	expect(map, 1, 5);
	um_map_close(map);
}

/* A process that opens a file twice has it once. */
static void handles_of_one_process_share_the_map(void)
{
	struct shape s = { .max = 10, .backing = IN_FILE };
	struct um_map *first = make_map(&s), *second = open_map("map", 0), *third;
	struct um_map_info a = { .sz = sizeof(a) }, b = { .sz = sizeof(b) };

	check_ok(um_map_get_info(first, &a));
	check_ok(um_map_get_info(second, &b));
	check(a.id && a.id == b.id);
	put_key(first, 1, 10);
	expect(second, 1, 10);
	um_map_close(first);
	third = open_map("map", BPF_F_RDONLY);
	put_key(second, 2, 20);
	expect(third, 2, 20);
	check_err(um_map_update_elem(third, &(uint32_t){ 2 }, &(uint64_t){ 0 }, 0), -EPERM);
	um_map_close(second);
	expect(third, 1, 10);
	check_counts(third, 2);
	um_map_close(third);
}

static void a_private_map_has_no_descriptor(void)
{
	struct um_map *map = small_map(1, 0);
	struct um_map_info info = { .sz = sizeof(info) };

	check_err(um_map_fd(map), -EBADF);
	check_ok(um_map_get_info(map, &info));
	check_eq(info.id, 0);
	um_map_close(map);
	check_err(um_map_open_fd(-1, NULL, &map), -EBADF);
	check_err(um_map_open_fd(999, NULL, &map), -EBADF);
}

/* Whatever the caller does to its own copies, the library keeps what it needs. */
static void a_map_works_when_all_descriptors_are_closed(void)
{
	struct shape s = {
		.value_size = 64, .max = 1000, .map_flags = ON_DEMAND, .backing = IN_FILE
	};
	struct um_map *map = make_map(&s), *other;
	int fd;

	for (fd = 3; fd < 64; fd++)
		close(fd);
	check_eq(fill_up(map, 0), 1000);
	check_counts(map, 1000);
	other = open_map("map", BPF_F_RDONLY);
	check_counts(other, 1000);
	um_map_close(other);
	um_map_close(map);
	for (fd = 3; fd < 64; fd++)
		check(fcntl(fd, F_GETFD) < 0);
}

/* ---- racing processes ---- */

enum { ADDS = SCALED(200000), ADD_KEYS = 16 };

static void add_in_threads(int index, void *arg)
{
	uint32_t i, key;

	for (i = 0; i < ADDS; i++) {
		int ret;

		key = i % ADD_KEYS;
		ret = um_map_add_elem(arg, &key, 0, 1);
		check_msg(ret == 0 || ret == 1, "an add answers %s", errno_text(ret));
	}
}

static void add_in_a_process(void *arg)
{
	struct um_map *map = open_map("map", 0);

	run_team(2, add_in_threads, map);
	um_map_close(map);
}

static void adds_of_several_processes_are_exact(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .max = ADD_KEYS, .map_flags = flags, .backing = IN_FILE };
		struct um_map *map = make_map(&s);
		uint64_t value, sum = 0;
		pid_t child[3];
		uint32_t i;

		for (i = 0; i < 3; i++)
			child[i] = spawn(add_in_a_process, NULL);
		for (i = 0; i < 3; i++)
			reap(child[i]);
		for (i = 0; i < ADD_KEYS; i++) {
			check_ok(um_map_lookup_elem(map, &i, &value));
			sum += value;
		}
		check_eq(sum, 3 * 2 * ADDS);
		check_counts(map, ADD_KEYS);
		um_map_close(map);
		check_ok(um_map_unlink("map"));
	}
}

/* One process refers to a value while another one replaces and deletes it. */
static void refer(void *arg)
{
	struct scene *s = arg;
	struct um_map *map = open_map("map", 0);
	uint32_t key = 1;
	uint64_t n;
	void *p;
	int i;

	check_ok(um_read_lock(map));
	p = um_map_lookup_ref(map, &key);
	check(p && value_ref_number(p, 64, &n) && n == 1);
	store(&s->child, 1);
	while (!load(&s->parent))
		for (i = 0; i < 1000; i++)
			check(value_ref_number(p, 64, &n) && n == 1);
	check(value_ref_number(p, 64, &n) && n == 1);
	um_read_unlock(map);
	um_map_close(map);
}

static void a_reference_holds_against_writers_of_other_processes(void)
{
	for (uint32_t flags = 0; flags < NR_MODES; flags++) {
		struct shape s = { .value_size = 64,
				   .max = 4,
				   .map_flags = flags,
				   .lock_timeout_ms = 50,
				   .backing = IN_FILE };
		struct um_map *map = make_map(&s);
		struct scene *scene = new_scene();
		unsigned char value[64];
		uint32_t key = 1, n = 0;
		pid_t child;
		int err;

		value_of(1, value, sizeof(value));
		check_ok(um_map_update_elem(map, &key, value, BPF_ANY));
		child = spawn(refer, scene);
		wait_for(&scene->child, 1);
		value_of(2, value, sizeof(value));
		while (!(err = um_map_update_elem(map, &key, value, BPF_ANY)))
			check(++n < 100000);
		check_err(err, -ETIMEDOUT);
		store(&scene->parent, 1);
		reap(child);
		check_ok(um_map_update_elem(map, &key, value, BPF_ANY));
		check_counts(map, 1);
		um_map_close(map);
		check_ok(um_map_unlink("map"));
	}
}

static void freeze_it(void *arg)
{
	struct um_map *map = open_map("map", 0);

	check_ok(um_map_freeze(map));
	check_err(um_map_freeze(map), -EPERM);
	um_map_close(map);
}

static void a_frozen_map_is_frozen_for_all(void)
{
	struct shape s = { .max = 4, .backing = IN_FILE };
	struct um_map *map = make_map(&s);
	struct um_map_info info = { .sz = sizeof(info) };
	uint32_t key = 1;
	uint64_t value = 2;

	put_key(map, 1, 10);
	run_child(freeze_it, NULL);
	check_err(um_map_update_elem(map, &key, &value, BPF_ANY), -EPERM);
	check_err(um_map_delete_elem(map, &key), -EPERM);
	check_err(um_map_lookup_and_delete_elem(map, &key, &value), -EPERM);
	check_err(um_map_add_elem(map, &key, 0, 1), -EPERM);
	expect(map, 1, 10);
	check_ok(um_map_get_info(map, &info));
	check_eq(info.frozen, 1);
	um_map_close(map);
	map = open_map("map", 0);
	check_err(um_map_delete_elem(map, &key), -EPERM);
	check_counts(map, 1);
	um_map_close(map);
}

static const struct test tests[] = {
	{ "processes_share_a_map_by_path_and_by_name", processes_share_a_map_by_path_and_by_name },
	{ "processes_share_a_map_by_descriptor", processes_share_a_map_by_descriptor },
	{ "a_map_in_a_file_outlives_its_processes", a_map_in_a_file_outlives_its_processes },
	{ "handles_of_one_process_share_the_map", handles_of_one_process_share_the_map },
	{ "a_private_map_has_no_descriptor", a_private_map_has_no_descriptor },
	{ "a_map_works_when_all_descriptors_are_closed",
	  a_map_works_when_all_descriptors_are_closed },
	{ "adds_of_several_processes_are_exact", adds_of_several_processes_are_exact },
	{ "a_reference_holds_against_writers_of_other_processes",
	  a_reference_holds_against_writers_of_other_processes },
	{ "a_frozen_map_is_frozen_for_all", a_frozen_map_is_frozen_for_all },
};

TEST_MAIN(tests)
