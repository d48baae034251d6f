/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* test_cpu.c - the number of CPUs, and the one this thread is on. */
#include "unit.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/cpu.h"

static void possible_cpus_are_at_least_those_configured(void **state)
{
	int n = um_possible_cpus();

	assert_true(n >= 1);
	assert_true(n >= sysconf(_SC_NPROCESSORS_CONF));
	assert_int_equal(um_possible_cpus(), n);
}

static void cpu_of_a_pinned_thread_is_that_cpu(void **state)
{
	int i;

	for (i = 0; i < usable_cpus(); i++) {
		pin_to(i);
		assert_int_equal(um_cpu(), sched_getcpu());
		assert_true(um_cpu() < (uint32_t)um_possible_cpus());
	}
}

static void cpu_of_a_map_is_always_one_of_its_lists(void **state)
{
	uint32_t nr;
	int i;

	for (i = 0; i < usable_cpus(); i++) {
		pin_to(i);
		for (nr = 1; nr <= UM_MAX_CPUS; nr++)
			assert_true(um_cpu_of(nr) < nr);
		assert_int_equal(um_cpu_of(UM_MAX_CPUS), um_cpu());
	}
}

/* The rseq area may be refused: by an old kernel, or here by request. */
static void cpu_is_found_without_rseq_too(void **state)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
		execl("/proc/self/exe", "test_cpu", "cpu_of_a*", (char *)NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(possible_cpus_are_at_least_those_configured),
	cmocka_unit_test(cpu_of_a_pinned_thread_is_that_cpu),
	cmocka_unit_test(cpu_of_a_map_is_always_one_of_its_lists),
	cmocka_unit_test(cpu_is_found_without_rseq_too),
};

UNIT_MAIN(tests)
