/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* session.h - a map and the model beside it, operation by operation. */
#ifndef TEST_SESSION_H
#define TEST_SESSION_H

#include "model.h"

#define SESSION_LOG 32

struct session {
	struct player player;
	struct model model;
	struct op log[SESSION_LOG];
	uint64_t done;
	const char *what; /* printed when it fails */
};

void session_begin(struct session *s, struct um_map *map, const char *what);
void session_step(struct session *s, struct op *op); /* fails the test if they differ */
void session_end(struct session *s);		     /* last comparison; does not close the map */

#endif
