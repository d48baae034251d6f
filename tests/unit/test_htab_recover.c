/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * test_htab_recover.c - each state that a death in a call leaves, made by hand:
 * afterwards the map has its keys, its count and all of its capacity.
 */
#include "unit.h"

#include <stdlib.h>
#include "chain.h"

#define MAX 400u
#define SPARES 50u
#define IN_CHAIN 45u /* keys of bucket 1: its home and four overflow buckets */
#define OTHERS 100u
#define NR (IN_CHAIN + OTHERS)

struct damaged {
	struct um_map *map;
	struct htab *h;
	struct um_header *hdr;
	struct bucket *home; /* bucket 1 */
	uint64_t keys[NR];
	uint32_t nr; /* keys that have to be there afterwards, from the first */
	struct call c;
};

static void make(struct damaged *d, uint32_t value_size, const char *path)
{
	UM_OPTS(um_map_opts, o, .map_flags = BPF_F_ZERO_SEED, .nr_cpus = 3, .spares = SPARES,
		.path = path);
	uint64_t key = 1ull << 50, value[8] = { 0 };
	uint32_t i;

	memset(d, 0, sizeof(*d));
	d->map = unit_map(8, value_size, MAX, &o);
	d->h = &d->map->htab;
	d->hdr = d->map->arena.hdr;
	d->home = &d->h->buckets[1];
	d->nr = NR;
	keys_of_bucket(d->map, 1, d->keys, IN_CHAIN);
	for (i = IN_CHAIN; i < NR; i++) {
		do
			key++;
		while (home_of(d->map, key) == 1);
		d->keys[i] = key;
	}
	for (i = 0; i < NR; i++) {
		value[0] = d->keys[i] * 3;
		check_ok(um_map_update_elem(d->map, &d->keys[i], value, BPF_NOEXIST));
	}
	check_ok(um_thread_rec(&d->map->arena, &d->c.rec));
}

/* How many elements can be had, without keeping them. */
static uint32_t free_elems(struct damaged *d)
{
	elem_idx *got = calloc(d->h->nr_elems + 1, sizeof(*got));
	struct um_rec *reader;
	uint32_t n = 0, i;
	int err;

	check(got);
	for (i = 0; i < 3; i++) /* two epochs, should any wait for readers */
		check(um_mem_reclaim(&d->h->mem, 0, &reader) != -EAGAIN);
	while ((got[n] = um_mem_alloc(&d->h->mem, 0, &err)) != 0)
		check(++n <= d->h->nr_elems);
	for (i = 0; i < n; i++)
		um_mem_free(&d->h->mem, i % 3, got[i]);
	free(got);
	return n;
}

static uint32_t free_overflow(struct damaged *d)
{
	ovf_idx got[MAX + 1];
	uint32_t n = 0, i;
	int err;

	while ((got[n] = um_htab_alloc_overflow(d->h, &err)) != 0)
		check(++n <= MAX);
	for (i = 0; i < n; i++)
		um_htab_free_overflow(d->h, got[i]);
	return n;
}

static uint32_t linked_overflow(struct damaged *d)
{
	uint32_t nr, n = 0, hops;
	struct bucket *b;

	for (nr = 0; nr < d->h->nr_buckets; nr++)
		for_each_in_chain(d->h, b, &d->h->buckets[nr], hops)
			n += hops > 0;
	return n;
}

static void assert_keys(struct damaged *d)
{
	uint64_t key, value[8];
	uint32_t i, n = 0;
	struct um_iter *it;

	for (i = 0; i < NR; i++) {
		int err = um_map_lookup_elem(d->map, &d->keys[i], value);

		assert_int_equal(err, i < d->nr ? 0 : -ENOENT);
		if (!err)
			assert_int_equal(value[0], d->keys[i] * 3);
	}
	assert_int_equal(unit_stats(d->map).count, d->nr);
	assert_ok(um_iter_open(d->map, &it));
	while (!um_iter_next(it, &key, NULL))
		n++;
	um_iter_close(it);
	assert_int_equal(n, d->nr);
}

/* A slot has a tag if it has an index: no slot is lost to a tag of nobody. */
static void assert_slots(struct damaged *d)
{
	uint32_t nr, hops, i;
	struct bucket *b;

	for (nr = 0; nr < d->h->nr_buckets; nr++)
		for_each_in_chain(d->h, b, &d->h->buckets[nr], hops)
			for (i = 0; i < NR_SLOTS; i++)
				assert_int_equal(!b->elem[i], !bucket_tag(b, i));
}

/* The rest of the capacity, to the last place, twice. */
static void assert_capacity(struct damaged *d)
{
	uint64_t value[8] = { 0 }, key, round;

	for (round = 0; round < 2; round++) {
		for (key = 1ull << 60; key < (1ull << 60) + MAX - d->nr; key++)
			assert_ok(um_map_update_elem(d->map, &key, value, BPF_NOEXIST));
		assert_int_equal(um_map_update_elem(d->map, &key, value, BPF_NOEXIST), -E2BIG);
		for (key = 1ull << 60; key < (1ull << 60) + MAX - d->nr; key++)
			assert_ok(del8(d->map, key));
	}
}

static void assert_whole(struct damaged *d)
{
	uint32_t nr;

	for (nr = 0; nr < d->h->nr_buckets; nr++)
		assert_int_equal(d->h->buckets[nr].lock, 0);
	assert_int_equal(d->hdr->recovering, 0);
	assert_keys(d);
	assert_slots(d);
	assert_int_equal(free_elems(d), MAX + SPARES - d->nr);
	assert_int_equal(free_overflow(d) + linked_overflow(d), d->h->nr_overflow);
	assert_capacity(d);
	assert_keys(d);
	assert_slots(d);
}

static void recovers_whole(struct damaged *d)
{
	uint64_t before = d->hdr->recoveries;

	assert_ok(um_htab_recover(d->h));
	assert_int_equal(d->hdr->recoveries, before + 1);
	assert_whole(d);
	assert_ok(um_htab_recover(d->h)); /* and again, with nothing to do */
	assert_whole(d);
	um_map_close(d->map);
}

/* The slot of the last key of the chain. */
static struct slot slot_of(struct damaged *d, uint64_t key)
{
	struct slot s = { NULL, 0, 0 };
	struct bucket *b;
	uint32_t hops, i;

	for_each_in_chain(d->h, b, &d->h->buckets[home_of(d->map, key)], hops)
		for (i = 0; i < NR_SLOTS; i++)
			if (b->elem[i] && !memcmp(elem_key(d->h, b->elem[i]), &key, 8))
				s = (struct slot){ b, i, b->elem[i] };
	check(s.b);
	return s;
}

static void nothing(struct damaged *d)
{
}

static void tag_without_element(struct damaged *d)
{
	struct slot s = slot_of(d, d->keys[--d->nr]);

	/* as an insert stopped between its two stores, token and element in hand */
	s.b->elem[s.i] = 0;
}

static void tag_for_nothing_in_every_free_slot(struct damaged *d)
{
	uint32_t nr, i;

	for (nr = 0; nr < d->h->nr_buckets; nr++)
		for (i = 0; i < NR_SLOTS; i++)
			if (!d->h->buckets[nr].elem[i])
				bucket_set_tag(&d->h->buckets[nr], i, 0x55);
}

static void element_without_tag(struct damaged *d)
{
	struct slot s = slot_of(d, d->keys[3]);

	/* no call does that, but a repair that stopped may have */
	bucket_set_tag(s.b, s.i, 0);
}

static void wrong_tag(struct damaged *d)
{
	struct slot s = slot_of(d, d->keys[3]);

	bucket_set_tag(s.b, s.i, (uint8_t)(bucket_tag(s.b, s.i) ^ 1));
}

static void deleted_but_nothing_given_back(struct damaged *d)
{
	struct slot s = slot_of(d, d->keys[--d->nr]);

	s.b->elem[s.i] = 0;
	bucket_set_tag(s.b, s.i, 0);
}

static void deleted_and_only_the_token_given_back(struct damaged *d)
{
	deleted_but_nothing_given_back(d);
	um_tokens_put(&d->h->tokens, 0);
}

static void empty_overflow_bucket_in_the_chain(struct damaged *d)
{
	ovf_idx o;
	int err = 0;

	o = um_htab_alloc_overflow(d->h, &err);
	memset(&d->h->overflow[o], 0, sizeof(struct bucket));
	d->h->overflow[o].next = d->home->next;
	d->home->next = o;
}

static void overflow_bucket_cut_off(struct damaged *d)
{
	ovf_idx o;
	int err = 0;

	for (o = 0; o < 10; o++)
		assert_int_not_equal(um_htab_alloc_overflow(d->h, &err), 0);
}

static void tokens_missing(struct damaged *d)
{
	int i;

	for (i = 0; i < 50; i++)
		assert_true(um_tokens_take(&d->h->tokens, 1));
}

static void tokens_too_many(struct damaged *d)
{
	int i;

	for (i = 0; i < 500; i++)
		um_tokens_put(&d->h->tokens, 1);
}

static void elements_leaked(struct damaged *d)
{
	int err;

	while (um_mem_alloc(&d->h->mem, 0, &err))
		;
}

static void chain_with_a_ring(struct damaged *d)
{
	struct bucket *b, *last = NULL;
	uint32_t hops;

	for_each_in_chain(d->h, b, d->home, hops)
		last = b;
	last->next = d->home->next;
}

static void indexes_out_of_range(struct damaged *d)
{
	struct bucket *b, *last = NULL;
	uint32_t hops, i;

	for_each_in_chain(d->h, b, d->home, hops)
		last = b;
	last->next = d->h->nr_overflow + 1;
	for (i = 0; i < NR_SLOTS; i++)
		if (!last->elem[i]) {
			last->elem[i] = i % 2 ? d->h->nr_elems + 1 : UINT32_MAX;
			bucket_set_tag(last, i, 7);
		}
}

static void element_never_used_yet(struct damaged *d)
{
	struct bucket *b, *last = NULL;
	uint32_t hops;

	for_each_in_chain(d->h, b, d->home, hops)
		last = b;
	last->elem[9] = (elem_idx)d->hdr->elem_fresh;
	bucket_set_tag(last, 9, 7);
}

static void element_in_two_buckets(struct damaged *d)
{
	struct bucket *other = &d->h->buckets[2];
	uint32_t free = bucket_match(other, 0), i = (uint32_t)__builtin_ctz(free);

	other->elem[i] = slot_of(d, d->keys[0]).e;
	bucket_set_tag(other, i, 9);
}

static void element_twice_in_a_chain(struct damaged *d)
{
	struct slot s = slot_of(d, d->keys[IN_CHAIN - 1]);
	uint32_t i = (s.i + 1) % NR_SLOTS;

	assert_int_equal(s.b->elem[i], 0);
	s.b->elem[i] = s.e;
	bucket_set_tag(s.b, i, bucket_tag(s.b, s.i));
}

static void occupancy_lost(struct damaged *d)
{
	memset(d->h->occupancy, 0, ((d->h->nr_buckets + 63) / 64) * 8);
}

static void lock_word_that_names_nobody(struct damaged *d)
{
	d->home->lock = 0x2aaaa | LOCK_WAITERS;
}

static void free_lists_in_a_knot(struct damaged *d)
{
	uint32_t i;

	for (i = 1; i <= d->h->nr_elems; i++)
		*um_link(&d->h->mem.free.links, i) = 1;
	for (i = 1; i < d->hdr->ovf_fresh; i++)
		d->h->overflow[i].free_link = 0; /* of free ones, and "version" of none */
	d->map->arena.percpu[0].free = 3;
	d->map->arena.percpu[1].free_by_rcu = 4;
	d->map->arena.percpu[2].waiting_for_gp = 5;
}

static void a_repair_that_stopped(struct damaged *d)
{
	d->hdr->recovering = 1;
	um_tokens_reset(&d->h->tokens, 3);
}

static const struct {
	const char *what;
	void (*damage)(struct damaged *d);
} damages[] = {
	{ "nothing", nothing },
	{ "tag without element", tag_without_element },
	{ "tag for nothing in every free slot", tag_for_nothing_in_every_free_slot },
	{ "element without tag", element_without_tag },
	{ "wrong tag", wrong_tag },
	{ "deleted, nothing given back", deleted_but_nothing_given_back },
	{ "deleted, only the token given back", deleted_and_only_the_token_given_back },
	{ "empty overflow bucket in the chain", empty_overflow_bucket_in_the_chain },
	{ "overflow buckets in nobody's chain", overflow_bucket_cut_off },
	{ "tokens missing", tokens_missing },
	{ "tokens too many", tokens_too_many },
	{ "elements leaked", elements_leaked },
	{ "chain with a ring", chain_with_a_ring },
	{ "indexes out of range", indexes_out_of_range },
	{ "element never used yet", element_never_used_yet },
	{ "element in two buckets", element_in_two_buckets },
	{ "element twice in a chain", element_twice_in_a_chain },
	{ "occupancy lost", occupancy_lost },
	{ "lock that names nobody", lock_word_that_names_nobody },
	{ "free lists in a knot", free_lists_in_a_knot },
	{ "a repair that stopped", a_repair_that_stopped },
};

static void every_half_done_state_is_put_right(void **state)
{
	static const uint32_t value_sizes[] = { 8, 40 };
	uint32_t i, s;

	for (i = 0; i < ARRAY_SIZE(damages); i++)
		for (s = 0; s < 2; s++) {
			struct damaged d;

			print_message("             %s, %u-byte values\n", damages[i].what,
				      value_sizes[s]);
			make(&d, value_sizes[s], NULL);
			damages[i].damage(&d);
			recovers_whole(&d);
		}
}

static void all_of_it_at_once_is_put_right(void **state)
{
	struct damaged d;

	make(&d, 8, NULL);
	deleted_but_nothing_given_back(&d);
	tag_without_element(&d);
	tag_for_nothing_in_every_free_slot(&d);
	wrong_tag(&d);
	overflow_bucket_cut_off(&d);
	tokens_missing(&d);
	elements_leaked(&d);
	chain_with_a_ring(&d);
	occupancy_lost(&d);
	lock_word_that_names_nobody(&d);
	free_lists_in_a_knot(&d);
	recovers_whole(&d);
}

/* With readers about, what nobody reaches still waits for them once. */
static void elements_found_by_nobody_wait_for_readers(void **state)
{
	struct damaged d;

	make(&d, 8, NULL);
	assert_ok(um_read_lock(d.map));
	um_read_unlock(d.map);
	elements_leaked(&d);
	assert_ok(um_htab_recover(d.h));
	assert_int_equal(unit_stats(d.map).waiting, MAX + SPARES - NR);
	assert_whole(&d);
	um_map_close(d.map);
}

/* ---- through public calls ---- */

static void a_writer_that_meets_a_lock_of_nobody_repairs_and_goes_on(void **state)
{
	struct damaged d;

	make(&d, 8, NULL);
	lock_word_that_names_nobody(&d);
	assert_ok(put8(d.map, d.keys[0], d.keys[0] * 3));
	assert_int_equal(unit_stats(d.map).recoveries, 1);
	assert_whole(&d);
	um_map_close(d.map);
}

static void a_call_that_finds_a_repair_stopped_finishes_it(void **state)
{
	struct damaged d;

	make(&d, 8, NULL);
	a_repair_that_stopped(&d);
	assert_ok(put8(d.map, d.keys[0], d.keys[0] * 3));
	assert_int_equal(unit_stats(d.map).recoveries, 1);
	assert_whole(&d);
	um_map_close(d.map);
}

static void a_thread_that_holds_a_lock_or_repairs_may_not_repair(void **state)
{
	struct damaged d;

	make(&d, 8, NULL);
	assert_ok(um_bucket_lock(&d.map->arena, d.c.rec, &d.home->lock, 1));
	assert_int_equal(um_htab_recover(d.h), -EBUSY);
	um_bucket_unlock(&d.map->arena, d.c.rec, &d.home->lock);
	um_self.recovering = 1;
	assert_int_equal(um_htab_recover(d.h), -EBUSY);
	um_self.recovering = 0;
	assert_whole(&d);
	um_map_close(d.map);
}

/* A record and a lock of a process slot that nobody's byte lock holds. */
static void what_a_dead_process_held_is_released(void **state)
{
	struct damaged d;
	struct um_arena *a;
	struct um_rec *rec;

	make(&d, 8, "dead");
	a = &d.map->arena;
	assert_ok(um_arena_commit(a, a->geo.records + 128 * 32 * 5, 128 * 32));
	a->blocks[5].owner = 700;
	a->hdr->nr_blocks = 6;
	rec = a->records + 32 * 5 + 3;
	rec->tid = 1;
	rec->call_seq = 7;
	rec->gen = 9;
	rec->section = 1 << 16 | 1;
	rec->held[0] = 2;
	d.home->lock = lock_word_of(a, rec);
	recovers_whole(&d);
	d.map = unit_open("dead");
	a = &d.map->arena;
	assert_int_equal(a->blocks[5].owner, 0);
	rec = a->records + 32 * 5 + 3;
	assert_int_equal(rec->tid, 0);
	assert_int_equal(rec->call_seq & 1, 0);
	assert_int_equal(rec->section, 0);
	assert_int_equal(rec->held[0], 0);
	assert_int_not_equal(rec->gen, 9);
	um_map_close(d.map);
	assert_ok(um_map_unlink("dead"));
}

static void a_live_call_that_does_not_end_stops_a_repair_but_nothing_else(void **state)
{
	struct damaged d;
	struct um_rec *other;

	make(&d, 8, NULL);
	d.map->arena.lock_timeout_ms = 50;
	/* the record of another thread of ours */
	other = d.c.rec + 1;
	other->tid = 1;
	other->call_seq = 5;
	assert_int_equal(um_htab_recover(d.h), -ETIMEDOUT);
	assert_int_equal(d.hdr->recovering, 0);
	assert_int_equal(d.hdr->recoveries, 0);
	other->call_seq = 6;
	recovers_whole(&d);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(every_half_done_state_is_put_right),
	cmocka_unit_test(all_of_it_at_once_is_put_right),
	cmocka_unit_test(elements_found_by_nobody_wait_for_readers),
	cmocka_unit_test(a_writer_that_meets_a_lock_of_nobody_repairs_and_goes_on),
	cmocka_unit_test(a_call_that_finds_a_repair_stopped_finishes_it),
	cmocka_unit_test(a_thread_that_holds_a_lock_or_repairs_may_not_repair),
	cmocka_unit_test(what_a_dead_process_held_is_released),
	cmocka_unit_test(a_live_call_that_does_not_end_stops_a_repair_but_nothing_else),
};

UNIT_MAIN(tests)
