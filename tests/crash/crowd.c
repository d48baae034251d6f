/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* crowd.c - many processes on one map, one after the other and all at once. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"
#include "maps.h"
#include "threads.h"

enum { ROOM = 1024, TOO_MANY = 5 };

struct crowd {
	uint64_t came, turned_away;
};

static void come(void *arg)
{
	struct crowd *c = arg;
	struct um_map *map = NULL;
	int err = um_map_open("map", NULL, &map);

	check_msg(!err || err == -EUSERS, "open answers %s", errno_text(err));
	if (err)
		add(&c->turned_away, 1);
	add(&c->came, 1);
	for (;;)
		pause();
}

static void a_map_has_room_for_1024_processes_at_a_time(void)
{
	struct shape s = { .max = 10, .backing = IN_FILE };
	struct um_map *map = make_map(&s), *reader;
	struct crowd *c = shared_memory(sizeof(*c));
	pid_t pid[ROOM - 1 + TOO_MANY];
	int i, n = ROOM - 1 + TOO_MANY;

	if (SANITIZED)
		skip_test("a thousand sanitized processes are too many");
	for (i = 0; i < n; i++) {
		pid[i] = spawn(come, c);
		if (i % 8 == 0 || i == n - 1)
			wait_for(&c->came, (uint64_t)i + 1);
	}
	check_eq(c->turned_away, TOO_MANY);
	reader = open_map("map", BPF_F_RDONLY); /* which needs no room */
	um_map_close(reader);
	for (i = 0; i < n; i++)
		check(!kill(pid[i], SIGKILL) && waitpid(pid[i], NULL, 0) == pid[i]);
	um_map_close(open_map("map", 0)); /* the places of the dead are free */
	check_eq(fill_up(map, 0), 10);
	um_map_close(map);
}

/* Opened, written to and closed by all of them at the same moment. */
enum { AT_ONCE = 200 };

static void come_at_the_signal(void *arg)
{
	int *start = arg;
	struct um_map *map;
	uint32_t key = (uint32_t)getpid();
	char byte;

	close(start[1]);
	check_eq(read(start[0], &byte, 1), 0); /* until the other end is closed */
	map = open_map("map", 0);
	check_err(um_map_add_elem(map, &key, 0, 1), 1);
	um_map_close(map);
}

static void many_processes_may_come_at_once(void)
{
	struct shape s = { .max = AT_ONCE, .backing = IN_FILE };
	struct um_map *map = make_map(&s);
	int start[2], i, n = SANITIZED ? 20 : AT_ONCE;
	pid_t pid[AT_ONCE];

	check(!pipe(start));
	for (i = 0; i < n; i++)
		pid[i] = spawn(come_at_the_signal, start);
	close(start[0]);
	close(start[1]);
	for (i = 0; i < n; i++)
		reap(pid[i]);
	check_counts(map, (uint64_t)n);
	um_map_close(map);
}

static const struct test tests[] = {
	{ "a_map_has_room_for_1024_processes_at_a_time",
	  a_map_has_room_for_1024_processes_at_a_time },
	{ "many_processes_may_come_at_once", many_processes_may_come_at_once },
};

TEST_MAIN(tests)
