/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* machine.c - the processor, kernel, compiler and commit behind the figures; pinning. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench.h"
#include "commit.h"
#include "machine.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* The processor's name as /proc/cpuinfo has it; on arm64 that has none. */
static void cpu_name(char *name, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512], *text;
	struct utsname uts;

	snprintf(name, size, "%s", uname(&uts) ? "unknown" : uts.machine);
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "model name", 10))
			continue;
		text = strchr(line, ':');
		if (!text)
			continue;
		text += 1 + strspn(text + 1, " \t");
		text[strcspn(text, "\n")] = '\0';
		snprintf(name, size, "%s", text);
		break;
	}
	if (f)
		fclose(f);
}

void machine_read(struct machine *machine)
{
	struct utsname uts;

	cpu_name(machine->cpu, sizeof(machine->cpu));
	machine->cpus = usable_cpus();
	if (uname(&uts))
		strcpy(uts.release, "unknown");
	snprintf(machine->kernel, sizeof(machine->kernel), "%s", uts.release);
	machine->compiler = COMPILER;
	machine->flags = BENCH_FLAGS;
	machine->commit = BENCH_COMMIT;
}

/* CPUs this process may use; the main thread is never pinned by the benchmark. */
static void allowed_cpus(cpu_set_t *set)
{
	CPU_ZERO(set);
	if (sched_getaffinity(getpid(), sizeof(*set), set) || !CPU_COUNT(set))
		CPU_SET(0, set);
}

uint32_t usable_cpus(void)
{
	cpu_set_t set;

	allowed_cpus(&set);
	return (uint32_t)CPU_COUNT(&set);
}

void pin_thread(uint32_t nr)
{
	cpu_set_t set, one;
	int cpu;

	allowed_cpus(&set);
	nr %= (uint32_t)CPU_COUNT(&set);
	for (cpu = 0; !CPU_ISSET(cpu, &set) || nr--; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	/* Refused only if the CPU went away meanwhile: then it runs where it can. */
	pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}
