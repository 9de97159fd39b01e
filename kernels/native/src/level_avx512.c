/* For processors with AVX-512, in vectors of their whole width. */
#include "kernels.h"
#if defined(__x86_64__)
#pragma GCC target("avx,avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#define TABLE kernels_avx512
#include "table.h"
#endif
