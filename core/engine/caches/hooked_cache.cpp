#include "core/engine/caches/hooked_cache.hpp"

#include <algorithm>

#include "core/engine/caches/scalar_replay.hpp"

namespace mcsim {
namespace {

// The number of accesses reported in one call.
constexpr std::size_t kMostUnreported = std::size_t{1} << 16;

}  // namespace

HookedCache::HookedCache(std::unique_ptr<PolicyHooks> hooks, const PolicySetup& setup)
    : CallbackCache(setup), hooks_(std::move(hooks)), held_(slots()), chosen_(slots()) {}

absl::Status HookedCache::replay(const AccessBatch<>& batch) {
  return scalar_replay(*this, batch, counts_, [](std::size_t) {});
}

bool HookedCache::touch(const Access<>& a) {
  const Slot slot = directory_.find(a.block);
  if (slot == kNoSlot) return false;
  if (!chosen_[slot]) record(slot, a.block, true);
  return true;
}

void HookedCache::insert(const Access<>& a, std::vector<BlockId>& victims) {
  if (ahead_ == 0) attempt([&] { return start(); });
  if (size() == capacity_) evict(victims);
  const Slot slot = directory_.insert(a.block);
  held_.set(slot);
  record(slot, a.block, false);
}

bool HookedCache::take(BlockId block) {
  const Slot slot = directory_.find(block);
  if (slot == kNoSlot) return false;
  directory_.erase(slot);
  held_.clear(slot);
  if (!chosen_[slot]) {
    if (failure_.ok()) unreported_.removed.push_back(slot);
    return true;
  }
  chosen_.clear(slot);
  const auto queued = victims_.begin() + static_cast<std::ptrdiff_t>(left_);
  victims_.erase(std::find(queued, victims_.end(), slot));
  return true;
}

void HookedCache::resize(Count capacity, std::vector<BlockId>& victims) {
  if (!set_capacity(capacity, hooks_->name())) return;
  if (ahead_ > 0) {
    attempt([&]() -> absl::Status {
      MCSIM_RETURN_IF_ERROR(report());
      return hooks_->resized(capacity);
    });
  }
  while (size() > capacity_) evict(victims);
}

absl::Status HookedCache::start() {
  MCSIM_ASSIGN_OR_RETURN(ahead_, hooks_->start(setup_));
  return capacity_ == setup_.capacity ? absl::OkStatus() : hooks_->resized(capacity_);
}

void HookedCache::record(Slot slot, BlockId block, bool hit) {
  if (!failure_.ok()) return;
  if (!unreported_.removed.empty()) attempt([&] { return report(); });
  unreported_.slots.push_back(slot);
  unreported_.blocks.push_back(block);
  unreported_.hits.push_back(hit ? 1 : 0);
  if (unreported_.slots.size() >= kMostUnreported) attempt([&] { return report(); });
}

Slot HookedCache::evict(std::vector<BlockId>& victims) {
  Slot slot = kNoSlot;
  attempt([&]() -> absl::Status {
    MCSIM_ASSIGN_OR_RETURN(slot, next_victim());
    return absl::OkStatus();
  });
  if (slot == kNoSlot) slot = any_block();
  victims.push_back(directory_.block(slot));
  directory_.erase(slot);
  held_.clear(slot);
  chosen_.clear(slot);
  return slot;
}

Slot HookedCache::any_block() const {
  Slot slot = 0;
  while (!held_[slot]) ++slot;
  return slot;
}

absl::StatusOr<Slot> HookedCache::next_victim() {
  if (left_ == victims_.size()) MCSIM_RETURN_IF_ERROR(request_victims());
  return static_cast<Slot>(victims_[left_++]);
}

absl::Status HookedCache::request_victims() {
  MCSIM_RETURN_IF_ERROR(report());
  victims_.clear();
  left_ = 0;
  MCSIM_RETURN_IF_ERROR(hooks_->choose(ahead_, victims_));
  if (victims_.empty() || victims_.size() > ahead_) {
    return invalid_argument("{}: returned {} victims; expected {}", hooks_->name(), victims_.size(),
                            ahead_ == 1 ? "1" : fmt::format("1 to {}", ahead_));
  }
  for (const std::int64_t victim : victims_) {
    MCSIM_RETURN_IF_ERROR(check_victim(victim));
    chosen_.set(static_cast<Slot>(victim));
  }
  return absl::OkStatus();
}

absl::Status HookedCache::check_victim(std::int64_t victim) const {
  const auto most = static_cast<std::int64_t>(slots());
  if (victim < 0 || victim >= most) {
    return invalid_argument("{}: returned slot {} as a victim; the cache has slots 0 to {}",
                            hooks_->name(), victim, most - 1);
  }
  if (!held_[static_cast<Slot>(victim)]) {
    return invalid_argument("{}: returned slot {} as a victim, but it is empty", hooks_->name(),
                            victim);
  }
  if (chosen_[static_cast<Slot>(victim)]) {
    return invalid_argument("{}: returned slot {} as a victim twice", hooks_->name(), victim);
  }
  return absl::OkStatus();
}

absl::Status HookedCache::report() {
  if (!unreported_.slots.empty()) {
    MCSIM_RETURN_IF_ERROR(
        hooks_->accessed(unreported_.slots, unreported_.blocks, unreported_.hits));
    unreported_.slots.clear();
    unreported_.blocks.clear();
    unreported_.hits.clear();
  }
  if (unreported_.removed.empty()) return absl::OkStatus();
  MCSIM_RETURN_IF_ERROR(hooks_->removed(unreported_.removed));
  unreported_.removed.clear();
  return absl::OkStatus();
}

std::size_t HookedCache::bytes() const {
  constexpr std::size_t kUnreportedBytes = 2 * sizeof(std::int64_t) + sizeof(std::uint8_t);
  return directory_.bytes() + held_.bytes() + chosen_.bytes() +
         unreported_.removed.capacity() * sizeof(std::int64_t) +
         unreported_.slots.capacity() * kUnreportedBytes +
         victims_.capacity() * sizeof(std::int64_t);
}

absl::Status HookedCache::check() const {
  if (size() > capacity()) return internal_error("holds {} blocks of {}", size(), capacity());
  return directory_.check();
}

}  // namespace mcsim
