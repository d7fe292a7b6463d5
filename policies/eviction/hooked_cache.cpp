#include "policies/eviction/hooked_cache.hpp"

namespace mcsim {
namespace {

// Accesses that are kept to be told together.
constexpr std::size_t kMostUntold = std::size_t{1} << 16;

}  // namespace

HookedCache::HookedCache(std::unique_ptr<PolicyHooks> hooks, const PolicySetup& setup)
    : hooks_(std::move(hooks)),
      setup_(setup),
      directory_(DenseIndex(setup.blocks), setup.slots_for(setup.capacity)),
      given_up_(setup.slots_for(setup.capacity)) {}

absl::Status HookedCache::replay(const AccessBatch<>& batch) {
  MCSIM_RETURN_IF_ERROR(failure_);
  if (ahead_ == 0) failure_ = start();
  for (std::size_t i = 0; i < batch.blocks.size() && failure_.ok(); ++i) {
    const absl::StatusOr<bool> hit = access(batch.blocks[i]);
    if (!hit.ok()) {
      failure_ = hit.status();
      break;
    }
    const Count op = batch.ops.empty() ? 0 : batch.ops[i];
    ++counts_.accesses;
    counts_.hits += *hit ? 1 : 0;
    counts_.writes += op;
    counts_.write_hits += *hit ? op : 0;
  }
  return failure_;
}

absl::Status HookedCache::start() {
  MCSIM_ASSIGN_OR_RETURN(ahead_, hooks_->start(setup_));
  return absl::OkStatus();
}

absl::StatusOr<bool> HookedCache::access(BlockId block) {
  Slot slot = directory_.find(block);
  const bool hit = slot != kNoSlot;
  if (hit && given_up_[slot]) return true;
  if (!hit && size() < capacity()) {
    slot = directory_.insert(block);
  } else if (!hit) {
    MCSIM_ASSIGN_OR_RETURN(slot, next_victim());
    directory_.replace(slot, block);
    given_up_.clear(slot);
    ++counts_.evictions;
  }
  untold_.slots.push_back(slot);
  untold_.blocks.push_back(block);
  untold_.hits.push_back(hit ? 1 : 0);
  if (untold_.slots.size() == kMostUntold) MCSIM_RETURN_IF_ERROR(tell());
  return hit;
}

absl::StatusOr<Slot> HookedCache::next_victim() {
  if (left_ == victims_.size()) MCSIM_RETURN_IF_ERROR(ask());
  return static_cast<Slot>(victims_[left_++]);
}

absl::Status HookedCache::ask() {
  MCSIM_RETURN_IF_ERROR(tell());
  victims_.clear();
  left_ = 0;
  MCSIM_RETURN_IF_ERROR(hooks_->choose(ahead_, victims_));
  if (victims_.empty() || victims_.size() > ahead_) {
    return invalid_argument("{}: gave {} victims; expected {}", hooks_->name(), victims_.size(),
                            ahead_ == 1 ? "1" : fmt::format("1 to {}", ahead_));
  }
  for (const std::int64_t victim : victims_) {
    if (victim < 0 || victim >= size()) {
      return invalid_argument("{}: gave slot {} as a victim; the cache has slots 0 to {}",
                              hooks_->name(), victim, size() - 1);
    }
    if (given_up_[static_cast<Slot>(victim)]) {
      return invalid_argument("{}: gave slot {} as a victim twice", hooks_->name(), victim);
    }
    given_up_.set(static_cast<Slot>(victim));
  }
  return absl::OkStatus();
}

absl::Status HookedCache::tell() {
  if (untold_.slots.empty()) return absl::OkStatus();
  MCSIM_RETURN_IF_ERROR(hooks_->accessed(untold_.slots, untold_.blocks, untold_.hits));
  untold_.slots.clear();
  untold_.blocks.clear();
  untold_.hits.clear();
  return absl::OkStatus();
}

void HookedCache::resize(Count) {
  failure_ = absl::UnimplementedError(
      fmt::format("{}: the capacity cannot change while it runs", hooks_->name()));
}

std::size_t HookedCache::bytes() const {
  constexpr std::size_t kUntoldBytes = 2 * sizeof(std::int64_t) + sizeof(std::uint8_t);
  return directory_.bytes() + given_up_.bytes() + untold_.slots.capacity() * kUntoldBytes +
         victims_.capacity() * sizeof(std::int64_t);
}

absl::Status HookedCache::check() const {
  if (size() > capacity()) return internal_error("holds {} blocks of {}", size(), capacity());
  return directory_.check();
}

}  // namespace mcsim
