#include "policies/wrappers/switching.hpp"

#include <algorithm>
#include <utility>

#include "core/base/random.hpp"
#include "core/containers/bit_array.hpp"
#include "core/containers/sample_filter.hpp"
#include "policies/wrappers/bent_cache.hpp"

namespace mcsim {

absl::StatusOr<std::unique_ptr<TierCache>> Switching::make(const Params& params,
                                                           const PolicySetup& setup) {
  Random random = Random(setup.seed).split(kInfo.name);
  std::unique_ptr<Switching> made(new Switching(params, setup, random()));
  MCSIM_RETURN_IF_ERROR(made->begin());
  claim_column(setup);
  return made;
}

Switching::Switching(const Params& params, const PolicySetup& setup, std::uint64_t seed)
    : params_(params),
      setup_(setup),
      sample_(setup.blocks, sample_rate(params.sample, setup.capacity), seed),
      epoch_(static_cast<std::size_t>(params.epoch)) {
  setup_.trace = {};
  setup_.table = nullptr;
}

absl::Status Switching::begin() {
  MCSIM_ASSIGN_OR_RETURN(const auto specs, parse_components(params_.candidates, '+'));
  for (const ComponentSpec& spec : specs) {
    MCSIM_ASSIGN_OR_RETURN(const auto cache, make_wrapped(spec, setup_));
    MCSIM_ASSIGN_OR_RETURN(auto miniature, make_wrapped(spec, miniature_setup(setup_.capacity)));
    candidates_.push_back(
        {.spec = spec, .miniature = MiniatureCache(std::move(miniature)), .bytes = cache->bytes()});
  }
  MCSIM_ASSIGN_OR_RETURN(main_, make_wrapped(candidates_[0].spec, setup_));
  return absl::OkStatus();
}

PolicySetup Switching::miniature_setup(Count capacity) const {
  PolicySetup small = setup_;
  small.capacity = miniature_capacity(capacity, sample_.rate());
  small.blocks = sample_.unique();
  small.first_block = 0;
  return small;
}

absl::Status Switching::replay(const AccessBatch<>& batch) {
  const auto left_of_epoch = [&] { return epoch_.size() - in_epoch_; };
  const auto replay_one = [&](const AccessBatch<>& piece) -> absl::Status {
    MCSIM_RETURN_IF_ERROR(replay_piece(piece));
    if (in_epoch_ == epoch_.size()) MCSIM_RETURN_IF_ERROR(choose(victims_));
    victims_.clear();
    return absl::OkStatus();
  };
  MCSIM_RETURN_IF_ERROR(replay_in_pieces(batch, left_of_epoch, replay_one));
  count();
  return absl::OkStatus();
}

void Switching::follow(TierStep step, Access<> a) {
  a.block = sample_.pick(BlockId(a.block - setup_.first_block));
  if (a.block == kNoBlock) return;
  for (Candidate& candidate : candidates_) candidate.miniature.follow(step, a);
  asked_ += is_reference(step) ? 1 : 0;
}

void Switching::remember(BlockId block) {
  if (in_epoch_ < epoch_.size()) epoch_[in_epoch_++] = block;
}

bool Switching::touch(const Access<>& a) {
  if (capacity() == 0) return false;
  follow(TierStep::kTouch, a);
  if (!main_->touch(a)) return false;
  remember(a.block);
  return true;
}

bool Switching::take(BlockId block) {
  if (capacity() == 0) return false;
  follow(TierStep::kTake, {.block = block});
  return main_->take(block);
}

bool Switching::discard(BlockId block) {
  if (capacity() == 0) return false;
  follow(TierStep::kDiscard, {.block = block});
  return main_->discard(block);
}

void Switching::insert(const Access<>& a, std::vector<BlockId>& victims) {
  if (in_epoch_ == epoch_.size() && failure_.ok()) failure_ = choose(victims);
  follow(TierStep::kInsert, a);
  main_->insert(a, victims);
  remember(a.block);
}

bool Switching::selective() const {
  return std::ranges::any_of(candidates_, [](const Candidate& candidate) {
    return candidate.miniature.cache().selective();
  });
}

// A refused block is inserted into the miniature caches nevertheless.
bool Switching::admits(const Access<>& a, std::vector<BlockId>& victims) {
  if (main_->admits(a, victims)) return true;
  follow(TierStep::kInsert, a);
  return false;
}

absl::Status Switching::failure() const {
  MCSIM_RETURN_IF_ERROR(failure_);
  MCSIM_RETURN_IF_ERROR(main_->failure());
  for (const Candidate& candidate : candidates_) {
    MCSIM_RETURN_IF_ERROR(candidate.miniature.cache().failure());
  }
  return absl::OkStatus();
}

absl::Status Switching::replay_piece(const AccessBatch<>& piece) {
  const std::span<const BlockId> picked = sample_.pick(piece.blocks);
  for (Candidate& candidate : candidates_) {
    MCSIM_RETURN_IF_ERROR(candidate.miniature.replay(picked));
  }
  asked_ += static_cast<Count>(picked.size());
  std::ranges::copy(piece.blocks, epoch_.data() + in_epoch_);
  in_epoch_ += piece.blocks.size();
  return main_->replay(piece);
}

absl::Status Switching::choose(std::vector<BlockId>& victims) {
  in_epoch_ = 0;
  const Count asked = std::exchange(asked_, 0);
  std::vector<Count> misses;
  for (Candidate& candidate : candidates_) {
    misses.push_back(asked - candidate.miniature.next_hits());
  }
  const auto best = std::ranges::min_element(misses);
  const double own = static_cast<double>(misses[current_]);
  if (static_cast<double>(*best) >= (1 - params_.hysteresis) * own) return absl::OkStatus();
  return go_over_to(static_cast<std::size_t>(best - misses.begin()), victims);
}

absl::Status Switching::go_over_to(std::size_t candidate, std::vector<BlockId>& victims) {
  MCSIM_ASSIGN_OR_RETURN(auto next, make_wrapped(candidates_[candidate].spec, setup_));
  if (capacity() != setup_.capacity) next->resize(capacity());

  const std::span<const BlockId> epoch(epoch_.data(), epoch_.size());
  BitArray accessed(setup_.blocks);
  for (const BlockId block : epoch) accessed.set(block - setup_.first_block);
  std::vector<BlockId> held;
  for (std::size_t i = 0; i < setup_.blocks; ++i) {
    const BlockId block = setup_.first_block + i;
    if (!accessed[i] && main_->contains(block)) held.push_back(block);
  }
  for (const BlockId block : epoch) {
    if (main_->contains(block)) held.push_back(block);
  }
  MCSIM_RETURN_IF_ERROR(next->replay({.blocks = held}));
  for (std::size_t i = 0; i < setup_.blocks; ++i) {
    const BlockId block = setup_.first_block + i;
    if (main_->contains(block) && !next->contains(block)) victims.push_back(block);
  }

  settled_ = settled_.plus(main_->counts()).since(next->counts());
  // Blocks that do not fit into the new cache count as evictions.
  settled_.evictions += main_->size() - next->size();
  main_ = std::move(next);
  current_ = candidate;
  return absl::OkStatus();
}

void Switching::resize(Count capacity) {
  main_->resize(capacity);
  resize_miniatures();
  count();
}

void Switching::resize(Count capacity, std::vector<BlockId>& victims) {
  main_->resize(capacity, victims);
  resize_miniatures();
}

void Switching::resize_miniatures() {
  const Count small = miniature_setup(capacity()).capacity;
  for (Candidate& candidate : candidates_) {
    TierCache& cache = candidate.miniature.cache();
    if (cache.capacity() != small) cache.resize(small);
  }
}

void Switching::count() { counts_ = settled_.plus(main_->counts()); }

std::size_t Switching::bytes() const {
  std::size_t bytes = sample_.bytes() + epoch_.size() * sizeof(BlockId);
  std::size_t most = main_->bytes();
  for (const Candidate& candidate : candidates_) {
    bytes += candidate.miniature.cache().bytes();
    most = std::max(most, candidate.bytes);
  }
  return bytes + 2 * most;
}

absl::Status Switching::check() const {
  MCSIM_RETURN_IF_ERROR(main_->check());
  for (const Candidate& candidate : candidates_) {
    MCSIM_RETURN_IF_ERROR(candidate.miniature.cache().check());
  }
  return absl::OkStatus();
}

}  // namespace mcsim
