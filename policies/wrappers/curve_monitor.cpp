#include "policies/wrappers/curve_monitor.hpp"

#include <algorithm>
#include <cmath>

namespace mcsim {

OnlineSample::OnlineSample(std::size_t unique, double rate, std::uint64_t seed)
    : filter_(rate, seed), number_(unique), picked_(kPiece) {
  for (std::size_t block = 0; block < unique; ++block) {
    if (filter_.samples(block)) number_[block] = static_cast<BlockId>(unique_++);
  }
}

std::span<const BlockId> OnlineSample::pick(std::span<const BlockId> blocks) {
  const std::size_t count = filter_.select(numbers_of(blocks), numbers_of(std::span(picked_)));
  const auto picked = std::span(picked_).first(count);
  for (BlockId& block : picked) block = number_[block];
  return picked;
}

void MiniatureCache::follow(TierStep step, const Access<>& a) {
  if (step == TierStep::kTouch) {
    found_ += cache_->touch(a) ? 1 : 0;
  } else if (step == TierStep::kTake) {
    found_ += cache_->take(a.block) ? 1 : 0;
  } else if (step == TierStep::kDiscard) {
    cache_->discard(a.block);
  } else if (cache_->capacity() > 0 && !cache_->contains(a.block) && cache_->admits(a, victims_)) {
    cache_->insert(a, victims_);
    victims_.clear();
  }
}

namespace {

class LruMonitor final : public CurveMonitor {
 public:
  LruMonitor(std::size_t unique, double rate, std::uint64_t seed)
      : sample_(unique, rate, seed), distances_(sample_.unique()) {}

  absl::Status process(std::span<const BlockId> blocks) override {
    distances_.process(numbers_of(sample_.pick(blocks)));
    return absl::OkStatus();
  }
  // Reuse distances do not model blocks that are taken away; in hosts, miniature caches are used
  // instead.
  void follow(TierStep step, const Access<>& a) override {
    if (step == TierStep::kTouch)
      distances_.process(numbers_of(sample_.pick(std::span(&a.block, 1))));
  }

  std::vector<CurvePoint> next_curve() override {
    const DistanceHistogram counted = distances_.histogram();
    distances_.clear_counts();
    const auto accesses = static_cast<double>(counted.accesses());
    if (accesses == 0) return {};
    std::vector<CurvePoint> curve{{.blocks = 0, .misses = 1}};
    double hits = 0;
    for (std::size_t i = 0; i < counted.distance.size(); ++i) {
      hits += static_cast<double>(counted.count[i]);
      curve.push_back({.blocks = unsampled_capacity(counted.distance[i], sample_.rate()),
                       .misses = 1 - hits / accesses});
    }
    return curve;
  }

  void resize(Count) override {}
  std::size_t bytes() const override {
    return sample_.bytes() + DenseDistances::max_bytes(sample_.unique());
  }

 private:
  OnlineSample sample_;
  DenseDistances distances_;
};

class MiniatureMonitor final : public CurveMonitor {
 public:
  static absl::StatusOr<std::unique_ptr<CurveMonitor>> make(const ComponentSpec& spec,
                                                            const PolicySetup& setup, double rate,
                                                            std::uint64_t seed) {
    auto monitor =
        std::unique_ptr<MiniatureMonitor>(new MiniatureMonitor(setup.blocks, rate, seed));
    PolicySetup small = setup;
    small.blocks = monitor->sample_.unique();
    small.first_block = 0;
    for (const Count capacity : monitor->capacities(setup.capacity)) {
      small.capacity = capacity;
      MCSIM_ASSIGN_OR_RETURN(auto cache, make_wrapped(spec, small));
      monitor->caches_.emplace_back(std::move(cache));
    }
    return monitor;
  }

  absl::Status process(std::span<const BlockId> blocks) override {
    const std::span<const BlockId> picked = sample_.pick(blocks);
    for (MiniatureCache& mini : caches_) MCSIM_RETURN_IF_ERROR(mini.replay(picked));
    references_ += static_cast<Count>(picked.size());
    return absl::OkStatus();
  }

  void follow(TierStep step, const Access<>& a) override {
    Access<> picked = a;
    picked.block = sample_.pick(a.block);
    if (picked.block == kNoBlock) return;
    for (MiniatureCache& mini : caches_) mini.follow(step, picked);
    references_ += is_reference(step) ? 1 : 0;
  }
  absl::Status failure() const override {
    for (const MiniatureCache& mini : caches_) MCSIM_RETURN_IF_ERROR(mini.cache().failure());
    return absl::OkStatus();
  }

  std::vector<CurvePoint> next_curve() override {
    if (references_ == 0) return {};
    std::vector<CurvePoint> curve{{.blocks = 0, .misses = 1}};
    for (MiniatureCache& mini : caches_) {
      const double blocks = static_cast<double>(mini.cache().capacity()) / sample_.rate();
      const double share =
          static_cast<double>(references_ - mini.next_hits()) / static_cast<double>(references_);
      // Rounding may make small capacities equal.
      if (blocks > curve.back().blocks) curve.push_back({.blocks = blocks, .misses = share});
    }
    references_ = 0;
    return curve;
  }

  void resize(Count capacity) override {
    const std::vector<Count> wanted = capacities(capacity);
    for (std::size_t i = 0; i < caches_.size(); ++i) {
      if (caches_[i].cache().capacity() != wanted[i]) caches_[i].cache().resize(wanted[i]);
    }
  }

  std::size_t bytes() const override {
    std::size_t bytes = sample_.bytes();
    for (const MiniatureCache& mini : caches_) bytes += mini.cache().bytes();
    return bytes;
  }

 private:
  static constexpr int kPerDoubling = 3;
  static constexpr int kDoublings = 3;  // in each direction

  MiniatureMonitor(std::size_t unique, double rate, std::uint64_t seed)
      : sample_(unique, rate, seed) {}

  std::vector<Count> capacities(Count around) const {
    std::vector<Count> result;
    for (int step = -kDoublings * kPerDoubling; step <= kDoublings * kPerDoubling; ++step) {
      const double blocks = static_cast<double>(around) * std::exp2(step / double{kPerDoubling});
      result.push_back(std::max<Count>(1, std::llround(blocks * sample_.rate())));
    }
    return result;
  }

  OnlineSample sample_;
  std::vector<MiniatureCache> caches_;  // by capacity
  Count references_ = 0;                // in this epoch
};

}  // namespace

std::unique_ptr<CurveMonitor> lru_monitor(std::size_t unique, double rate, std::uint64_t seed) {
  return std::make_unique<LruMonitor>(unique, rate, seed);
}

absl::StatusOr<std::unique_ptr<CurveMonitor>> miniature_monitor(const ComponentSpec& spec,
                                                                const PolicySetup& setup,
                                                                double rate, std::uint64_t seed) {
  return MiniatureMonitor::make(spec, setup, rate, seed);
}

}  // namespace mcsim
