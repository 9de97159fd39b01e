/* The kernels are compiled once for each set of instructions: each `level_*.c` includes the system's headers (here) as they are, and
 * then `table.h` under its own target. The module takes the table of the processor that it finds. */
#ifndef ACTORFLOW_KERNELS_H
#define ACTORFLOW_KERNELS_H

#include "call.h"

#include <math.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

extern const Kernel kernels_plain[], kernels_avx2[], kernels_avx512[];

#endif
