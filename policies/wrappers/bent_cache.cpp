#include "policies/wrappers/bent_cache.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

// Space moves in at most this number of steps, since a step may cost a policy more than one block.
constexpr Count kSteps = 256;

template <class Wrapper>
absl::StatusOr<std::unique_ptr<TierCache>> make_bent(const BendingParams& params,
                                                     const PolicySetup& setup,
                                                     bool distances_for_lru, bool gradual) {
  MCSIM_ASSIGN_OR_RETURN(const ComponentSpec spec, parse_component(params.policy));
  std::array<std::unique_ptr<TierCache>, 2> shards;
  for (auto& shard : shards) {
    MCSIM_ASSIGN_OR_RETURN(shard, make_wrapped(spec, setup));
  }
  Random random = Random(setup.seed).split(Wrapper::kInfo.name);
  const double rate = sample_rate(params.sample, setup.capacity);
  std::unique_ptr<CurveMonitor> monitor;
  const bool in_host = setup.table != nullptr;
  if (distances_for_lru && spec.name == "lru" && !in_host) {
    monitor = lru_monitor(setup.blocks, rate, random());
  } else {
    MCSIM_ASSIGN_OR_RETURN(monitor, miniature_monitor(spec, setup, rate, random()));
  }
  return std::make_unique<BentCache>(
      std::move(shards), std::move(monitor), setup, random(),
      BendingOptions{.epoch = params.epoch, .margin = params.margin, .gradual = gradual});
}

}  // namespace

double sample_rate(Count sample, Count capacity) {
  return std::min(1.0, static_cast<double>(sample) / static_cast<double>(capacity));
}

absl::StatusOr<std::unique_ptr<TierCache>> Talus::make(const Params& params,
                                                       const PolicySetup& setup) {
  return make_bent<Talus>(params, setup, true, false);
}

absl::StatusOr<std::unique_ptr<TierCache>> Slide::make(const Params& params,
                                                       const PolicySetup& setup) {
  return make_bent<Slide>(params, setup, false, true);
}

BentCache::BentCache(std::array<std::unique_ptr<TierCache>, 2> shards,
                     std::unique_ptr<CurveMonitor> monitor, const PolicySetup& setup,
                     std::uint64_t seed, const BendingOptions& options)
    : options_(options),
      capacity_(setup.capacity),
      first_block_(setup.first_block),
      salt_(mix64(seed)),
      shards_(std::move(shards)),
      monitor_(std::move(monitor)),
      target_{0, setup.capacity},
      until_plan_(options.epoch) {
  shards_[0]->resize(0);
  claim_column(setup);
}

absl::Status BentCache::replay(const AccessBatch<>& batch) {
  const auto left_of_epoch = [&] { return static_cast<std::size_t>(until_plan_); };
  const auto replay_one = [&](const AccessBatch<>& piece) -> absl::Status {
    MCSIM_RETURN_IF_ERROR(monitor_->process(piece.blocks));
    MCSIM_RETURN_IF_ERROR(replay_piece(piece));
    until_plan_ -= static_cast<Count>(piece.blocks.size());
    if (until_plan_ == 0) plan(victims_);
    moved_out_ += static_cast<Count>(victims_.size());
    victims_.clear();
    return absl::OkStatus();
  };
  MCSIM_RETURN_IF_ERROR(replay_in_pieces(batch, left_of_epoch, replay_one));
  count();
  return absl::OkStatus();
}

void BentCache::follow(TierStep step, Access<> a) {
  a.block = BlockId(a.block - first_block_);
  monitor_->follow(step, a);
  if (is_reference(step) && until_plan_ > 0) --until_plan_;
}

bool BentCache::touch(const Access<>& a) {
  if (capacity_ == 0) return false;
  follow(TierStep::kTouch, a);
  return shards_[0]->touch(a) || shards_[1]->touch(a);
}

bool BentCache::take(BlockId block) {
  if (capacity_ == 0) return false;
  follow(TierStep::kTake, {.block = block});
  return shards_[0]->take(block) || shards_[1]->take(block);
}

bool BentCache::discard(BlockId block) {
  if (capacity_ == 0) return false;
  follow(TierStep::kDiscard, {.block = block});
  return shards_[0]->discard(block) || shards_[1]->discard(block);
}

// A refused block is inserted into the monitor nevertheless.
bool BentCache::admits(const Access<>& a, std::vector<BlockId>& victims) {
  const std::size_t shard = shard_of(a.block);
  if ((first_share_ > 0 || shard == 1) && shards_[shard]->admits(a, victims)) return true;
  follow(TierStep::kInsert, a);
  return false;
}

void BentCache::insert(const Access<>& a, std::vector<BlockId>& victims) {
  if (until_plan_ == 0) plan(victims);
  follow(TierStep::kInsert, a);
  std::size_t shard = shard_of(a.block);
  make_room(shard, victims);
  // The plan may have changed since the block was admitted; it is inserted in any case.
  if (shards_[shard]->capacity() == 0) shard = 1 - shard;
  shards_[shard]->insert(a, victims);
}

absl::Status BentCache::failure() const {
  for (const auto& shard : shards_) MCSIM_RETURN_IF_ERROR(shard->failure());
  return monitor_->failure();
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
      make_room(shard, victims_);
    }
  }
  return shards_[shard]->replay(one);
}

std::size_t BentCache::shard_of(BlockId block) const {
  return mix64((block - first_block_) ^ salt_) < first_hashes_ ? 0 : 1;
}

void BentCache::plan(std::vector<BlockId>& victims) {
  until_plan_ = options_.epoch;
  const std::vector<CurvePoint> curve = monitor_->next_curve();
  const auto blocks = static_cast<double>(capacity_);
  split_ = split_at(lower_hull(curve), blocks, options_.margin);
  const double now = misses_at(curve, blocks);
  if (split_ && misses_of(curve, *split_) >= (1 - options_.margin) * now) split_.reset();
  first_hashes_ =
      split_ ? static_cast<std::uint64_t>(std::ldexp(std::min(split_->first_keys, 1.0), 64)) : 0;
  first_share_ = split_ ? split_->first_blocks / blocks : 0;
  set_targets();
  if (!options_.gradual) set_capacity(target_[0], victims);
}

void BentCache::set_targets() {
  const Count first = std::llround(first_share_ * static_cast<double>(capacity_));
  target_ = {first, capacity_ - first};
}

// Set the capacity of the first shard; the other shard gets the rest. The shrinking shard is
// resized first.
void BentCache::set_capacity(Count first, std::vector<BlockId>& victims) {
  const std::array<Count, 2> wanted{first, capacity_ - first};
  const std::size_t shrinks = shards_[0]->capacity() > first ? 0 : 1;
  shards_[shrinks]->resize(wanted[shrinks], victims);
  shards_[1 - shrinks]->resize(wanted[1 - shrinks], victims);
}

// Move space to a full shard below its target before an insertion; the other shard is then above
// its target.
void BentCache::make_room(std::size_t shard, std::vector<BlockId>& victims) {
  TierCache& grows = *shards_[shard];
  TierCache& shrinks = *shards_[1 - shard];
  if (grows.size() < grows.capacity() || grows.capacity() >= target_[shard]) return;
  const Count step =
      std::min(std::max<Count>(1, capacity_ / kSteps), target_[shard] - grows.capacity());
  shrinks.resize(shrinks.capacity() - step, victims);
  grows.resize(grows.capacity() + step, victims);
}

void BentCache::resize(Count capacity) {
  resize(capacity, victims_);
  moved_out_ += static_cast<Count>(victims_.size());
  victims_.clear();
  count();
}

// Change each shard in the direction of the whole cache, towards its target, and by no more than
// the whole.
void BentCache::resize(Count capacity, std::vector<BlockId>& victims) {
  const Count more = capacity - capacity_;
  const Count first = shards_[0]->capacity();
  capacity_ = capacity;
  set_targets();
  const Count least = std::max<Count>(0, first + std::min<Count>(0, more));
  const Count most = std::min(capacity, first + std::max<Count>(0, more));
  set_capacity(options_.gradual ? std::clamp(target_[0], least, most) : target_[0], victims);
  monitor_->resize(std::max<Count>(1, capacity));
}

void BentCache::count() {
  counts_ = shards_[0]->counts().plus(shards_[1]->counts());
  counts_.evictions += moved_out_;
}

absl::Status BentCache::check() const {
  for (const auto& shard : shards_) MCSIM_RETURN_IF_ERROR(shard->check());
  if (shards_[0]->capacity() + shards_[1]->capacity() == capacity_) return absl::OkStatus();
  return internal_error("shards of {} and {} blocks in a cache of {}", shards_[0]->capacity(),
                        shards_[1]->capacity(), capacity_);
}

}  // namespace mcsim
