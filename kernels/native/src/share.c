/* Short calls: work of some microseconds, for which a decision in Python would cost more than it gains.
 *
 * Such a call is shared if a thread of the pool is looking for a job: that one begins within a microsecond, while to wake a thread
 * takes half a millisecond. Nobody waits for it, since the caller takes what no other thread has begun. A thread is woken for
 * short calls only when many of them have been done alone within a short time. It looks for jobs for a millisecond after each one,
 * so it stays while they last.
 *
 * Two things decide. The first is whether that kind of work gains: each kind (the function and the
 * amount) has its costs, alone and shared. Now and then some calls are done alone, to compare. Where sharing does not pay, the kind
 * rests, and longer each time: two virtual cores may be one for seconds. The second is whether the cores are free: one account holds
 * what all shared calls have gained and lost lately. A thread that loses its core in the middle of a piece costs milliseconds. When
 * the account is empty, no short call is shared for a while, and longer each time until sharing pays again. To wake a thread counts
 * as a loss, so that is not done for long where calls are too far apart.
 *
 * Threads that take something down at the same time may lose one of their numbers. That changes no result.
 */
#include "share.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

enum {
    KINDS = 1 << 10, /* places for kinds; one that comes later takes the place of another */
    ROUND = 128, /* of so many calls the first three are done alone; the first of them brings the data back to its core */
    COLD = 8,    /* shared calls whose time does not count: they bring the data to another core */
    FEW = 16,    /* shared calls before they are judged */
    GRAIN = 64,  /* elements: pieces of many begin at lines of the cache */
    /* Nanoseconds: */
    LEAST = 4000,   /* what is shorter is not shared */
    EACH = 2500,    /* that each thread has to do at least */
    REST = 2000000, /* the first rest of a kind, and the longest */
    MOST_REST = 16000000,
    MOST_GAINED = 1000000, /* that the account holds at most, */
    CREDIT = 200000,       /* and that it begins with, also after a pause */
    PAUSE = 2000000,       /* the first pause, and the longest */
    MOST_PAUSE = 64000000,
    WAKING = 8000, /* that it takes to wake a thread */
    MANY = 80000,  /* that were spent alone within WHILE: a thread is woken for more of the kind */
    WHILE = 1000000
};

typedef _Atomic int64_t Number;

/* What calls of one kind cost, in nanoseconds; 0 where nobody knows. */
typedef struct Cost {
    Number kind, calls, alone, shared, tried, rest, rests_until;
} Cost;

static Cost costs[KINDS];
static Number balance = CREDIT, pause_length = PAUSE, pause_ends, alone_lately, alone_since, shared_calls, pauses;

static inline int64_t get(Number *number) { return atomic_load_explicit(number, memory_order_relaxed); }
static inline void set(Number *number, int64_t value) { atomic_store_explicit(number, value, memory_order_relaxed); }

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- the machine */

static void add_gain(int64_t gained, int64_t at) {
    int64_t sum = get(&balance) + gained;
    if (sum < 0) {
        int64_t length = get(&pause_length);
        set(&pause_ends, at + length);
        set(&pause_length, 2 * length < MOST_PAUSE ? 2 * length : MOST_PAUSE);
        set(&pauses, get(&pauses) + 1);
        sum = CREDIT;
    } else if (sum > MOST_GAINED) {
        set(&pause_length, PAUSE);
        sum = MOST_GAINED;
    }
    set(&balance, sum);
}

/* Whether so much time has been spent alone lately that a thread should wake up. */
static bool much_alone(int64_t spent, int64_t at) {
    if (at - get(&alone_since) > WHILE) {
        set(&alone_since, at);
        set(&alone_lately, spent);
        return false;
    }
    int64_t sum = get(&alone_lately) + spent;
    set(&alone_lately, sum);
    if (sum < MANY) return false;
    set(&alone_since, 0);
    return true;
}

/* ---- kinds of work */

static Cost *cost_of(Part part, int64_t count, int64_t work) {
    uint64_t kind = ((uint64_t)(uintptr_t)part * 0x9E3779B97F4A7C15u) ^ ((uint64_t)count * 0xC2B2AE3D27D4EB4Fu) ^ (uint64_t)work;
    kind = (kind ^ kind >> 29) * 0xBF58476D1CE4E5B9u | 1;
    Cost *cost = &costs[kind >> 32 & (KINDS - 1)];
    if (get(&cost->kind) == (int64_t)kind) return cost;
    set(&cost->calls, 0);
    set(&cost->alone, 0);
    set(&cost->shared, 0);
    set(&cost->tried, 0);
    set(&cost->rest, REST);
    set(&cost->rests_until, 0);
    set(&cost->kind, (int64_t)kind);
    return cost;
}

/* Takes a time into a mean. One that is much longer has other causes, and counts as twice the mean. */
static void take_in(Number *mean, int64_t spent, int64_t share_of_shorter) {
    int64_t before = get(mean), one = spent < 2 * before ? spent : 2 * before;
    set(mean, before ? before + (one - before) / (one < before ? share_of_shorter : 8) : spent);
}

static void judge(Cost *cost, int64_t at) {
    int64_t tried = get(&cost->tried) + 1, alone = get(&cost->alone), rest = get(&cost->rest);
    set(&cost->tried, tried);
    if (tried < FEW) return;
    if (get(&cost->shared) > alone - alone / 16) {
        set(&cost->rests_until, at + rest);
        set(&cost->rest, 2 * rest < MOST_REST ? 2 * rest : MOST_REST);
        set(&cost->shared, 0);
        set(&cost->tried, 0);
        set(&cost->calls, 0);
    } else if (tried % ROUND == 0)
        set(&cost->rest, REST);
}

/* ---- calls */

Short share_decided(Part part, int64_t count, int64_t work) {
    int64_t at = now();
    Short call = {cost_of(part, count, work), ALONE};
    int64_t calls = get(&call.cost->calls), place = calls % ROUND, alone = get(&call.cost->alone);
    set(&call.cost->calls, calls + 1);
    if (place == 1 || place == 2)
        call.how = MEASURED;
    else if (!place || alone < LEAST || at < get(&pause_ends) || at < get(&call.cost->rests_until))
        call.how = ALONE;
    else if (pool_looking())
        call.how = SHARED;
    else if (much_alone(alone, at))
        call.how = WAKES;
    return call;
}

void share_work(const Short *call, Part part, const void *given, int64_t count, int64_t piece, int threads) {
    int64_t begun = now(), alone = get(&call->cost->alone), most = alone / EACH;
    int there = 1 + (call->how == WAKES ? 1 : pool_looking());
    if (most > threads) most = threads;
    if (most > there) most = there;
    if (call->how == MEASURED || most < 2) {
        part(0, count, given);
        if (call->how == MEASURED) take_in(&call->cost->alone, now() - begun, 2);
        return;
    }
    int64_t small = (count + 2 * most - 1) / (2 * most);
    if (small > 8 * GRAIN) small = (small + GRAIN - 1) / GRAIN * GRAIN;
    pool_run_some(part, given, count, piece < small ? piece : small, (int)most, call->how == WAKES);
    int64_t at = now();
    if (call->how == WAKES) {
        add_gain(-WAKING, at);
        return;
    }
    set(&shared_calls, get(&shared_calls) + 1);
    add_gain(alone - (at - begun), at);
    if (get(&call->cost->tried) < COLD)
        set(&call->cost->shared, alone); /* the mean begins without gain or loss, so that a few slow ones do not decide */
    else
        take_in(&call->cost->shared, at - begun, 8);
    judge(call->cost, at);
}

void share_state(int64_t *into, int64_t *calls, int64_t *of_pauses) {
    *into = get(&balance);
    *calls = get(&shared_calls);
    *of_pauses = get(&pauses);
}
