/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* worker.c - processes that change a map and write down what they do. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include "check.h"
#include "worker.h"

struct crew *new_crew(const struct shape *s, uint64_t seed)
{
	struct crew *c = shared_memory(sizeof(*c));
	int i, k;

	c->shape = *s;
	c->seed = seed;
	for (i = 0; i < WORKERS_MAX; i++)
		for (k = 0; k < KEYS_EACH; k++)
			c->journal[i].value[k] = ABSENT;
	return c;
}

struct worker {
	struct crew *c;
	struct journal *j;
	struct um_map *map;
	struct rng r;
	uint32_t first; /* its first key */
	uint32_t value_size;
	uint64_t life;
};

static uint64_t value_in(struct worker *w, const void *value)
{
	uint64_t n;

	check_msg(value_number(value, w->value_size, &n), "a copy is two values mixed");
	return n;
}

static int set_value(void *value, void *ctx)
{
	struct worker *w = ctx;

	value_of(w->j->after, value, w->value_size);
	return 0;
}

/* One writing call on key k, noted before and after. Returns what it answers. */
static int change(struct worker *w, uint32_t k, uint32_t how)
{
	unsigned char value[VALUE_ROOM];
	uint32_t key = w->first + k;
	struct journal *j = w->j;
	bool takes = how < 6;
	int err;

	j->before = j->value[k];
	j->after = takes ? ABSENT : rng_next(&w->r) >> 8;
	store(&j->doing, k + 1);
	value_of(j->after, value, w->value_size);
	if (how < 3) {
		err = um_map_delete_elem(w->map, &key);
	} else if (how < 6) {
		err = um_map_lookup_and_delete_elem(w->map, &key, value);
		if (!err)
			check_eq(value_in(w, value), j->before);
	} else if (how < 9) {
		err = um_map_upsert_elem(w->map, &key, value, set_value, w);
		if (err >= 0) {
			check_eq(err, j->before == ABSENT);
			err = 0;
		}
	} else {
		err = um_map_update_elem(w->map, &key, value,
					 how < 14	       ? BPF_ANY
					 : j->before == ABSENT ? BPF_NOEXIST
							       : BPF_EXIST);
	}
	if (!err)
		store(&j->value[k], j->after);
	store(&j->doing, 0);
	if (takes)
		check_msg(err == (j->before == ABSENT ? -ENOENT : 0) ||
				  (w->c->may_time_out && err == -ETIMEDOUT),
			  "a removal answers %s", errno_text(err));
	return err;
}

static void look(struct worker *w, uint32_t k)
{
	unsigned char value[VALUE_ROOM];
	uint32_t key = w->first + k;
	int err = um_map_lookup_elem(w->map, &key, value);

	check_err(err, w->j->value[k] == ABSENT ? -ENOENT : 0);
	if (!err)
		check_eq(value_in(w, value), w->j->value[k]);
}

/* Keep references for a moment: who dies here must not hold elements for ever. */
static void look_by_reference(struct worker *w)
{
	int depth = 1 + (int)rng_below(&w->r, 2), i;

	for (i = 0; i < depth; i++)
		check_ok(um_read_lock(w->map));
	for (i = 0; i < 5; i++) {
		uint32_t k = rng_below(&w->r, KEYS_EACH), key = w->first + k;

		check(!um_map_lookup_ref(w->map, &key) == (w->j->value[k] == ABSENT));
	}
	while (depth--)
		um_read_unlock(w->map);
}

static void walk(struct worker *w)
{
	struct um_iter *it;
	uint32_t key;

	check_ok(um_iter_open(w->map, &it));
	while (!um_iter_next(it, &key, NULL))
		;
	um_iter_close(it);
}

static void one_call(struct worker *w)
{
	uint32_t k = rng_below(&w->r, KEYS_EACH), how = rng_below(&w->r, 24);
	uint64_t start = now_ns(), took;
	int err = 0;

	if (how < 18)
		err = change(w, k, how);
	else if (how < 21)
		look(w, k);
	else if (how < 23)
		look_by_reference(w);
	else if (rng_below(&w->r, 16) == 0)
		walk(w);
	if (err == -ETIMEDOUT && w->c->may_time_out)
		w->j->timeouts++;
	else if (err == -E2BIG && !w->c->never_full)
		w->j->refused++;
	else
		check_msg(!err || err == -ENOENT, "a call answers %s", errno_text(err));
	took = now_ns() - start;
	if (took > w->j->longest_ns)
		w->j->longest_ns = took;
	store(&w->j->calls, w->j->calls + 1);
}

static void work(void *arg)
{
	struct worker *w = arg;
	UM_OPTS(um_open_opts, opts, .lock_timeout_ms = w->c->shape.lock_timeout_ms);

	int err;

	do
		err = um_map_open("map", &opts, &w->map);
	while (err == -ETIMEDOUT && w->c->may_time_out);
	check_ok(err);
	while (!load(&w->j->stop)) {
		store(&w->j->paused, load(&w->j->pause));
		if (load(&w->j->pause))
			sleep_us(50);
		else
			one_call(w);
	}
	um_map_close(w->map);
}

pid_t start_worker(struct crew *c, int i, uint64_t life)
{
	struct worker w = { .c = c,
			    .j = &c->journal[i],
			    .r = rng_new(c->seed, life * WORKERS_MAX + (uint64_t)i),
			    .first = KEYS_EACH * (uint32_t)i,
			    .value_size = c->shape.value_size ? c->shape.value_size : 8 };

	w.j->stop = w.j->calls = 0;
	return spawn(work, &w);
}

void kill_worker(pid_t pid)
{
	int status;

	check(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid);
	check_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		  "a worker has ended by itself, status %#x", (unsigned int)status);
}

void pause_worker(struct crew *c, int i)
{
	store(&c->journal[i].pause, 1);
	wait_for(&c->journal[i].paused, 1);
}

void resume_worker(struct crew *c, int i)
{
	store(&c->journal[i].pause, 0);
}

/* What is in the map for a worker's key; ABSENT if nothing. */
static uint64_t value_now(struct crew *c, struct um_map *map, uint32_t key)
{
	unsigned char value[VALUE_ROOM];
	uint32_t size = c->shape.value_size ? c->shape.value_size : 8;
	uint64_t n;
	int err = um_map_lookup_elem(map, &key, value);

	if (err == -ENOENT)
		return ABSENT;
	check_ok(err);
	check_msg(value_number(value, size, &n), "key %u has two values mixed", key);
	return n;
}

static uint64_t settle(struct crew *c, struct um_map *map, int n, uint64_t *unfinished)
{
	uint64_t there = 0;
	int i;

	*unfinished = 0;

	for (i = 0; i < n; i++) {
		struct journal *j = &c->journal[i];
		uint32_t k;

		for (k = 0; k < KEYS_EACH; k++) {
			uint64_t now = value_now(c, map, KEYS_EACH * (uint32_t)i + k);

			if (j->doing == k + 1 && now == j->after)
				j->value[k] = now;
			check_msg(now == j->value[k], "worker %d key %u is %llx, not %llx%s", i, k,
				  (unsigned long long)now, (unsigned long long)j->value[k],
				  j->doing == k + 1 ? ", and was being changed" : "");
			there += now != ABSENT;
		}
		*unfinished += j->doing != 0;
		j->doing = 0;
	}
	return there;
}

/*
 * Places that a dead process had in hand are missed when the map seems full, and
 * are looked for every 100 ms at most.
 */
static uint32_t fill_patiently(struct crew *c, struct um_map *map, uint64_t want)
{
	unsigned char value[VALUE_ROOM] = { 0 };
	uint32_t n = 0, key;
	int tries = 0, err;

	for (;;) {
		key = 1000000 + n;
		err = um_map_update_elem(map, &key, value, BPF_NOEXIST);
		if (!err) {
			n++;
			continue;
		}
		check_err(err, -E2BIG);
		if (n >= want || ++tries == 40)
			return n;
		sleep_us(50000);
	}
}

void check_map(struct crew *c, struct um_map *map, int n)
{
	uint64_t unfinished, there = settle(c, map, n, &unfinished), count = map_count(map);
	uint32_t filled, key;

	/* until somebody looks for it, a dead one's place is neither free nor taken */
	check_eq(map_walk(map), there);
	check_msg(count >= there && count <= there + unfinished,
		  "the count is %llu with %llu there and %llu calls unfinished",
		  (unsigned long long)count, (unsigned long long)there,
		  (unsigned long long)unfinished);
	filled = fill_patiently(c, map, c->shape.max - there);
	check_msg(filled == c->shape.max - there, "%u of %u places are free, with %llu taken",
		  filled, c->shape.max, (unsigned long long)there);
	check_counts(map, c->shape.max);
	while (filled--) {
		key = 1000000 + filled;
		check_ok(um_map_delete_elem(map, &key));
	}
	check_counts(map, there);
}
