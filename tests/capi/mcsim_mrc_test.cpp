// Trusts: the object behind the C library, and the header's own words.
#include "capi/mcsim_mrc.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/locality/sampling/online_mrc.hpp"
#include "tests/support/streams.hpp"

namespace mcsim {
namespace {

TEST(McsimMrc, SaysWhatTheObjectBehindItDoes) {
  const streams::Keys keys = streams::mix(100'000, 5000, 1);
  mcsim_mrc* mrc = nullptr;
  ASSERT_EQ(mcsim_mrc_create(512, 7, &mrc), MCSIM_MRC_OK);
  EXPECT_EQ(mcsim_mrc_process_refs(mrc, keys.data(), 50'000), MCSIM_MRC_OK);
  for (std::size_t i = 50'000; i < keys.size(); ++i) mcsim_mrc_process_ref(mrc, keys[i]);

  OnlineMrc object(512, 7);
  object.process(keys);
  const CurveEstimate curve = object.curve();
  const std::vector<std::uint64_t> sizes{0, 20'000, 3000, 1'000'000};
  std::vector<double> ratio(4), low(4), high(4);
  ASSERT_EQ(mcsim_mrc_get_curve(mrc, sizes.data(), 4, ratio.data(), low.data(), high.data()),
            MCSIM_MRC_OK);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(ratio[i], curve.hits_at(static_cast<double>(sizes[i])) / 100'000);
    EXPECT_LE(low[i], ratio[i]);
    EXPECT_GE(high[i], ratio[i]);
  }
  EXPECT_EQ(mcsim_mrc_references(mrc), 100'000U);
  EXPECT_EQ(mcsim_mrc_distinct(mrc), object.distinct());
  EXPECT_EQ(mcsim_mrc_rate(mrc), object.rate());
  EXPECT_EQ(mcsim_mrc_bytes(mrc), object.bytes());

  std::vector<double> capacity(MCSIM_MRC_MAX_BINS), hits(MCSIM_MRC_MAX_BINS);
  std::size_t length = 1;
  EXPECT_EQ(mcsim_mrc_get_histogram(mrc, capacity.data(), hits.data(), &length, nullptr),
            MCSIM_MRC_TOO_SMALL);
  double cold = 0;
  ASSERT_EQ(mcsim_mrc_get_histogram(mrc, capacity.data(), hits.data(), &length, &cold),
            MCSIM_MRC_OK);
  std::size_t filled = 0;
  for (std::size_t bin = 0; bin < OnlineMrc::kBinCount; ++bin) filled += object.hits_in(bin) > 0;
  EXPECT_EQ(length, filled);
  EXPECT_NEAR(std::accumulate(hits.begin(), hits.end(), cold), object.sampled_references(), 1e-6);

  mcsim_mrc_reset(mrc);
  EXPECT_EQ(mcsim_mrc_references(mrc), 0U);
  ASSERT_EQ(mcsim_mrc_get_curve(mrc, sizes.data(), 4, ratio.data(), nullptr, nullptr),
            MCSIM_MRC_OK);
  EXPECT_EQ(ratio, std::vector<double>(4));
  mcsim_mrc_destroy(mrc);
}

TEST(McsimMrc, RefusesWhatMakesNoSense) {
  mcsim_mrc* mrc = nullptr;
  EXPECT_EQ(mcsim_mrc_create(15, 1, &mrc), MCSIM_MRC_INVALID_ARGUMENT);
  EXPECT_EQ(mcsim_mrc_create(std::size_t{1} << 40, 1, &mrc), MCSIM_MRC_INVALID_ARGUMENT);
  EXPECT_EQ(mcsim_mrc_create(16, 1, nullptr), MCSIM_MRC_INVALID_ARGUMENT);
  EXPECT_EQ(mrc, nullptr);
  ASSERT_EQ(mcsim_mrc_create(16, 1, &mrc), MCSIM_MRC_OK);
  EXPECT_EQ(mcsim_mrc_process_refs(nullptr, nullptr, 0), MCSIM_MRC_INVALID_ARGUMENT);
  EXPECT_EQ(mcsim_mrc_process_refs(mrc, nullptr, 1), MCSIM_MRC_INVALID_ARGUMENT);
  EXPECT_EQ(mcsim_mrc_process_refs(mrc, nullptr, 0), MCSIM_MRC_OK);
  EXPECT_EQ(mcsim_mrc_get_curve(mrc, nullptr, 1, nullptr, nullptr, nullptr),
            MCSIM_MRC_INVALID_ARGUMENT);
  EXPECT_EQ(mcsim_mrc_get_histogram(mrc, nullptr, nullptr, nullptr, nullptr),
            MCSIM_MRC_INVALID_ARGUMENT);
  EXPECT_STREQ(mcsim_mrc_status_text(MCSIM_MRC_NO_MEMORY), "not enough memory");
  mcsim_mrc_destroy(mrc);
  mcsim_mrc_destroy(nullptr);
}

}  // namespace
}  // namespace mcsim
