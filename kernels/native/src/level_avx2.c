/* For processors with AVX2 and fused multiplication and addition. */
#include "kernels.h"
#if defined(__x86_64__)
#pragma GCC target("avx,avx2,fma,bmi,bmi2")
#define TABLE kernels_avx2
#include "table.h"
#endif
