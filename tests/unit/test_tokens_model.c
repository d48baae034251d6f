/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * test_tokens_model.c - tokens.c itself, played by virtual threads in every order
 * of their accesses.
 *
 * A state is the memory and all that each thread has read; from each state that
 * was not seen before every thread takes one step. After each step:
 *
 *  - a word that is not closed has its bit in the word above it
 *  - if the top word has no bit, no more tokens are there than puts that have
 *    not returned brought
 *  - a take is refused only if that was so at some moment of it
 */
#define UM_ATOMIC_H "model_atomic.h"
#include "unit.h"

#include <stdlib.h>
#include <ucontext.h>

/* At the head of the loop of a take all that was read before is forgotten. */
static void model_forget(void);
#include "mem/tokens.h"
#define um_tokens_none(t, changes) (model_forget(), um_tokens_none(t, changes))
#include "mem/tokens.c"

#define THREADS 3
#define MAX_STEPS 120
#define MAX_CPUS 33

/* A thread's program: P and T, put and take, each with a CPU: 'a' is 0, 'z' is 32. */
struct scene {
	const char *what;
	const char *program[THREADS];
	uint32_t nr_cpus;
	uint32_t free;
};

/* Ways to be wrong, done where the words are exchanged. */
enum wrong { RIGHT, CLEAR_THEN_LOOK, CLOSE_WITHOUT_SEQ, CLOSE_WITHOUT_CLOSED };

struct stack_of {
	ucontext_t context;
	jmp_buf jump; /* the same without system calls */
};

struct vthread {
	struct stack_of at;
	char stack[32768];
	const char *program;
	uint64_t known; /* what it has read, and how far it is */
	bool in_put;
	bool brought;   /* the put under way has added its token */
	bool in_take;
	bool saw_none;  /* since this take began */
	bool done;
};

static struct vthread threads[THREADS];
static struct vthread *now; /* NULL: the scheduler */
static struct stack_of scheduler;
static enum wrong wrong;
static const char *broken;

static struct {
	uint64_t top, groups[2];
	struct um_percpu percpu[MAX_CPUS];
} memory;

static struct um_tokens tokens = { .percpu = memory.percpu, .top = &memory.top,
				   .groups = memory.groups };

/* A sanitizer does not know of jumps from stack to stack. */
static void go_from(struct stack_of *from, struct stack_of *to)
{
	if (SANITIZED)
		swapcontext(&from->context, &to->context);
	else if (!_setjmp(from->jump))
		_longjmp(to->jump, 1);
}

/* ---- accesses ---- */

void model_turn(void)
{
	if (now)
		go_from(&now->at, &scheduler);
}

void model_read(uint64_t found)
{
	if (now)
		now->known = rng_mix(now->known ^ rng_mix(found + 1));
}

static void model_forget(void)
{
	if (now)
		now->known = 1; /* 0: at the start of a call */
}

static bool is_count(const void *p)
{
	return (const char *)p >= (const char *)memory.percpu;
}

void model_added(const void *p)
{
	if (now && now->in_put && is_count(p))
		now->brought = true;
}

bool model_cmpxchg(void *p, void *old, uint64_t v, size_t size)
{
	uint64_t found = 0, expected = 0;
	bool closes, clears;

	model_turn();
	memcpy(&found, p, size);
	memcpy(&expected, old, size);
	closes = (v & CLOSED) && value_of(v) == 0 && v / SEQ != expected / SEQ;
	clears = !is_count(p) && value_of(v) < value_of(expected);
	if (wrong == CLOSE_WITHOUT_SEQ && closes && !clears)
		v = expected | CLOSED;
	if (wrong == CLOSE_WITHOUT_CLOSED && closes && !clears)
		v = expected;
	if (wrong == CLEAR_THEN_LOOK && clears)
		expected = found; /* whatever came between */
	model_read(found == expected);
	if (found != expected) {
		model_read(found);
		memcpy(old, &found, size);
		return false;
	}
	memcpy(p, &v, size);
	return true;
}

/* ---- threads ---- */

static uint32_t cpu_named(char c)
{
	return c == 'z' ? 32 : (uint32_t)(c - 'a');
}

static uint32_t brought_by_puts(void)
{
	uint32_t n = 0, i;

	for (i = 0; i < THREADS; i++)
		n += threads[i].brought;
	return n;
}

static uint64_t there(void)
{
	uint64_t n = 0;
	uint32_t cpu;

	for (cpu = 0; cpu < tokens.nr_cpus; cpu++)
		n += value_of(memory.percpu[cpu].tokens);
	return n;
}

static void run_thread(int i)
{
	struct vthread *t = &threads[i];

	for (; *t->program; t->program += 2) {
		uint32_t cpu = cpu_named(t->program[1]);

		if (*t->program == 'P') {
			t->in_put = true;
			um_tokens_put(&tokens, cpu);
			t->in_put = t->brought = false;
			t->known = 0;
			continue;
		}
		t->in_take = true;
		t->saw_none = there() <= brought_by_puts();
		if (!um_tokens_take(&tokens, cpu) && !t->saw_none)
			broken = "a take was refused while a token was there";
		t->in_take = false;
		t->known = 0;
	}
	t->done = true;
	go_from(&t->at, &scheduler);
}

static void step(uint32_t i)
{
	now = &threads[i];
	go_from(&scheduler, &now->at);
	now = NULL;
}

static void begin(const struct scene *s)
{
	uint32_t i;

	memset(&memory, 0, sizeof(memory));
	tokens.nr_cpus = s->nr_cpus;
	um_tokens_reset(&tokens, s->free);
	broken = NULL;
	for (i = 0; i < THREADS; i++) {
		struct vthread *t = &threads[i];

		getcontext(&t->at.context);
		t->at.context.uc_stack.ss_sp = t->stack;
		t->at.context.uc_stack.ss_size = sizeof(t->stack);
		t->program = s->program[i] ? s->program[i] : "";
		t->known = 0;
		t->in_put = t->brought = t->in_take = t->done = false;
		makecontext(&t->at.context, (void (*)(void))run_thread, 1, (int)i);
		now = t; /* to before its first access */
		if (SANITIZED)
			swapcontext(&scheduler.context, &t->at.context);
		else if (!_setjmp(scheduler.jump))
			setcontext(&t->at.context);
		now = NULL;
	}
}

/* ---- what must be so after each step ---- */

static bool open_without_bit(uint64_t word, uint64_t above, uint32_t bit)
{
	return !(word & CLOSED) && !(above & 1ull << bit);
}

static void look(void)
{
	bool none = there() <= brought_by_puts();
	uint32_t i;

	for (i = 0; i < tokens.nr_cpus; i++)
		if (open_without_bit(memory.percpu[i].tokens, memory.groups[i / 32], i % 32))
			broken = "a count is open without its bit";
	for (i = 0; i < nr_groups(&tokens); i++)
		if (open_without_bit(memory.groups[i], memory.top, i))
			broken = "a group is open without its bit";
	if (!value_of(memory.top) && !none)
		broken = "no bit in the top word while a token is there";
	for (i = 0; i < THREADS; i++)
		if (threads[i].in_take && none)
			threads[i].saw_none = true;
}

/* ---- every order ---- */

#define SEEN_BITS 21

static uint64_t *seen;
static uint64_t nr_seen;

static uint64_t state_now(void)
{
	uint64_t h = rng_mix(memory.top) ^ rng_mix(memory.groups[0] + 1) * 3 ^
		     rng_mix(memory.groups[1] + 2) * 5;
	uint32_t i;

	for (i = 0; i < tokens.nr_cpus; i++)
		h = rng_mix(h ^ memory.percpu[i].tokens);
	for (i = 0; i < THREADS; i++) {
		h = rng_mix(h ^ threads[i].known);
		h = rng_mix(h + (uintptr_t)threads[i].program * 4 +
			    threads[i].saw_none * 2u + threads[i].done);
	}
	return h | 1;
}

static bool seen_before(uint64_t state)
{
	uint64_t i = state >> (64 - SEEN_BITS);

	for (; seen[i]; i = (i + 1) & ((1u << SEEN_BITS) - 1))
		if (seen[i] == state)
			return true;
	check_msg(++nr_seen < 1u << (SEEN_BITS - 1), "more states than the table has room for");
	seen[i] = state;
	return false;
}

/* Play the first @steps of @order. */
static void play(const struct scene *s, const uint8_t *order, uint32_t steps)
{
	uint32_t i;

	begin(s);
	for (i = 0; i < steps; i++) {
		step(order[i]);
		look();
	}
}

static bool alive(uint32_t i)
{
	return i < THREADS && !threads[i].done;
}

/* Depth first. The broken rule, or NULL if none is. */
static const char *explore(const struct scene *s, enum wrong how)
{
	uint8_t order[MAX_STEPS];
	uint32_t steps = 0, next = 0;

	wrong = how;
	nr_seen = 0;
	memset(seen, 0, sizeof(*seen) << SEEN_BITS);
	play(s, order, 0);
	for (;;) {
		while (next < THREADS && !alive(next))
			next++;
		if (next < THREADS) {
			check_msg(steps < MAX_STEPS, "%s: does not end", s->what);
			order[steps] = (uint8_t)next;
			step(next);
			look();
			if (!broken && !seen_before(state_now())) {
				steps++;
				next = 0;
				continue;
			}
			if (broken)
				return broken;
		} else {
			if (!steps)
				return NULL;
			next = order[--steps];
		}
		next++;
		play(s, order, steps);
	}
}

static const struct scene scenes[] = {
	{ "one comes, two want it", { "Pa", "Ta", "Ta" }, 1, 0 },
	{ "two come, one wants one", { "Pa", "Pa", "Ta" }, 1, 0 },
	{ "one is passed on", { "TaPa", "TaPa" }, 1, 1 },
	{ "one is passed on, another looks", { "TaPa", "Ta" }, 1, 1 },
	{ "one comes elsewhere", { "Pb", "Ta" }, 2, 0 },
	{ "two come in two places", { "Pa", "Pb", "Ta" }, 2, 0 },
	{ "it moves from place to place", { "TaPb", "Ta" }, 2, 1 },
	{ "one comes in another group", { "Pz", "Ta" }, 33, 0 },
	{ "it moves from group to group", { "TaPz", "Ta" }, 33, 1 },
	{ "two come in two groups", { "Pa", "Pz", "Ta" }, 33, 0 },
	{ "two come and one is wanted in two places", { "PaPb", "Ta" }, 2, 0 },
	{ "two groups breathe", { "TaPz", "TzPa" }, 33, 1 },
};

static void every_order_keeps_the_rules(void **state)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(scenes); i++) {
		const char *rule = explore(&scenes[i], RIGHT);

		if (rule)
			fail_msg("%s: %s", scenes[i].what, rule);
		print_message("%s: %llu states\n", scenes[i].what, (unsigned long long)nr_seen);
		assert_true(nr_seen > 30);
	}
}

static void is_caught(enum wrong how)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(scenes); i++)
		if (explore(&scenes[i], how))
			return;
	fail_msg("wrong way %d keeps all rules", (int)how);
}

static void a_bit_cleared_over_what_came_between_is_caught(void **state)
{
	is_caught(CLEAR_THEN_LOOK);
}

static void a_word_closed_without_a_new_number_is_caught(void **state)
{
	is_caught(CLOSE_WITHOUT_SEQ);
}

static void a_bit_cleared_over_an_open_word_is_caught(void **state)
{
	is_caught(CLOSE_WITHOUT_CLOSED);
}

static int make_table(void **state)
{
	seen = malloc(sizeof(*seen) << SEEN_BITS);
	return !seen;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup(every_order_keeps_the_rules, make_table),
	cmocka_unit_test(a_bit_cleared_over_what_came_between_is_caught),
	cmocka_unit_test(a_word_closed_without_a_new_number_is_caught),
	cmocka_unit_test(a_bit_cleared_over_an_open_word_is_caught),
};

UNIT_MAIN(tests)
