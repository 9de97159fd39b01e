/* One pool of threads for all native work of the process. */
#ifndef ACTORFLOW_POOL_H
#define ACTORFLOW_POOL_H

#include <stdbool.h>
#include <stdint.h>

/* Does `count` parts of some work, from `begin` on. */
typedef void (*Part)(int64_t begin, int64_t count, const void *given);

/* Does all parts, `piece` at a time, on the calling thread and up to `threads - 1` of the pool's. */
void pool_run(Part part, const void *given, int64_t count, int64_t piece, int threads);

/* The same; threads that sleep wake up only if `wakes`. */
void pool_run_some(Part part, const void *given, int64_t count, int64_t piece, int threads, bool wakes);

/* Returns when a number that other threads count up is so large. */
void pool_await(const int64_t *number, int64_t enough);

/* How many threads look for a job and would begin at once. */
int pool_looking(void);

/* The largest number of threads that work at once, callers among them not counted, and how many cores there are for them. */
void pool_limit(int threads, int cores);

/* How many threads the pool has, and how many of them sleep. */
void pool_state(int *threads, int *sleeping);

#endif
