#include "policies/eviction/bent_cache.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

// Space moves in so many steps at most, for a step may cost a policy more than a block.
constexpr Count kSteps = 256;

template <class Wrapper>
absl::StatusOr<std::unique_ptr<PolicyCache>> make_bent(const BendingParams& params,
                                                       const PolicySetup& setup,
                                                       bool distances_for_lru, bool gradual) {
  MCSIM_ASSIGN_OR_RETURN(const ComponentSpec spec, parse_component(params.policy));
  std::array<std::unique_ptr<PolicyCache>, 2> shards;
  for (auto& shard : shards) {
    MCSIM_ASSIGN_OR_RETURN(shard, make_wrapped(spec, setup));
  }
  Random random = Random(setup.seed).split(Wrapper::kInfo.name);
  const double rate = sample_rate(params.sample, setup.capacity);
  std::unique_ptr<CurveMonitor> monitor;
  if (distances_for_lru && spec.name == "lru") {
    monitor = lru_monitor(setup.blocks, rate, random());
  } else {
    MCSIM_ASSIGN_OR_RETURN(monitor, miniature_monitor(spec, setup, rate, random()));
  }
  return std::make_unique<BentCache>(
      std::move(shards), std::move(monitor), setup.capacity, random(),
      BendingOptions{.epoch = params.epoch, .margin = params.margin, .gradual = gradual});
}

}  // namespace

double sample_rate(Count sample, Count capacity) {
  return std::min(1.0, static_cast<double>(sample) / static_cast<double>(capacity));
}

absl::StatusOr<std::unique_ptr<PolicyCache>> Talus::make(const Params& params,
                                                         const PolicySetup& setup) {
  return make_bent<Talus>(params, setup, true, false);
}

absl::StatusOr<std::unique_ptr<PolicyCache>> Slide::make(const Params& params,
                                                         const PolicySetup& setup) {
  return make_bent<Slide>(params, setup, false, true);
}

BentCache::BentCache(std::array<std::unique_ptr<PolicyCache>, 2> shards,
                     std::unique_ptr<CurveMonitor> monitor, Count capacity, std::uint64_t seed,
                     const BendingOptions& options)
    : options_(options),
      capacity_(capacity),
      salt_(mix64(seed)),
      shards_(std::move(shards)),
      monitor_(std::move(monitor)),
      target_{0, capacity},
      until_plan_(options.epoch) {
  shards_[0]->resize(0);
}

absl::Status BentCache::replay(const AccessBatch<>& batch) {
  if (!batch.ops.empty() && batch.ops.size() != batch.blocks.size()) {
    return invalid_argument("{} operations of {} accesses", batch.ops.size(), batch.blocks.size());
  }
  for (std::size_t begin = 0; begin < batch.blocks.size();) {
    const auto most = std::min(OnlineSample::kPiece, static_cast<std::size_t>(until_plan_));
    const auto piece = batch.part(begin, most);
    begin += piece.blocks.size();
    MCSIM_RETURN_IF_ERROR(monitor_->process(piece.blocks));
    MCSIM_RETURN_IF_ERROR(replay_piece(piece));
    until_plan_ -= static_cast<Count>(piece.blocks.size());
    if (until_plan_ == 0) plan();
  }
  count();
  return absl::OkStatus();
}

absl::Status BentCache::replay_piece(const AccessBatch<>& piece) {
  if (first_hashes_ == 0 && shards_[0]->capacity() == 0) return shards_[1]->replay(piece);
  for (std::size_t i = 0; i < piece.blocks.size(); ++i) {
    MCSIM_RETURN_IF_ERROR(access(piece.part(i, 1)));
  }
  return absl::OkStatus();
}

absl::Status BentCache::access(const AccessBatch<>& one) {
  const BlockId block = one.blocks[0];
  std::size_t shard = shard_of(block);
  if (!shards_[shard]->contains(block)) {
    if (shards_[1 - shard]->contains(block)) {
      shard = 1 - shard;
    } else {
      make_room(shard);
    }
  }
  return shards_[shard]->replay(one);
}

std::size_t BentCache::shard_of(BlockId block) const {
  return mix64(block ^ salt_) < first_hashes_ ? 0 : 1;
}

void BentCache::plan() {
  until_plan_ = options_.epoch;
  const std::vector<CurvePoint> curve = monitor_->next_curve();
  const auto blocks = static_cast<double>(capacity_);
  split_ = split_at(lower_hull(curve), blocks, options_.margin);
  const double now = misses_at(curve, blocks);
  if (split_ && misses_of(curve, *split_) >= (1 - options_.margin) * now) split_.reset();
  first_hashes_ =
      split_ ? static_cast<std::uint64_t>(std::ldexp(std::min(split_->first_keys, 1.0), 64)) : 0;
  set_target(split_ ? std::llround(split_->first_blocks) : 0);
}

void BentCache::set_target(Count first) {
  target_ = {first, capacity_ - first};
  if (options_.gradual) return;
  const std::size_t shrinks = shards_[0]->capacity() > first ? 0 : 1;
  shards_[shrinks]->resize(target_[shrinks]);
  shards_[1 - shrinks]->resize(target_[1 - shrinks]);
}

// For a block that comes to a full shard below its target, which the other is then above.
void BentCache::make_room(std::size_t shard) {
  PolicyCache& grows = *shards_[shard];
  PolicyCache& shrinks = *shards_[1 - shard];
  if (grows.size() < grows.capacity() || grows.capacity() >= target_[shard]) return;
  const Count step =
      std::min(std::max<Count>(1, capacity_ / kSteps), target_[shard] - grows.capacity());
  shrinks.resize(shrinks.capacity() - step);
  grows.resize(grows.capacity() + step);
}

void BentCache::resize(Count capacity) {
  const double scale =
      static_cast<double>(capacity) / static_cast<double>(std::max<Count>(1, capacity_));
  const Count first = std::llround(static_cast<double>(shards_[0]->capacity()) * scale);
  const Count first_target = std::llround(static_cast<double>(target_[0]) * scale);
  capacity_ = capacity;
  shards_[0]->resize(first);
  shards_[1]->resize(capacity - first);
  target_ = {first_target, capacity - first_target};
  monitor_->resize(std::max<Count>(1, capacity));
  count();
}

void BentCache::count() {
  counts_ = shards_[0]->counts();
  const CacheCounts& other = shards_[1]->counts();
  counts_.accesses += other.accesses;
  counts_.hits += other.hits;
  counts_.writes += other.writes;
  counts_.write_hits += other.write_hits;
  counts_.evictions += other.evictions;
}

absl::Status BentCache::check() const {
  for (const auto& shard : shards_) MCSIM_RETURN_IF_ERROR(shard->check());
  if (shards_[0]->capacity() + shards_[1]->capacity() == capacity_) return absl::OkStatus();
  return internal_error("shards of {} and {} blocks in a cache of {}", shards_[0]->capacity(),
                        shards_[1]->capacity(), capacity_);
}

}  // namespace mcsim
