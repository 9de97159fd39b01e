/* For every processor of the architecture: SSE2 on x86-64, NEON on aarch64. */
#include "kernels.h"
#define TABLE kernels_plain
#include "table.h"
