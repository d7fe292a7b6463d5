#include "policies/eviction/switching.hpp"

#include <algorithm>
#include <utility>

#include "core/base/random.hpp"
#include "core/containers/bit_array.hpp"
#include "core/locality/sample_filter.hpp"
#include "policies/eviction/bent_cache.hpp"

namespace mcsim {
namespace {

// a + b, or with the sign turned a - b.
CacheCounts sum(const CacheCounts& a, const CacheCounts& b, Count sign = 1) {
  return {.accesses = a.accesses + sign * b.accesses,
          .hits = a.hits + sign * b.hits,
          .writes = a.writes + sign * b.writes,
          .write_hits = a.write_hits + sign * b.write_hits,
          .evictions = a.evictions + sign * b.evictions};
}

}  // namespace

absl::StatusOr<std::unique_ptr<PolicyCache>> Switching::make(const Params& params,
                                                             const PolicySetup& setup) {
  Random random = Random(setup.seed).split(kInfo.name);
  std::unique_ptr<Switching> made(new Switching(params, setup, random()));
  MCSIM_RETURN_IF_ERROR(made->begin());
  return made;
}

Switching::Switching(const Params& params, const PolicySetup& setup, std::uint64_t seed)
    : params_(params),
      setup_(setup),
      sample_(setup.blocks, sample_rate(params.sample, setup.capacity), seed),
      epoch_(static_cast<std::size_t>(params.epoch)) {
  setup_.trace = {};
}

absl::Status Switching::begin() {
  MCSIM_ASSIGN_OR_RETURN(const auto specs, parse_components(params_.candidates, '+'));
  for (const ComponentSpec& spec : specs) {
    Candidate candidate{.spec = spec, .miniature = nullptr};
    MCSIM_ASSIGN_OR_RETURN(const auto cache, make_wrapped(spec, setup_));
    candidate.bytes = cache->bytes();
    MCSIM_ASSIGN_OR_RETURN(candidate.miniature,
                           make_wrapped(spec, miniature_setup(setup_.capacity)));
    candidates_.push_back(std::move(candidate));
  }
  MCSIM_ASSIGN_OR_RETURN(main_, make_wrapped(candidates_[0].spec, setup_));
  return absl::OkStatus();
}

PolicySetup Switching::miniature_setup(Count capacity) const {
  PolicySetup small = setup_;
  small.capacity = miniature_capacity(capacity, sample_.rate());
  small.blocks = sample_.unique();
  return small;
}

absl::Status Switching::replay(const AccessBatch<>& batch) {
  if (!batch.ops.empty() && batch.ops.size() != batch.blocks.size()) {
    return invalid_argument("{} operations of {} accesses", batch.ops.size(), batch.blocks.size());
  }
  for (std::size_t begin = 0; begin < batch.blocks.size();) {
    const auto piece = batch.part(begin, std::min(OnlineSample::kPiece, epoch_.size() - in_epoch_));
    begin += piece.blocks.size();
    MCSIM_RETURN_IF_ERROR(replay_piece(piece));
    if (in_epoch_ == epoch_.size()) {
      MCSIM_RETURN_IF_ERROR(choose());
      in_epoch_ = 0;
    }
  }
  count();
  return absl::OkStatus();
}

absl::Status Switching::replay_piece(const AccessBatch<>& piece) {
  const std::span<const BlockId> picked = sample_.pick(piece.blocks);
  for (const Candidate& candidate : candidates_) {
    MCSIM_RETURN_IF_ERROR(candidate.miniature->replay({.blocks = picked}));
  }
  std::ranges::copy(piece.blocks, epoch_.data() + in_epoch_);
  in_epoch_ += piece.blocks.size();
  return main_->replay(piece);
}

absl::Status Switching::choose() {
  std::vector<Count> misses;
  for (Candidate& candidate : candidates_) {
    const Count now = candidate.miniature->counts().misses();
    misses.push_back(now - candidate.misses_before);
    candidate.misses_before = now;
  }
  const auto best = std::ranges::min_element(misses);
  const double own = static_cast<double>(misses[current_]);
  if (static_cast<double>(*best) >= (1 - params_.hysteresis) * own) return absl::OkStatus();
  return go_over_to(static_cast<std::size_t>(best - misses.begin()));
}

absl::Status Switching::go_over_to(std::size_t candidate) {
  PolicySetup setup = setup_;
  setup.capacity = main_->capacity();
  MCSIM_ASSIGN_OR_RETURN(auto next, make_wrapped(candidates_[candidate].spec, setup));

  const std::span<const BlockId> epoch(epoch_.data(), in_epoch_);
  BitArray accessed(setup_.blocks);
  for (const BlockId block : epoch) accessed.set(block);
  std::vector<BlockId> held;
  for (BlockId block = 0; block < setup_.blocks; ++block) {
    if (!accessed[block] && main_->contains(block)) held.push_back(block);
  }
  for (const BlockId block : epoch) {
    if (main_->contains(block)) held.push_back(block);
  }
  MCSIM_RETURN_IF_ERROR(next->replay({.blocks = held}));

  settled_ = sum(sum(settled_, main_->counts()), next->counts(), -1);
  // Those that the new policy would not keep all at once.
  settled_.evictions += main_->size() - next->size();
  main_ = std::move(next);
  current_ = candidate;
  return absl::OkStatus();
}

void Switching::resize(Count capacity) {
  main_->resize(capacity);
  for (const Candidate& candidate : candidates_) {
    candidate.miniature->resize(miniature_setup(capacity).capacity);
  }
  count();
}

void Switching::count() { counts_ = sum(settled_, main_->counts()); }

std::size_t Switching::bytes() const {
  std::size_t bytes = sample_.bytes() + epoch_.size() * sizeof(BlockId);
  std::size_t most = main_->bytes();
  for (const Candidate& candidate : candidates_) {
    bytes += candidate.miniature->bytes();
    most = std::max(most, candidate.bytes);
  }
  return bytes + 2 * most;
}

absl::Status Switching::check() const {
  MCSIM_RETURN_IF_ERROR(main_->check());
  for (const Candidate& candidate : candidates_) {
    MCSIM_RETURN_IF_ERROR(candidate.miniature->check());
  }
  return absl::OkStatus();
}

}  // namespace mcsim
