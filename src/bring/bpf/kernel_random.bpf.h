/*
 * kernel_random: how far it is to the next sample. For kernel_probes.bpf.c.
 */
#ifndef MEMTAPE_BPF_KERNEL_RANDOM_BPF_H
#define MEMTAPE_BPF_KERNEL_RANDOM_BPF_H

/* -log2((random + 1) / 2^32) in units of 2^-16: of a number between 0 and 1. */
static __always_inline __u64 random_log2(void)
{
	__u64 value = (__u64)bpf_get_prandom_u32() + 1;
	__u64 log2 = 0;

	for (int i = 0; i < 32 && value < 1ULL << 32; i++) {
		value <<= 1;
		log2 += 1ULL << 16; /* of which the fraction is too much */
	}
	value >>= 1; /* 1.31 bits, from 1 to 2 */
	for (int bit = 15; bit >= 0; bit--) {
		value = value * value >> 31;
		if (value >> 32) {
			value >>= 1;
			log2 -= 1ULL << bit;
		}
	}
	return log2;
}

/* The bytes until the next sample: exponentially distributed, so that none is foreseeable. */
static __always_inline __u64 sample_distance(__u64 sample_bytes)
{
	enum { LN2 = 45426 }; /* in units of 2^-16 */

	return (sample_bytes * random_log2() >> 16) * LN2 >> 16;
}

#endif
