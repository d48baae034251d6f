/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* session.c - a map and the model beside it, operation by operation. */
#include <stdio.h>
#include <string.h>
#include "check.h"
#include "session.h"

void session_begin(struct session *s, struct um_map *map, const char *what)
{
	memset(s, 0, sizeof(*s));
	player_init(&s->player, map);
	model_init(&s->model, s->player.info.key_size, s->player.info.value_size,
		   s->player.info.max_entries);
	s->model.may_lack_memory = s->player.info.map_flags & BPF_F_NO_PREALLOC;
	s->what = what;
}

static void print_log(const struct session *s)
{
	uint64_t i = s->done > SESSION_LOG ? s->done - SESSION_LOG : 0;

	fprintf(stderr, "map: %s\n", s->what);
	for (; i < s->done; i++) {
		fprintf(stderr, "%8llu  ", (unsigned long long)i);
		op_print(stderr, &s->log[i % SESSION_LOG]);
	}
}

void session_step(struct session *s, struct op *op)
{
	const char *fault;

	/* Noted before it is played, so that a log in a debugger shows it. */
	s->log[s->done++ % SESSION_LOG] = *op;
	play_op(&s->player, op);
	s->log[(s->done - 1) % SESSION_LOG] = *op;
	fault = model_judge(&s->model, op);
	if (!fault)
		return;
	print_log(s);
	fail("operation %llu: %s", (unsigned long long)s->done - 1, fault);
}

void session_end(struct session *s)
{
	struct op last = { .kind = OP_LEAVE };
	uint32_t kind;

	while (s->player.sections)
		session_step(s, &last);
	for (kind = OP_WALK; kind <= OP_COUNT; kind++) {
		last = (struct op){ .kind = kind };
		session_step(s, &last);
	}
	player_fini(&s->player);
	model_fini(&s->model);
}
