#include "capi/mcsim_mrc.h"

#include <limits>
#include <new>
#include <span>

#include "core/locality/sampling/online_mrc.hpp"

struct mcsim_mrc {
  mcsim::OnlineMrc mrc;
};

namespace {

using mcsim::OnlineMrc;
static_assert(OnlineMrc::kBinCount == MCSIM_MRC_MAX_BINS);

// The value of the last step at or below `capacity`, divided by the accesses; NaN if there are no
// values.
double ratio_at(const mcsim::CurveEstimate& curve, const std::vector<double>& values,
                std::uint64_t capacity) {
  if (values.size() < curve.capacity.size()) return std::numeric_limits<double>::quiet_NaN();
  const double value = mcsim::value_at(curve.capacity, values, static_cast<double>(capacity));
  return value == 0 ? 0 : value / curve.accesses;
}

}  // namespace

const char* mcsim_mrc_status_text(mcsim_mrc_status status) {
  switch (status) {
    case MCSIM_MRC_OK:
      return "no error";
    case MCSIM_MRC_INVALID_ARGUMENT:
      return "a null pointer, or a number out of its range";
    case MCSIM_MRC_NO_MEMORY:
      return "not enough memory";
    case MCSIM_MRC_TOO_SMALL:
      return "the arrays given are too small";
  }
  return "not a status";
}

mcsim_mrc_status mcsim_mrc_create(size_t max_blocks, uint64_t seed, mcsim_mrc** mrc) {
  if (mrc == nullptr || max_blocks < mcsim::OnlineMrc::kMinBlocks ||
      max_blocks > mcsim::OnlineMrc::kMaxBlocks) {
    return MCSIM_MRC_INVALID_ARGUMENT;
  }
  try {
    *mrc = new mcsim_mrc{mcsim::OnlineMrc(max_blocks, seed)};
  } catch (const std::bad_alloc&) {
    return MCSIM_MRC_NO_MEMORY;
  }
  return MCSIM_MRC_OK;
}

void mcsim_mrc_destroy(mcsim_mrc* mrc) { delete mrc; }

void mcsim_mrc_process_ref(mcsim_mrc* mrc, uint64_t block) { mrc->mrc.process(block); }

mcsim_mrc_status mcsim_mrc_process_refs(mcsim_mrc* mrc, const uint64_t* blocks, size_t count) {
  if (mrc == nullptr || (blocks == nullptr && count > 0)) return MCSIM_MRC_INVALID_ARGUMENT;
  mrc->mrc.process(std::span(blocks, count));
  return MCSIM_MRC_OK;
}

mcsim_mrc_status mcsim_mrc_get_histogram(const mcsim_mrc* mrc, double* capacity, double* hits,
                                         size_t* length, double* cold) {
  if (mrc == nullptr || length == nullptr) return MCSIM_MRC_INVALID_ARGUMENT;
  size_t needed = 0;
  for (size_t bin = 0; bin < OnlineMrc::kBinCount; ++bin)
    needed += mrc->mrc.hits_in(bin) > 0 ? 1 : 0;
  if (needed > *length) {
    *length = needed;
    return MCSIM_MRC_TOO_SMALL;
  }
  if (needed > 0 && (capacity == nullptr || hits == nullptr)) return MCSIM_MRC_INVALID_ARGUMENT;
  size_t entry = 0;
  for (size_t bin = 0; bin < OnlineMrc::kBinCount; ++bin) {
    if (mrc->mrc.hits_in(bin) == 0) continue;
    capacity[entry] = OnlineMrc::kBins.middle(bin);
    hits[entry++] = mrc->mrc.hits_in(bin);
  }
  *length = needed;
  if (cold != nullptr) *cold = mrc->mrc.cold();
  return MCSIM_MRC_OK;
}

mcsim_mrc_status mcsim_mrc_get_curve(const mcsim_mrc* mrc, const uint64_t* capacity, size_t count,
                                     double* hit_ratio, double* low, double* high) {
  if (mrc == nullptr || (count > 0 && (capacity == nullptr || hit_ratio == nullptr))) {
    return MCSIM_MRC_INVALID_ARGUMENT;
  }
  try {
    const mcsim::CurveEstimate curve = mrc->mrc.curve();
    for (size_t i = 0; i < count; ++i) {
      hit_ratio[i] = ratio_at(curve, curve.hits, capacity[i]);
      if (low != nullptr) low[i] = ratio_at(curve, curve.low, capacity[i]);
      if (high != nullptr) high[i] = ratio_at(curve, curve.high, capacity[i]);
    }
  } catch (const std::bad_alloc&) {
    return MCSIM_MRC_NO_MEMORY;
  }
  return MCSIM_MRC_OK;
}

uint64_t mcsim_mrc_references(const mcsim_mrc* mrc) { return mrc->mrc.references(); }
double mcsim_mrc_distinct(const mcsim_mrc* mrc) { return mrc->mrc.distinct(); }
double mcsim_mrc_rate(const mcsim_mrc* mrc) { return mrc->mrc.rate(); }
size_t mcsim_mrc_bytes(const mcsim_mrc* mrc) { return mrc->mrc.bytes(); }
void mcsim_mrc_reset(mcsim_mrc* mrc) { mrc->mrc.clear(); }
