/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_options.c - what the command line takes, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "options.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static int parse(struct options *opts, int argc, const char *const *args)
{
	char *argv[40] = { (char *)"usermap-bench" };
	int i;

	for (i = 0; i < argc; i++)
		argv[i + 1] = (char *)args[i];
	return parse_options(argc + 1, argv, opts);
}

#define PARSE(opts, ...)                                                                           \
	parse(opts, ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })),                            \
	      (const char *const[]){ __VA_ARGS__ })

static void a_list_keeps_its_order(void **state)
{
	struct num_list list;

	assert_int_equal(parse_num_list("2,16,256", 1, 1000, "--cpus", &list), 0);
	assert_int_equal(list.nr, 3);
	assert_int_equal(list.v[0], 2);
	assert_int_equal(list.v[1], 16);
	assert_int_equal(list.v[2], 256);
	assert_int_equal(parse_num_list("7", 7, 7, "-p", &list), 0);
	assert_int_equal(list.nr, 1);
	assert_int_equal(list.v[0], 7);
}

static void bad_lists_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		",",
		"1,",
		",1",
		"1,,2",
		"0",
		"11",
		"1,1",
		"x",
		"1x",
		"-1",
		"1 2",
		" 1",
		"0x4",
		"4294967297",
		"+1",
		"1.5",
		"1,2;3",
		"99999999999999999999",
		"18446744073709551617",
	};
	struct num_list list;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		if (!parse_num_list(bad[i], 1, 10, "-p", &list))
			fail_msg("'%s' was taken", bad[i]);
	}
}

static void a_list_has_an_end(void **state)
{
	char text[4 * (LIST_MAX + 1) + 1] = "";
	struct num_list list;
	int i;

	for (i = 0; i < LIST_MAX; i++)
		sprintf(text + strlen(text), "%s%d", i ? "," : "", i + 1);
	assert_int_equal(parse_num_list(text, 1, 1000, "-p", &list), 0);
	assert_int_equal(list.nr, LIST_MAX);
	strcat(text, ",999");
	assert_int_equal(parse_num_list(text, 1, 1000, "-p", &list), -1);
}

static void all_options_are_read(void **state)
{
	struct options o;

	assert_int_equal(PARSE(&o, "-w0", "-d", "0.25", "-p", "1,2", "-c", "3", "-a", "-q",
			       "--impl", "usermap,kernel", "--cpus", "4", "--entries=1000,2000",
			       "--key", "16", "--value", "32", "--dist", "zipf:0.99", "--repeat",
			       "7", "-j", "out.json", "--plot", "out.svg", "one", "two"),
			 0);
	assert_true(o.warmup == 0 && o.duration == 0.25 && o.dist.zipf && o.dist.s == 0.99);
	assert_int_equal(o.threads.nr, 2);
	assert_int_equal(o.consumers, 3);
	assert_true(o.pin && o.quiet);
	assert_int_equal(o.impls.nr, 2);
	assert_string_equal(o.impls.v[0], "usermap");
	assert_string_equal(o.impls.v[1], "kernel");
	assert_int_equal(o.cpus.v[0], 4);
	assert_int_equal(o.entries.v[1], 2000);
	assert_int_equal(o.key_size, 16);
	assert_int_equal(o.value_size, 32);
	assert_int_equal(o.repeat, 7);
	assert_string_equal(o.json, "out.json");
	assert_string_equal(o.plot, "out.svg");
	assert_int_equal(o.benches.nr, 2);
	assert_string_equal(o.benches.v[1], "two");
	options_free(&o);
}

/* As wrapper scripts call the kernel's bench. */
static void options_may_follow_the_name(void **state)
{
	struct options o;

	assert_int_equal(PARSE(&o, "htab-lookup", "-w3", "-d10", "-a", "-p", "2"), 0);
	assert_true(o.warmup == 3 && o.duration == 10 && o.pin);
	assert_int_equal(o.benches.nr, 1);
	options_free(&o);
}

static void nothing_given_is_the_defaults(void **state)
{
	struct options o;

	assert_int_equal(PARSE(&o, "htab-lookup"), 0);
	assert_true(o.warmup < 0 && o.duration < 0 && !o.dist.zipf);
	assert_int_equal(o.threads.nr + o.cpus.nr + o.entries.nr + o.impls.nr, 0);
	assert_int_equal(o.repeat + o.key_size + o.value_size + o.consumers, 0);
	options_free(&o);
}

static void bad_values_are_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "-w", "-1" },
		{ "-w", "x" },
		{ "-w", "" },
		{ "-w", "inf" },
		{ "-w", "nan" },
		{ "-w", "1e3" },
		{ "-w", "." },
		{ "-w", "1.2.3" },
		{ "-w", "0x1" },
		{ "-d", "0" },
		{ "-d", "0.0" },
		{ "-d", "86401" },
		{ "-p", "0" },
		{ "-p", "1,1" },
		{ "-c", "x" },
		{ "--cpus", "1025" },
		{ "--entries", "134217729" },
		{ "--key", "0" },
		{ "--key", "513" },
		{ "--value", "4097" },
		{ "--value", "8,16" },
		{ "--repeat", "0" },
		{ "--repeat", "1001" },
		{ "--dist", "zipf" },
		{ "--dist", "zipf:" },
		{ "--dist", "zipf:0" },
		{ "--dist", "zipf:11" },
		{ "--dist", "zipf:-1" },
		{ "--dist", "normal" },
		{ "--impl", "a,,b" },
		{ "--impl", "" },
		{ "--impl", "a,a" },
		{ "--plot", "x.png" },
		{ "--plot", ".svg" },
		{ "--nonesuch", "1" },
		{ "-X", "1" },
	};
	struct options o;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		if (!PARSE(&o, bad[i][0], bad[i][1]))
			fail_msg("%s '%s' was taken", bad[i][0], bad[i][1]);
		options_free(&o);
	}
}

static void a_benchmark_twice_is_refused(void **state)
{
	struct options o;

	assert_int_equal(PARSE(&o, "htab-lookup", "htab-lookup"), -1);
	options_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_keeps_its_order),
		cmocka_unit_test(bad_lists_are_refused),
		cmocka_unit_test(a_list_has_an_end),
		cmocka_unit_test(all_options_are_read),
		cmocka_unit_test(options_may_follow_the_name),
		cmocka_unit_test(nothing_given_is_the_defaults),
		cmocka_unit_test(bad_values_are_refused),
		cmocka_unit_test(a_benchmark_twice_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
