/* Reads block numbers, one a line, and prints the hit ratio of LRU caches:
 *
 *   online_mrc 1000 100000 < blocks.txt
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "capi/mcsim_mrc.h"

static int fail(const char* what, mcsim_mrc_status status) {
  fprintf(stderr, "%s: %s\n", what, mcsim_mrc_status_text(status));
  return 1;
}

int main(int argc, char** argv) {
  mcsim_mrc* mrc = NULL;
  mcsim_mrc_status status = mcsim_mrc_create(8192, 1, &mrc);
  if (status != MCSIM_MRC_OK) return fail("mcsim_mrc_create", status);

  uint64_t block;
  while (scanf("%" SCNu64, &block) == 1) mcsim_mrc_process_ref(mrc, block);

  printf("%" PRIu64 " references to about %.0f blocks, sampled at %.4f, in %zu bytes\n",
         mcsim_mrc_references(mrc), mcsim_mrc_distinct(mrc), mcsim_mrc_rate(mrc),
         mcsim_mrc_bytes(mrc));
  printf("%12s %9s  95 %% band\n", "blocks", "hit ratio");
  for (int i = 1; i < argc; ++i) {
    const uint64_t blocks = strtoull(argv[i], NULL, 10);
    double ratio, low, high;
    status = mcsim_mrc_get_curve(mrc, &blocks, 1, &ratio, &low, &high);
    if (status != MCSIM_MRC_OK) return fail("mcsim_mrc_get_curve", status);
    printf("%12" PRIu64 " %9.4f  %.4f to %.4f\n", blocks, ratio, low, high);
  }
  mcsim_mrc_destroy(mrc);
  return 0;
}
