/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_pcpu_freelist.c - free indexes: each is given out once and none is lost. */
#include "unit.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "mem/pcpu_freelist.h"

/* Heads on a page each, so that a test can forbid to look at them. */
struct list {
	struct pcpu_freelist l;
	size_t page;
	uint32_t *links;
};

static void list_init(struct list *t, uint32_t nr_cpus, uint32_t nr)
{
	t->page = (size_t)sysconf(_SC_PAGESIZE);
	t->links = calloc(nr + 1, sizeof(*t->links));
	t->l.heads = mmap(NULL, t->page * nr_cpus, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	t->l.head_step = (uint32_t)t->page;
	t->l.nr_cpus = nr_cpus;
	t->l.map = calloc((nr_cpus + 63) / 64, sizeof(uint64_t));
	t->l.links = (struct um_links){ (char *)t->links, sizeof(*t->links), nr };
	check(t->links && t->l.map && t->l.heads != MAP_FAILED);
}

static void list_free(struct list *t)
{
	munmap(t->l.heads, t->page * t->l.nr_cpus);
	free(t->links);
	free(t->l.map);
}

static void push(struct list *t, uint32_t cpu, uint32_t i)
{
	um_pcpu_freelist_push(&t->l, cpu, i, i);
}

static uint32_t pop(struct list *t, uint32_t cpu)
{
	return um_pcpu_freelist_pop(&t->l, cpu);
}

static void the_last_index_pushed_is_the_first_popped(void **state)
{
	struct list t;
	uint32_t i;

	list_init(&t, 2, 100);
	for (i = 1; i <= 100; i++)
		push(&t, 0, i);
	for (i = 100; i >= 1; i--)
		assert_int_equal(pop(&t, 0), i);
	assert_int_equal(pop(&t, 0), 0);
	list_free(&t);
}

static void a_chain_is_pushed_at_once_and_keeps_its_order(void **state)
{
	struct list t;
	uint32_t i;

	list_init(&t, 1, 10);
	push(&t, 0, 10);
	for (i = 1; i < 9; i++)
		t.links[i] = i + 1;
	um_pcpu_freelist_push(&t.l, 0, 1, 9);
	for (i = 1; i <= 10; i++)
		assert_int_equal(pop(&t, 0), i);
	assert_int_equal(pop(&t, 0), 0);
	list_free(&t);
}

static void an_own_index_goes_before_those_of_other_cpus(void **state)
{
	struct list t;

	list_init(&t, 65, 3);
	push(&t, 0, 1);
	push(&t, 64, 2);
	push(&t, 3, 3);
	assert_int_equal(pop(&t, 64), 2);
	assert_int_equal(pop(&t, 3), 3);
	assert_int_equal(pop(&t, 3), 1);
	list_free(&t);
}

static void an_index_is_found_from_every_cpu_on_every_cpu(void **state)
{
	static const uint32_t nr_cpus[] = { 1, 2, 63, 64, 65, 256, 1024 };
	struct list t;
	uint32_t n, from, to, step;

	for (n = 0; n < ARRAY_SIZE(nr_cpus); n++) {
		step = nr_cpus[n] > 100 ? 7 : 1;
		list_init(&t, nr_cpus[n], 1);
		for (from = 0; from < nr_cpus[n]; from += step)
			for (to = 0; to < nr_cpus[n]; to++) {
				push(&t, from, 1);
				assert_int_equal(pop(&t, to), 1);
				assert_int_equal(pop(&t, to), 0);
			}
		list_free(&t);
	}
}

static void a_pop_that_finds_nothing_looks_at_no_other_cpus_list(void **state)
{
	struct list t;
	uint32_t i, cpu;

	list_init(&t, 256, 256);
	for (i = 1; i <= 256; i++)
		push(&t, i - 1, i);
	for (i = 1; i <= 256; i++)
		assert_int_not_equal(pop(&t, 7), 0);
	assert_int_equal(pop(&t, 7), 0); /* clears what bits were left */
	for (cpu = 0; cpu < 256; cpu++)
		if (cpu != 7)
			assert_ok(mprotect(t.l.heads + cpu * t.page, t.page, PROT_NONE));
	assert_int_equal(pop(&t, 7), 0);
	list_free(&t);
}

static void a_damaged_head_or_link_leads_nowhere_outside(void **state)
{
	struct list t;

	list_init(&t, 1, 10);
	push(&t, 0, 4);
	push(&t, 0, 5);
	t.links[5] = 11;
	assert_int_equal(pop(&t, 0), 5);
	assert_int_equal(pop(&t, 0), 0);
	*(uint64_t *)t.l.heads = 11;
	assert_int_equal(pop(&t, 0), 0);
	*(uint64_t *)t.l.heads = UM_INDEX_MASK;
	assert_int_equal(pop(&t, 0), 0);
	list_free(&t);
}

static void taking_all_leaves_an_empty_stack_and_a_whole_chain(void **state)
{
	struct list t;
	uint64_t head = 0;
	uint32_t i, got;

	list_init(&t, 1, 5);
	assert_int_equal(um_stack_pop_all(&head), 0);
	for (i = 1; i <= 5; i++)
		um_stack_push(&head, &t.l.links, i, i);
	assert_false(um_stack_empty(&head));
	got = um_stack_pop_all(&head);
	assert_true(um_stack_empty(&head));
	for (i = 5; i >= 1; i--, got = t.links[got])
		assert_int_equal(got, i);
	assert_int_equal(got, 0);
	list_free(&t);
}

/* ---- threads ---- */

#define THREADS 12
#define HELD 20

struct race {
	struct list t;
	uint64_t *owner; /* of each index: thread + 1 while it has it */
	uint32_t nr_cpus;
};

static void take_one(struct race *r, int thread, struct rng *rng, uint32_t *held, uint32_t *nr)
{
	uint32_t i = pop(&r->t, rng_below(rng, r->nr_cpus));

	if (!i)
		return;
	check(i <= r->t.l.links.nr);
	check_eq(__atomic_exchange_n(&r->owner[i], (uint64_t)thread + 1, __ATOMIC_ACQ_REL), 0);
	held[(*nr)++] = i;
}

/* Give back some of what is held, one by one or as a chain. */
static void give_some(struct race *r, int thread, struct rng *rng, uint32_t *held, uint32_t *nr)
{
	uint32_t n = 1 + rng_below(rng, *nr), i;

	for (i = 0; i < n; i++) {
		uint32_t e = held[*nr - 1 - i];

		check_eq(__atomic_exchange_n(&r->owner[e], 0, __ATOMIC_ACQ_REL), thread + 1);
		if (i + 1 < n) /* nobody else may look at it, but stale pops do */
			__atomic_store_n(&r->t.links[e], held[*nr - 2 - i], __ATOMIC_RELAXED);
	}
	um_pcpu_freelist_push(&r->t.l, rng_below(rng, r->nr_cpus), held[*nr - 1], held[*nr - n]);
	*nr -= n;
}

static void racer(int thread, void *arg)
{
	struct race *r = arg;
	struct rng rng = rng_new(test_seed, (uint64_t)thread);
	uint32_t held[HELD], nr = 0;
	int i;

	for (i = 0; i < SCALED(300000); i++)
		if (nr < HELD && (!nr || rng_below(&rng, 2)))
			take_one(r, thread, &rng, held, &nr);
		else
			give_some(r, thread, &rng, held, &nr);
	while (nr)
		give_some(r, thread, &rng, held, &nr);
}

static void race(uint32_t nr_cpus, uint32_t nr)
{
	struct race r = { .nr_cpus = nr_cpus };
	uint32_t i, got;

	list_init(&r.t, nr_cpus, nr);
	r.owner = calloc(nr + 1, sizeof(*r.owner));
	check(r.owner);
	for (i = 1; i <= nr; i++)
		push(&r.t, i % nr_cpus, i);
	run_team(THREADS, racer, &r);
	for (i = 1; i <= nr; i++) {
		got = pop(&r.t, i % nr_cpus);
		assert_int_not_equal(got, 0);
		assert_int_equal(r.owner[got], 0);
		r.owner[got] = 1;
	}
	assert_int_equal(pop(&r.t, 0), 0);
	free(r.owner);
	list_free(&r.t);
}

static void racing_threads_share_no_index_and_lose_none(void **state)
{
	race(1, 30);
	race(2, 100);
	race(2, 3);
	race(65, 70);
	race(256, 40);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_last_index_pushed_is_the_first_popped),
	cmocka_unit_test(a_chain_is_pushed_at_once_and_keeps_its_order),
	cmocka_unit_test(an_own_index_goes_before_those_of_other_cpus),
	cmocka_unit_test(an_index_is_found_from_every_cpu_on_every_cpu),
	cmocka_unit_test(a_pop_that_finds_nothing_looks_at_no_other_cpus_list),
	cmocka_unit_test(a_damaged_head_or_link_leads_nowhere_outside),
	cmocka_unit_test(taking_all_leaves_an_empty_stack_and_a_whole_chain),
	cmocka_unit_test(racing_threads_share_no_index_and_lose_none),
};

UNIT_MAIN(tests)
