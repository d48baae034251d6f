/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_report.c - table, JSON and picture of recorded measurements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake.h"
#include "report.h"
#include "schema.h"

static const struct machine machine = {
	.cpu = "a processor",
	.cpus = 2,
	.kernel = "6.1",
	.compiler = "cc 1",
	.flags = "-O2",
	.commit = "0123456789ab",
};

static struct options opts;
static struct result res;

static void measure(const char *impls, const char *producers)
{
	char *argv[] = { (char *)"usermap-bench",
			 (char *)"-q",
			 (char *)"--impl",
			 (char *)impls,
			 (char *)"-p",
			 (char *)producers,
			 (char *)"--repeat",
			 (char *)"31",
			 (char *)"--cpus",
			 (char *)"2",
			 (char *)"fake" };

	assert_int_equal(parse_options(ARRAY_SIZE(argv), argv, &opts), 0);
	assert_int_equal(plan_bench(&fake_bench, &opts, &res), 0);
	run_bench(&res);
}

static void drop(void)
{
	result_free(&res);
	options_free(&opts);
}

static void the_json_is_as_it_must_be(void **state)
{
	char fault[256] = "";
	json_t *doc, *row;

	measure("first,slower", "1,2");
	doc = report_json(&machine, &res, 1);
	if (schema_check(doc, fault, sizeof(fault)) != 8)
		fail_msg("%s", fault);

	row = json_array_get(json_object_get(doc, "rows"), 1);
	assert_string_equal(json_string_value(json_object_get(row, "impl")), "slower");
	assert_string_equal(json_string_value(json_object_get(row, "case")), "one");
	row = json_object_get(row, "ratio");
	assert_string_equal(json_string_value(json_object_get(row, "to")), "first");
	assert_true(json_real_value(json_object_get(row, "median")) > 1.16);
	assert_true(json_real_value(json_object_get(row, "median")) < 1.24);
	json_decref(doc);
	drop();
}

static void failed_rows_are_not_in_the_json(void **state)
{
	char fault[256] = "";
	json_t *doc;

	measure("broken,first", "1");
	doc = report_json(&machine, &res, 1);
	assert_int_equal(schema_check(doc, fault, sizeof(fault)), 2);
	json_decref(doc);
	drop();
}

static json_t *row_of(json_t *doc)
{
	return json_array_get(json_object_get(doc, "rows"), 0);
}

/* Each line spoils one thing. */
static void spoil(json_t *doc, int how)
{
	json_t *row = row_of(doc), *ratio = json_object_get(row, "ratio");

	switch (how) {
	case 0:
		json_object_del(row, "unit");
		break;
	case 1:
		json_object_set_new(row, "unit", json_string("furlongs"));
		break;
	case 2:
		json_object_set_new(row, "more", json_integer(1));
		break;
	case 3:
		json_object_set_new(row, "threads", json_string("1"));
		break;
	case 4:
		json_object_set_new(row, "median", json_real(0));
		break;
	case 5:
		json_object_set_new(row, "min", json_real(1e9));
		break;
	case 6:
		json_object_set_new(ratio, "max", json_real(1e-9));
		break;
	case 7:
		json_object_del(ratio, "to");
		break;
	case 8:
		json_object_set_new(json_object_get(doc, "machine"), "commit", json_string(""));
		break;
	case 9:
		json_object_set_new(doc, "rows", json_object());
		break;
	case 10:
		json_array_append_new(json_object_get(doc, "rows"), json_null());
		break;
	}
}

static void the_check_finds_faults(void **state)
{
	char fault[256];
	json_t *doc;
	int how;

	measure("first", "1");
	for (how = 0; how <= 10; how++) {
		doc = report_json(&machine, &res, 1);
		spoil(doc, how);
		if (schema_check(doc, fault, sizeof(fault)) >= 0)
			fail_msg("fault %d was not found", how);
		json_decref(doc);
	}
	drop();
}

static char table[1 << 14];

static void print_table(void)
{
	FILE *f = fmemopen(table, sizeof(table), "w");

	assert_non_null(f);
	report_table(&res, f);
	fclose(f);
}

static void the_table_names_unit_and_row(void **state)
{
	measure("first,slower", "1");
	print_table();
	assert_non_null(strstr(table, "fake: an operation is made up"));
	assert_non_null(strstr(table, "a row is one case by one back end"));
	assert_non_null(strstr(table, "ns/op"));
	assert_non_null(strstr(table, "time/first"));
	/* one combination has nothing to scale against */
	assert_null(strstr(table, "rate/first"));
	drop();
}

/* The fake takes half the time with two threads. */
static void the_table_compares_combinations(void **state)
{
	char *row;

	measure("first,slower", "1,2");
	print_table();
	assert_non_null(strstr(table, "rate/first"));
	row = strstr(table, "one   first      2");
	assert_non_null(row);
	row[strcspn(row, "\n")] = '\0';
	assert_non_null(strstr(row, "  2.00  2.00..2.00"));
	drop();
}

static void a_picture_is_drawn(void **state)
{
	char path[] = "/tmp/bench it's one XXXXXX.svg", line[16] = "";
	int fd;

	if (system("gnuplot --version >/dev/null 2>&1"))
		skip();
	fd = mkstemps(path, 4);
	assert_true(fd >= 0);
	measure("first,slower", "1,2");
	assert_int_equal(report_plot_file(&res, 1, path), 0);
	assert_int_equal(read(fd, line, 5), 5);
	assert_string_equal(line, "<?xml");
	close(fd);
	unlink(path);
	drop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_json_is_as_it_must_be),
		cmocka_unit_test(failed_rows_are_not_in_the_json),
		cmocka_unit_test(the_check_finds_faults),
		cmocka_unit_test(the_table_names_unit_and_row),
		cmocka_unit_test(the_table_compares_combinations),
		cmocka_unit_test(a_picture_is_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
