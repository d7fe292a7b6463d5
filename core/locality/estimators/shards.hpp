#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "core/base/choices.hpp"
#include "core/base/params.hpp"
#include "core/locality/estimator.hpp"
#include "core/locality/sampling/online_mrc.hpp"

namespace mcsim {

enum class FixedSizeCorrection : std::uint8_t {
  kAuto,
  kNone,
  kAdjusted,
  kRegression,
  kHot,  // hot blocks are counted fully, so that none is missing; others as with `auto`
};

template <>
struct Choices<FixedSizeCorrection> {
  static constexpr std::array names{std::pair{"auto", FixedSizeCorrection::kAuto},
                                    std::pair{"none", FixedSizeCorrection::kNone},
                                    std::pair{"adj", FixedSizeCorrection::kAdjusted},
                                    std::pair{"regression", FixedSizeCorrection::kRegression},
                                    std::pair{"hot", FixedSizeCorrection::kHot}};
};

// Fixed-size SHARDS: OnlineMrc as an estimator.
class Shards final : public Estimator {
 public:
  struct Params {
    Count max_blocks = 8192;
    FixedSizeCorrection correction = FixedSizeCorrection::kAuto;
    Count hot_blocks = 8192;
    double initial_rate = 1;

    static constexpr auto fields() {
      return std::tuple{
          Field{"max_blocks", &Params::max_blocks, "blocks tracked at a time",
                static_cast<double>(OnlineMrc::kMinBlocks),
                static_cast<double>(OnlineMrc::kMaxBlocks)},
          Field{"correction", &Params::correction,
                "what becomes of the references that the sample has too few or too many of"},
          Field{"hot_blocks", &Params::hot_blocks, "blocks counted by themselves by `hot`",
                static_cast<double>(OnlineMrc::kMinBlocks),
                static_cast<double>(OnlineMrc::kMaxBlocks)},
          Field{"initial_rate", &Params::initial_rate,
                "sampling rate until there are too many blocks to track (SHARDS: 0.1)",
                OnlineMrc::kMinRate, 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "shards",
      .summary = "Distances of a fixed number of blocks, those of the lowest hashes.",
      .reference =
          "Waldspurger, Park, Garthwaite, Ahmad, Efficient MRC Construction with SHARDS, "
          "FAST 2015"};

  Shards(Params params, EstimatorContext context)
      : correction_(on_sample(params.correction)),
        mrc_(static_cast<std::size_t>(params.max_blocks), context.seed,
             params.correction == FixedSizeCorrection::kHot
                 ? static_cast<std::size_t>(params.hot_blocks)
                 : 0,
             params.initial_rate) {}

  absl::Status process(const References& next) override {
    mrc_.process(next.keys);
    return absl::OkStatus();
  }
  absl::StatusOr<CurveEstimate> curve() override {
    CurveEstimate curve = mrc_.curve(correction_);
    if (mrc_.hot_blocks() > 0) {
      curve.note = fmt::format("hot: {} blocks counted fully, others corrected as by auto",
                               mrc_.hot_blocks());
    }
    return curve;
  }
  double distinct() const override { return mrc_.distinct(); }
  std::size_t bytes() const override { return sizeof *this - sizeof mrc_ + mrc_.bytes(); }

 private:
  static Correction on_sample(FixedSizeCorrection correction) {
    switch (correction) {
      case FixedSizeCorrection::kNone:
        return Correction::kNone;
      case FixedSizeCorrection::kAdjusted:
        return Correction::kAdjusted;
      case FixedSizeCorrection::kRegression:
        return Correction::kRegression;
      case FixedSizeCorrection::kAuto:
      case FixedSizeCorrection::kHot:
        break;
    }
    return Correction::kAuto;
  }

  Correction correction_;
  OnlineMrc mrc_;
};

}  // namespace mcsim
