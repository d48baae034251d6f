/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_tokens.c - free places: never one too many, and "none" only when there is none. */
#include "unit.h"

#include <stdlib.h>
#include "mem/tokens.h"

static void tokens_init(struct um_tokens *t, uint32_t nr_cpus, uint32_t free)
{
	t->nr_cpus = nr_cpus;
	t->percpu = aligned_alloc(64, nr_cpus * sizeof(*t->percpu));
	t->top = calloc(1, sizeof(*t->top));
	t->groups = calloc((nr_cpus + 31) / 32, sizeof(*t->groups));
	check(t->percpu && t->top && t->groups);
	memset(t->percpu, 0, nr_cpus * sizeof(*t->percpu));
	um_tokens_reset(t, free);
}

static void tokens_free(struct um_tokens *t)
{
	free(t->percpu);
	free(t->top);
	free(t->groups);
}

static const uint32_t cpus[] = { 1, 2, 3, 31, 32, 33, 64, 65, 256, 1024 };

static void there_are_as_many_tokens_as_were_put_in(void **state)
{
	static const uint32_t free[] = { 0, 1, 2, 31, 32, 33, 100, 1000, 5000 };
	struct um_tokens t;
	uint32_t c, f, i;

	for (c = 0; c < ARRAY_SIZE(cpus); c++)
		for (f = 0; f < ARRAY_SIZE(free); f++) {
			tokens_init(&t, cpus[c], free[f]);
			assert_int_equal(um_tokens_sum(&t), free[f]);
			for (i = 0; i < free[f]; i++)
				assert_true(um_tokens_take(&t, i % cpus[c]));
			assert_false(um_tokens_take(&t, 0));
			assert_false(um_tokens_take(&t, cpus[c] - 1));
			assert_int_equal(um_tokens_sum(&t), 0);
			tokens_free(&t);
		}
}

static void a_token_put_on_any_cpu_is_taken_from_any_cpu(void **state)
{
	struct um_tokens t;
	uint32_t c, from, to, step;

	for (c = 0; c < ARRAY_SIZE(cpus); c++) {
		step = cpus[c] > 100 ? 13 : 1;
		tokens_init(&t, cpus[c], 0);
		for (from = 0; from < cpus[c]; from += step)
			for (to = 0; to < cpus[c]; to++) {
				um_tokens_put(&t, from);
				assert_true(um_tokens_take(&t, to));
				assert_false(um_tokens_take(&t, to));
			}
		tokens_free(&t);
	}
}

static void none_holds_until_a_put_and_its_number_tells(void **state)
{
	uint64_t first, again, later;
	struct um_tokens t;
	uint32_t c;

	for (c = 0; c < ARRAY_SIZE(cpus); c++) {
		tokens_init(&t, cpus[c], 1);
		assert_false(um_tokens_none(&t, &first));
		assert_true(um_tokens_take(&t, 0));
		assert_false(um_tokens_take(&t, 0)); /* finds out */
		assert_true(um_tokens_none(&t, &first));
		assert_false(um_tokens_take(&t, 0));
		assert_true(um_tokens_none(&t, &again));
		assert_int_equal(first, again);
		um_tokens_put(&t, cpus[c] - 1);
		assert_false(um_tokens_none(&t, &later));
		assert_true(um_tokens_take(&t, 0));
		assert_false(um_tokens_take(&t, 0));
		assert_true(um_tokens_none(&t, &later));
		assert_int_not_equal(first, later);
		tokens_free(&t);
	}
}

static void a_reset_is_told_by_the_number_too(void **state)
{
	uint64_t before, after;
	struct um_tokens t;

	tokens_init(&t, 40, 0);
	assert_true(um_tokens_none(&t, &before));
	um_tokens_reset(&t, 3);
	assert_int_equal(um_tokens_sum(&t), 3);
	um_tokens_reset(&t, 0);
	assert_true(um_tokens_none(&t, &after));
	assert_int_not_equal(before, after);
	tokens_free(&t);
}

static void bits_of_cpus_that_do_not_exist_end_a_take(void **state)
{
	struct um_tokens t;

	tokens_init(&t, 2, 0);
	t.top[0] |= 1ull << 0;
	t.groups[0] |= 1ull << 5;
	assert_false(um_tokens_take(&t, 0));
	tokens_free(&t);
}

/* ---- threads ---- */

struct race {
	struct um_tokens t;
	uint64_t out; /* tokens that threads hold, counted after take and before put */
	uint64_t most;
	uint64_t refused;
	int held; /* by a thread at a time */
	bool never_refused;
};

static void racer(int thread, void *arg)
{
	struct race *r = arg;
	struct rng rng = rng_new(test_seed, (uint64_t)thread);
	int i, n, held;

	for (i = 0; i < SCALED(20000); i++) {
		n = 1 + (int)rng_below(&rng, (uint32_t)r->held);
		for (held = 0; held < n; held++) {
			if (!um_tokens_take(&r->t, rng_below(&rng, r->t.nr_cpus))) {
				check_msg(!r->never_refused, "%u CPUs: refused, with a token free",
					  r->t.nr_cpus);
				add(&r->refused, 1);
				break;
			}
			check(add(&r->out, 1) <= r->most);
		}
		for (; held > 0; held--) {
			add(&r->out, (uint64_t)-1);
			um_tokens_put(&r->t, rng_below(&rng, r->t.nr_cpus));
		}
	}
}

static void race(int threads, uint32_t nr_cpus, uint32_t tokens, int held, bool never_refused)
{
	struct race r = { .most = tokens, .held = held, .never_refused = never_refused };
	uint32_t i;

	tokens_init(&r.t, nr_cpus, tokens);
	run_team(threads, racer, &r);
	assert_int_equal(um_tokens_sum(&r.t), tokens);
	for (i = 0; i < tokens; i++)
		assert_true(um_tokens_take(&r.t, i % nr_cpus));
	assert_false(um_tokens_take(&r.t, 0));
	tokens_free(&r.t);
}

static const uint32_t raced_cpus[] = { 1, 2, 32, 33, 64, 256 };

static void there_are_never_more_tokens_out_than_there_are(void **state)
{
	uint32_t c;

	for (c = 0; c < ARRAY_SIZE(raced_cpus); c++) {
		race(8, raced_cpus[c], 5, 3, false);
		race(8, raced_cpus[c], 1, 1, false);
	}
}

/*
 * Whoever takes holds none, and the others at most one each: of as many tokens
 * as threads one is always free, put back by a call that has returned. So a
 * refusal is wrong, however the threads are interleaved.
 */
static void a_take_is_not_refused_while_a_token_is_free(void **state)
{
	uint32_t c;

	for (c = 0; c < ARRAY_SIZE(raced_cpus); c++) {
		race(2, raced_cpus[c], 2, 1, true);
		race(4, raced_cpus[c], 4, 1, true);
		race(8, raced_cpus[c], 8, 1, true);
		race(8, raced_cpus[c], 24, 3, true);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(there_are_as_many_tokens_as_were_put_in),
	cmocka_unit_test(a_token_put_on_any_cpu_is_taken_from_any_cpu),
	cmocka_unit_test(none_holds_until_a_put_and_its_number_tells),
	cmocka_unit_test(a_reset_is_told_by_the_number_too),
	cmocka_unit_test(bits_of_cpus_that_do_not_exist_end_a_take),
	cmocka_unit_test(there_are_never_more_tokens_out_than_there_are),
	cmocka_unit_test(a_take_is_not_refused_while_a_token_is_free),
};

UNIT_MAIN(tests)
