/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_stats.c - median, spread, and ratios that a slow spell does not bend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "samples.h"
#include "stats.h"

static void assert_within(double value, double of, double part)
{
	if (value < of * (1 - part) || value > of * (1 + part))
		fail_msg("%g is not within %g %% of %g", value, part * 100, of);
}

static void median_of_odd_even_and_one(void **state)
{
	const double v[] = { 5, 1, 4, 2 };
	struct stats s = stats_of(v, 4);

	assert_true(s.median == 3 && s.min == 1 && s.max == 5);
	s = stats_of(v, 3);
	assert_true(s.median == 4 && s.min == 1 && s.max == 5);
	s = stats_of(v, 1);
	assert_true(s.median == 5 && s.min == 5 && s.max == 5);
}

static void samples_stay_in_their_order(void **state)
{
	const double v[] = { 3, 1, 2 };

	stats_of(v, 3);
	assert_true(v[0] == 3 && v[1] == 1 && v[2] == 2);
}

static void ratios_are_taken_pair_by_pair(void **state)
{
	/* each pair doubles, though the medians are alike */
	const double base[] = { 1, 10, 2 }, v[] = { 2, 20, 4 };
	const struct stats s = stats_ratio(v, base, 3);

	assert_true(s.median == 2 && s.min == 2 && s.max == 2);
}

static void recorded_against_recorded_is_one(void **state)
{
	assert_within(stats_ratio(samples_again, samples_first, SAMPLES).median, 1, 0.03);
	assert_within(stats_ratio(samples_first, samples_again, SAMPLES).median, 1, 0.03);
}

static void a_fifth_slower_shows_as_a_fifth(void **state)
{
	double slower[SAMPLES];
	unsigned int i;

	for (i = 0; i < SAMPLES; i++)
		slower[i] = samples_again[i] * 1.2;
	assert_within(stats_ratio(slower, samples_first, SAMPLES).median, 1.2, 0.03);
}

/* Half the run on a machine that is three times as slow. */
static void a_slow_spell_does_not_bend_the_ratio(void **state)
{
	double first[SAMPLES], slower[SAMPLES];
	unsigned int i;

	for (i = 0; i < SAMPLES; i++) {
		const double spell = i < SAMPLES / 2 ? 3 : 1;

		first[i] = samples_first[i] * spell;
		slower[i] = samples_again[i] * 1.2 * spell;
	}
	assert_within(stats_ratio(slower, first, SAMPLES).median, 1.2, 0.03);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(median_of_odd_even_and_one),
		cmocka_unit_test(samples_stay_in_their_order),
		cmocka_unit_test(ratios_are_taken_pair_by_pair),
		cmocka_unit_test(recorded_against_recorded_is_one),
		cmocka_unit_test(a_fifth_slower_shows_as_a_fifth),
		cmocka_unit_test(a_slow_spell_does_not_bend_the_ratio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
