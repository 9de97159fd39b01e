/* CRC-32C (Castagnoli). */
#ifndef ACTORFLOW_CRC32C_H
#define ACTORFLOW_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of some bytes, which follow those with the checksum `before` (0: none). */
uint32_t crc32c(uint32_t before, const void *bytes, size_t count);

/* The same by tables, for processors without an instruction for it, and for tests of the other. */
uint32_t crc32c_by_tables(uint32_t before, const void *bytes, size_t count);

#endif
