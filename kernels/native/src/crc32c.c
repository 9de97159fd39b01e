/* CRC-32C by the processor's instruction, eight bytes at a time, or by tables. */
#include "crc32c.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

static uint32_t tables[8][256]; /* what a byte leaves in the register after 0 to 7 more bytes of zero */

static void make_tables(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0x82F63B78u : 0);
        tables[0][i] = value;
    }
    for (int k = 1; k < 8; k++)
        for (int i = 0; i < 256; i++) tables[k][i] = tables[0][tables[k - 1][i] & 0xFF] ^ tables[k - 1][i] >> 8;
}

uint32_t crc32c_by_tables(uint32_t before, const void *bytes, size_t count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_tables);
    const unsigned char *at = bytes;
    uint32_t crc = ~before;
    for (; count >= 8; at += 8, count -= 8) {
        uint32_t low = crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
        crc = tables[7][low & 0xFF] ^ tables[6][low >> 8 & 0xFF] ^ tables[5][low >> 16 & 0xFF] ^ tables[4][low >> 24] ^
              tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^ tables[0][at[7]];
    }
    for (; count; count--) crc = tables[0][(crc ^ *at++) & 0xFF] ^ crc >> 8;
    return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t before, const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    uint64_t crc = ~before, word;
    for (; count >= 8; at += 8, count -= 8) {
        memcpy(&word, at, 8);
        crc = _mm_crc32_u64(crc, word);
    }
    for (; count; count--) crc = _mm_crc32_u8((uint32_t)crc, *at++);
    return ~(uint32_t)crc;
}

uint32_t crc32c(uint32_t before, const void *bytes, size_t count) {
    return __builtin_cpu_supports("sse4.2") ? by_instruction(before, bytes, count) : crc32c_by_tables(before, bytes, count);
}
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
uint32_t crc32c(uint32_t before, const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    uint32_t crc = ~before;
    uint64_t word;
    for (; count >= 8; at += 8, count -= 8) {
        memcpy(&word, at, 8);
        crc = __crc32cd(crc, word);
    }
    for (; count; count--) crc = __crc32cb(crc, *at++);
    return ~crc;
}
#else
uint32_t crc32c(uint32_t before, const void *bytes, size_t count) { return crc32c_by_tables(before, bytes, count); }
#endif
