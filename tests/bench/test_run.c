/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_run.c - turns, ratios and what is left out, on recorded measurements. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake.h"

struct run {
	struct options opts;
	struct result res;
	int status;
};

/* Run fake_bench as the command line says. */
static void run_fake(struct run *run, int argc, const char *const *args)
{
	char *argv[16] = { (char *)"usermap-bench", (char *)"-q" };
	int i;

	for (i = 0; i < argc; i++)
		argv[i + 2] = (char *)args[i];
	fake_reset();
	assert_int_equal(parse_options(argc + 2, argv, &run->opts), 0);
	run->status = plan_bench(&fake_bench, &run->opts, &run->res);
	if (run->status != 2)
		run->status |= run_bench(&run->res);
}

#define RUN(run, ...)                                                                              \
	do {                                                                                       \
		const char *const args_[] = { __VA_ARGS__ };                                       \
		run_fake(run, ARRAY_SIZE(args_), args_);                                           \
	} while (0)

static void end(struct run *run)
{
	result_free(&run->res);
	options_free(&run->opts);
}

static struct stats ratio_of(const struct result *res, unsigned int nr)
{
	const struct cell *cell = &res->cells[nr];

	return stats_ratio(cell->samples, cell_first_impl(res, cell)->samples, res->repeat);
}

static void assert_within(double value, double of, double part)
{
	if (value < of * (1 - part) || value > of * (1 + part))
		fail_msg("%g is not within %g %% of %g", value, part * 100, of);
}

static void a_back_end_against_itself_is_one(void **state)
{
	struct run run;

	RUN(&run, "--impl", "first,again", "--repeat", "31");
	assert_int_equal(run.status, 0);
	assert_int_equal(run.res.nr_cells, 4);
	assert_true(ratio_of(&run.res, 0).median == 1);
	assert_within(ratio_of(&run.res, 1).median, 1, 0.03);
	end(&run);
}

static void a_fifth_slower_shows_as_a_fifth(void **state)
{
	struct run run;

	RUN(&run, "--impl", "first,slower", "--repeat", "31");
	assert_within(ratio_of(&run.res, 1).median, 1.2, 0.03);
	end(&run);
	RUN(&run, "--impl", "slower,first", "--repeat", "31");
	assert_within(ratio_of(&run.res, 1).median, 1 / 1.2, 0.03);
	end(&run);
}

static void back_ends_take_turns(void **state)
{
	struct run run;

	RUN(&run, "--impl", "first,again", "--repeat", "2", "--cpus", "2");
	assert_string_equal(fake_log, "setup first\n"
				      "setup again\n"
				      "measure first one -p 1 2/64\n"
				      "measure again one -p 1 2/64\n"
				      "measure first two -p 1 2/64\n"
				      "measure again two -p 1 2/64\n"
				      "measure first one -p 1 2/64\n"
				      "measure again one -p 1 2/64\n"
				      "measure first two -p 1 2/64\n"
				      "measure again two -p 1 2/64\n"
				      "teardown first\n"
				      "teardown again\n");
	end(&run);
}

static void every_combination_takes_its_turn(void **state)
{
	struct run run;

	RUN(&run, "--impl", "first", "--repeat", "1", "-p", "1,2", "--cpus", "2,16", "--entries",
	    "10,20");
	assert_int_equal(run.res.nr_cells, 16);
	assert_non_null(strstr(fake_log, "measure first one -p 1 2/10\n"
					 "measure first one -p 1 2/20\n"
					 "measure first one -p 1 16/10\n"
					 "measure first one -p 1 16/20\n"
					 "measure first one -p 2 2/10\n"));
	end(&run);
}

static void ratios_are_to_the_same_combination(void **state)
{
	struct run run;
	unsigned int i;

	RUN(&run, "--impl", "first,slower", "--repeat", "31", "-p", "1,2");
	for (i = 0; i < run.res.nr_cells; i += 2) {
		const struct cell *cell = &run.res.cells[i + 1];

		assert_ptr_equal(cell_first_impl(&run.res, cell), &run.res.cells[i]);
		assert_within(ratio_of(&run.res, i + 1).median, 1.2, 0.03);
	}
	/* case one: first and slower with one thread, then with two */
	assert_ptr_equal(cell_first_conf(&run.res, &run.res.cells[3]), &run.res.cells[1]);
	assert_ptr_equal(cell_first_conf(&run.res, &run.res.cells[2]), &run.res.cells[0]);
	end(&run);
}

static void a_failed_measurement_is_one_and_has_no_row(void **state)
{
	struct run run;

	RUN(&run, "--impl", "broken,first,slower", "--repeat", "31");
	assert_int_equal(run.status, 1);
	assert_true(run.res.cells[0].failed);
	assert_false(run.res.cells[1].failed);
	/* the next one is what the rest is compared with */
	assert_ptr_equal(cell_first_impl(&run.res, &run.res.cells[2]), &run.res.cells[1]);
	assert_non_null(strstr(fake_log, "teardown broken\n"));
	end(&run);
}

static void gone_by_name_is_one_and_the_others_are_measured(void **state)
{
	struct run run;

	RUN(&run, "--impl", "gone,first", "--repeat", "1");
	assert_int_equal(run.status, 1);
	assert_int_equal(run.res.nr_cells, 2);
	end(&run);
}

static void gone_unasked_is_no_failure(void **state)
{
	struct options opts = { .warmup = -1, .duration = -1 };
	struct result res;

	assert_int_equal(plan_bench(&fake_bench, &opts, &res), 0);
	/* of 6 back ends one is gone, and one can do but one of two cases */
	assert_int_equal(res.nr_impls, 5);
	assert_int_equal(res.repeat, 5);
	result_free(&res);
}

static void what_a_back_end_cannot_do_is_left_out(void **state)
{
	struct run run;

	/* not on this machine: its CPUs are fewer */
	RUN(&run, "--impl", "first,one_only", "--repeat", "1", "--cpus", "1000");
	assert_int_equal(run.status, 0);
	assert_int_equal(run.res.nr_cells, 2);
	end(&run);
	RUN(&run, "--impl", "first,one_only", "--repeat", "1");
	assert_int_equal(run.status, 0);
	assert_int_equal(run.res.nr_cells, 3);
	end(&run);
}

static void options_that_do_not_fit_are_two(void **state)
{
	struct run run;

	RUN(&run, "--impl", "first", "--entries", "64,5");
	assert_int_equal(run.status, 2);
	assert_string_equal(fake_log, "");
	end(&run);
	RUN(&run, "--impl", "first", "-c", "1");
	assert_int_equal(run.status, 2);
	end(&run);
}

struct count {
	uint64_t done[4][32];
};

static int64_t count_up(void *ctx, uint32_t nr)
{
	__atomic_fetch_add(&((struct count *)ctx)->done[nr][0], 10, __ATOMIC_RELAXED);
	return 10;
}

static int64_t second_fails(void *ctx, uint32_t nr)
{
	return nr == 1 ? -E2BIG : 10;
}

static void threads_work_and_are_timed(void **state)
{
	struct count count = { { { 0 } } };
	struct load load = { count_up, &count, 4, true, 0.01, 0.01 };
	struct op_time times[4];
	unsigned int i;

	assert_int_equal(run_load(&load, times), 0);
	for (i = 0; i < 4; i++) {
		assert_true(count.done[i][0] >= 20);
		assert_true(times[i].wall > 0);
		assert_true(times[i].cpu > 0);
	}
}

static void a_failing_thread_ends_the_load(void **state)
{
	struct load load = { second_fails, NULL, 3, false, 0.01, 0.01 };
	struct op_time times[3];

	assert_int_equal(run_load(&load, times), -E2BIG);
	load.warmup = 0;
	assert_int_equal(run_load(&load, times), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_back_end_against_itself_is_one),
		cmocka_unit_test(a_fifth_slower_shows_as_a_fifth),
		cmocka_unit_test(back_ends_take_turns),
		cmocka_unit_test(every_combination_takes_its_turn),
		cmocka_unit_test(ratios_are_to_the_same_combination),
		cmocka_unit_test(a_failed_measurement_is_one_and_has_no_row),
		cmocka_unit_test(gone_by_name_is_one_and_the_others_are_measured),
		cmocka_unit_test(gone_unasked_is_no_failure),
		cmocka_unit_test(what_a_back_end_cannot_do_is_left_out),
		cmocka_unit_test(options_that_do_not_fit_are_two),
		cmocka_unit_test(threads_work_and_are_timed),
		cmocka_unit_test(a_failing_thread_ends_the_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
