/* The pool: threads that take pieces of jobs. A job is one call of `pool_run`, and lies on its caller's stack.
 *
 * The caller takes pieces as well, so a job ends in time although no thread of the pool gets a core: nobody waits for a thread
 * to begin. Only a piece that a thread is in the middle of is waited for. Jobs of several callers stand in a row, and a thread
 * takes the first that wants one more; each job goes to the end of the row when a thread has joined it.
 *
 * Each thread has a stretch of the pieces that it begins with, the same one in each job, and then helps with the others'. So what one
 * job has written lies in the cache of the core that reads it in the next one.
 *
 * A thread that finds no job looks for another one for a millisecond, then it sleeps: it costs nothing until a caller wakes it.
 * While it looks, any thread that works may have its core. Where there are more threads than cores, no thread looks in a loop.
 *
 * In a child process there are no threads: `fork` copies the pool as an empty one.
 */
#define _GNU_SOURCE
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum {
    MOST_THREADS = 256,
    MOST_STRETCHES = 16,
    LOOKS_NS = 1000000,  /* for so long a thread without a job looks for one: a virtual core may take as long to wake up */
    AWAITS_NS = 1000000, /* for so long a caller looks whether the last pieces are done, before it sleeps */
    LOOKS_AT_ONCE = 64,  /* looks between two looks at the clock */
    STACK = 1 << 21
};

/* Neighbouring pieces, up to `end`, of which those before `next` have been taken. It has a line of the cache to itself. */
typedef struct {
    _Alignas(64) _Atomic int64_t next;
    int64_t end;
} Stretch;

typedef struct Job {
    Part part;
    const void *given;
    int64_t count, piece;
    int stretches;
    atomic_int inside; /* threads of the pool that are at work on it; it grows under the lock only */
    int wanted;        /* threads that may still join; under the lock */
    struct Job *next;
    Stretch stretch[MOST_STRETCHES];
} Job;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static Job *first; /* under the lock, as are: */
static int threads, sleeping, limit = 1, cores = 1;
static atomic_uint posted; /* grows with each job */
static atomic_int looking; /* threads that look for a job */
static atomic_bool crowded; /* whether there are more threads than cores */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static inline void pause_core(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void cut_into_stretches(Job *job, int64_t pieces, int threads) {
    job->stretches = threads < MOST_STRETCHES ? threads : MOST_STRETCHES;
    for (int i = 0; i < job->stretches; i++) {
        atomic_init(&job->stretch[i].next, pieces * i / job->stretches);
        job->stretch[i].end = pieces * (i + 1) / job->stretches;
    }
}

static bool has_pieces(Job *job) {
    for (int i = job->stretches - 1; i >= 0; i--) /* the caller is at work on the first one */
        if (atomic_load(&job->stretch[i].next) < job->stretch[i].end) return true;
    return false;
}

/* Takes pieces of a thread's own stretch, then of the others. The caller of the job has the first stretch, and the number 0. */
static void take_pieces(Job *job, int thread) {
    int own = thread ? 1 + (thread - 1) % (job->stretches - 1) : 0;
    for (int i = 0; i < job->stretches; i++) {
        Stretch *stretch = &job->stretch[(own + i) % job->stretches];
        for (;;) {
            int64_t number = atomic_fetch_add(&stretch->next, 1);
            if (number >= stretch->end) break;
            int64_t begin = number * job->piece, left = job->count - begin;
            job->part(begin, left < job->piece ? left : job->piece, job->given);
        }
    }
}

static void remove_job(Job *job) {
    for (Job **at = &first; *at; at = &(*at)->next)
        if (*at == job) {
            *at = job->next;
            return;
        }
}

static void append_job(Job *job) {
    Job **at = &first;
    while (*at) at = &(*at)->next;
    job->next = NULL;
    *at = job;
}

/* A job that wants one more thread, which has joined it. Under the lock. */
static Job *join_job(void) {
    for (Job *job = first; job; job = job->next)
        if (job->wanted > 0 && has_pieces(job)) {
            job->wanted--;
            atomic_fetch_add(&job->inside, 1);
            remove_job(job);
            append_job(job);
            return job;
        }
    return NULL;
}

static bool look_for_jobs(unsigned seen) {
    if (atomic_load(&crowded)) return false;
    int64_t end = now() + LOOKS_NS;
    do {
        for (int i = 0; i < LOOKS_AT_ONCE; i++) {
            if (atomic_load(&posted) != seen) return true;
            pause_core();
        }
        sched_yield(); /* a thread that works goes first */
    } while (now() < end);
    return false;
}

static void *serve(void *numbered) {
    int number = (int)(intptr_t)numbered; /* from 1 on */
    pthread_mutex_lock(&lock);
    for (;;) {
        unsigned seen = atomic_load(&posted);
        Job *job = join_job();
        if (job) {
            pthread_mutex_unlock(&lock);
            take_pieces(job, number);
            pthread_mutex_lock(&lock);
            if (atomic_fetch_sub(&job->inside, 1) == 1) pthread_cond_broadcast(&done);
            continue; /* the job may be gone now */
        }
        pthread_mutex_unlock(&lock);
        atomic_fetch_add(&looking, 1);
        bool found = look_for_jobs(seen);
        atomic_fetch_sub(&looking, 1);
        pthread_mutex_lock(&lock);
        if (found || atomic_load(&posted) != seen) continue;
        sleeping++;
        pthread_cond_wait(&wanted, &lock);
        sleeping--;
    }
    return NULL;
}

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

static void in_child(void) {
    pthread_mutex_t fresh_lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t fresh_condition = PTHREAD_COND_INITIALIZER;
    lock = fresh_lock;
    wanted = done = fresh_condition;
    first = NULL;
    threads = sleeping = 0;
    atomic_store(&looking, 0);
}

static void prepare(void) { pthread_atfork(before_fork, after_fork, in_child); }

/* Begins threads until there are so many, as far as the system gives them. Under the lock. */
static void begin_threads(int count) {
    while (threads < count) {
        pthread_attr_t attributes;
        pthread_t thread;
        sigset_t all, before;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, STACK);
        sigfillset(&all); /* signals are for the threads of the program */
        pthread_sigmask(SIG_BLOCK, &all, &before);
        int failed = pthread_create(&thread, &attributes, serve, (void *)(intptr_t)(threads + 1));
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
        if (failed) return;
#if defined(__linux__)
        pthread_setname_np(thread, "actorflow pool");
#endif
        threads++;
    }
}

void pool_limit(int most, int there) {
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
    limit = most < 1 ? 1 : most > MOST_THREADS ? MOST_THREADS : most;
    cores = there < 1 ? 1 : there;
    atomic_store(&crowded, limit > cores);
    pthread_mutex_unlock(&lock);
}

void pool_state(int *all, int *asleep) {
    pthread_mutex_lock(&lock);
    *all = threads;
    *asleep = sleeping;
    pthread_mutex_unlock(&lock);
}

int pool_looking(void) { return atomic_load_explicit(&looking, memory_order_relaxed); }

void pool_await(const int64_t *number, int64_t enough) {
    while (__atomic_load_n(number, __ATOMIC_ACQUIRE) < enough) {
        for (int i = 0; i < LOOKS_AT_ONCE && !atomic_load_explicit(&crowded, memory_order_relaxed); i++) {
            if (__atomic_load_n(number, __ATOMIC_ACQUIRE) >= enough) return;
            pause_core();
        }
        sched_yield();
    }
}

/* Puts a job into the row, for up to `others` threads; sleeping ones wake up if `wakes`. */
static void post_job(Job *job, int others, bool wakes) {
    pthread_mutex_lock(&lock);
    if (others > limit - 1) others = limit - 1;
    if (wakes) begin_threads(others);
    job->wanted = others;
    append_job(job);
    atomic_fetch_add(&posted, 1);
    for (int i = 0; wakes && i < others && i < sleeping; i++) pthread_cond_signal(&wanted);
    pthread_mutex_unlock(&lock);
}

/* Takes a job from the row, and waits for those who are in the middle of a piece. */
static void end_job(Job *job) {
    pthread_mutex_lock(&lock);
    remove_job(job);
    pthread_mutex_unlock(&lock);
    if (!atomic_load(&job->inside)) return;
    if (!atomic_load(&crowded)) {
        int64_t end = now() + AWAITS_NS;
        do {
            for (int i = 0; i < LOOKS_AT_ONCE; i++) {
                if (!atomic_load(&job->inside)) goto over;
                pause_core();
            }
            sched_yield();
        } while (now() < end);
    }
over: /* whoever leaves a job does so under the lock: the job lives until that thread has let go of it */
    pthread_mutex_lock(&lock);
    while (atomic_load(&job->inside)) pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
}

void pool_run_some(Part part, const void *given, int64_t count, int64_t piece, int most, bool wakes) {
    int64_t pieces = (count + piece - 1) / piece;
    int others = (int)(pieces < most ? pieces : most) - 1;
    if (others <= 0) {
        part(0, count, given);
        return;
    }
    Job job;
    job.part = part;
    job.given = given;
    job.count = count;
    job.piece = piece;
    atomic_init(&job.inside, 0);
    cut_into_stretches(&job, pieces, others + 1);
    post_job(&job, others, wakes);
    take_pieces(&job, 0);
    end_job(&job);
}

void pool_run(Part part, const void *given, int64_t count, int64_t piece, int most) {
    pool_run_some(part, given, count, piece, most, true);
}
