/* Short calls, which several threads share without Python. */
#ifndef ACTORFLOW_SHARE_H
#define ACTORFLOW_SHARE_H

#include "pool.h"

/* A call, as it is decided. */
typedef struct {
    struct Cost *cost;
    enum { ALONE, MEASURED, SHARED, WAKES } how; /* alone, also to measure it; shared, also to wake a thread */
} Short;

/* Says how a call with these parts and so much work should be done now. */
Short share_decided(Part part, int64_t count, int64_t work);

/* Does all parts as was decided, with the threads of the pool up to `threads` with the caller, and takes the time down. */
void share_work(const Short *call, Part part, const void *given, int64_t count, int64_t piece, int threads);

/* The state of the account: its balance in nanoseconds, how many calls were shared, and how many pauses there were. */
void share_state(int64_t *balance, int64_t *calls, int64_t *pauses);

#endif
