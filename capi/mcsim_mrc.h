/* The hit curve of an LRU cache of any size, from inside a running system.
 *
 * A handle processes every block reference and estimates, in constant memory, how
 * often an LRU cache of any number of blocks would have hit: fixed-size SHARDS
 * (Waldspurger, Park, Garthwaite, Ahmad, FAST 2015). With 8192 tracked blocks it
 * takes less than 400 KB, and its error is below half a per cent of the references
 * on most workloads. A reference costs a nanosecond or two.
 *
 * Only mcsim_mrc_create and mcsim_mrc_get_curve allocate memory; processing uses
 * no floating point. Only one thread at a time may use a handle; different handles
 * are independent. The library prints nothing and throws no exceptions. Every
 * function that can fail returns a mcsim_mrc_status and then leaves its outputs
 * unchanged, unless its own comment states otherwise.
 *
 *   mcsim_mrc* mrc;
 *   if (mcsim_mrc_create(8192, 1, &mrc) != MCSIM_MRC_OK) ...
 *   for (each reference) mcsim_mrc_process_ref(mrc, block);
 *   uint64_t sizes[2] = {100000, 1000000};
 *   double hit_ratio[2];
 *   mcsim_mrc_get_curve(mrc, sizes, 2, hit_ratio, NULL, NULL);
 *   mcsim_mrc_destroy(mrc);
 */
#ifndef MCSIM_CAPI_MCSIM_MRC_H_
#define MCSIM_CAPI_MCSIM_MRC_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MCSIM_MRC_API __attribute__((visibility("default")))
#else
#define MCSIM_MRC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcsim_mrc mcsim_mrc;

typedef enum mcsim_mrc_status {
  MCSIM_MRC_OK = 0,
  MCSIM_MRC_INVALID_ARGUMENT = 1, /* a null pointer, or a number out of its range */
  MCSIM_MRC_NO_MEMORY = 2,
  MCSIM_MRC_TOO_SMALL = 3 /* the caller's arrays are too short; the needed length is stored */
} mcsim_mrc_status;

/* Returns the meaning of a status in English; never NULL. */
MCSIM_MRC_API const char* mcsim_mrc_status_text(mcsim_mrc_status status);

/* Makes a handle that tracks up to `max_blocks` blocks, 16 to 4194304. The error
 * decreases with the square root of this number, and memory grows with it. `seed`
 * selects the sample: the same seed and references give the same numbers. */
MCSIM_MRC_API mcsim_mrc_status mcsim_mrc_create(size_t max_blocks, uint64_t seed, mcsim_mrc** mrc);

/* Frees a handle, or does nothing with NULL. */
MCSIM_MRC_API void mcsim_mrc_destroy(mcsim_mrc* mrc);

/* Processes the next reference. `block` is any number that identifies the block,
 * also among several devices. `mrc` must not be NULL. */
MCSIM_MRC_API void mcsim_mrc_process_ref(mcsim_mrc* mrc, uint64_t block);

/* Processes the next `count` references, in order; faster than single calls. */
MCSIM_MRC_API mcsim_mrc_status mcsim_mrc_process_refs(mcsim_mrc* mrc, const uint64_t* blocks,
                                                      size_t count);

/* Returns the sampled histogram without correction: hits[i] references hit in
 * caches of capacity[i] blocks and more, but in no smaller one; cold ones never hit.
 * `*length` is the length of both arrays and becomes the number of entries, at most
 * MCSIM_MRC_MAX_BINS; MCSIM_MRC_TOO_SMALL if the arrays are too short for them.
 * `cold` may be NULL. */
#define MCSIM_MRC_MAX_BINS 8448
MCSIM_MRC_API mcsim_mrc_status mcsim_mrc_get_histogram(const mcsim_mrc* mrc, double* capacity,
                                                       double* hits, size_t* length, double* cold);

/* Estimates the hit ratio of LRU caches of `capacity[i]` blocks, in any order, with
 * its 95 % confidence band. `low` and `high` may be NULL, and are NaN if fewer than
 * 32 blocks are sampled. Sizes above 512 blocks are resolved to 0.4 %, which the
 * band includes. All are 0 before the first reference. */
MCSIM_MRC_API mcsim_mrc_status mcsim_mrc_get_curve(const mcsim_mrc* mrc, const uint64_t* capacity,
                                                   size_t count, double* hit_ratio, double* low,
                                                   double* high);

/* For a handle that is not NULL: references so far, an estimate of the distinct
 * blocks so far, the present sampling rate of blocks (below 10 / rate blocks the
 * curve is unreliable), and the bytes of memory used. */
MCSIM_MRC_API uint64_t mcsim_mrc_references(const mcsim_mrc* mrc);
MCSIM_MRC_API double mcsim_mrc_distinct(const mcsim_mrc* mrc);
MCSIM_MRC_API double mcsim_mrc_rate(const mcsim_mrc* mrc);
MCSIM_MRC_API size_t mcsim_mrc_bytes(const mcsim_mrc* mrc);

/* Clears all references; keeps the sizes and the seed. */
MCSIM_MRC_API void mcsim_mrc_reset(mcsim_mrc* mrc);

#ifdef __cplusplus
}
#endif

#endif /* MCSIM_CAPI_MCSIM_MRC_H_ */
