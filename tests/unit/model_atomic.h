/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * model_atomic.h - atomic.h for a program that plays threads: each access first
 * gives the scheduler of the test its turn.
 */
#include <stdbool.h>

void model_turn(void);
/* What a virtual thread has read is all it can know: part of the state. */
void model_read(uint64_t found);
/* A word was changed by an instruction that cannot fail. */
void model_added(const void *p);
bool model_cmpxchg(void *p, void *old, uint64_t v, size_t size);

#define MODEL_RMW(p, new)                                 \
	({                                                \
		__typeof__(p) p_ = (p);                   \
		__typeof__(*p_ + 0) old_;                 \
		model_turn();                             \
		old_ = *p_;                               \
		*p_ = (__typeof__(*p_ + 0))(new);         \
		model_added(p_);                          \
		model_read((uint64_t)old_);               \
		old_;                                     \
	})

#define READ_ONCE(x)                                      \
	({                                                \
		model_turn();                             \
		__typeof__((x) + 0) found_ = (x);         \
		model_read((uint64_t)found_);             \
		found_;                                   \
	})
#define WRITE_ONCE(x, v) (model_turn(), (void)((x) = (v)))
#define smp_load_acquire(p) READ_ONCE(*(p))
#define smp_store_release(p, v) WRITE_ONCE(*(p), v)

#define smp_mb() barrier()
#define smp_rmb() barrier()
#define smp_wmb() barrier()
#define smp_mb__after_atomic() barrier()

#define xchg(p, v) MODEL_RMW(p, v)
#define try_cmpxchg(p, old, v) model_cmpxchg((p), (old), (uint64_t)(v), sizeof(*(p)))
#define atomic_fetch_add(p, v) MODEL_RMW(p, old_ + (v))
#define atomic_fetch_or(p, v) MODEL_RMW(p, old_ | (v))
#define atomic_fetch_and(p, v) MODEL_RMW(p, old_ & (v))
#define atomic_inc_relaxed(p) ((void)MODEL_RMW(p, old_ + 1))
