#include "core/engine/tier.hpp"

#include <limits>
#include <utility>

namespace mcsim {

Tier::Tier(Count capacity, std::vector<Part> parts, PartitionRules rules,
           std::unique_ptr<AdmissionFilter> filter)
    : capacity_(capacity), parts_(std::move(parts)), rules_(rules), filter_(std::move(filter)) {
  // Empty caches have no victims. Where targets only matter once the tier is full, what
  // a cache may hold grows with what it holds.
  for (Part& part : parts_) {
    part.cache->resize(rules_.mode == ResizeMode::kLazy ? 0 : part.target);
  }
}

bool Tier::admits(std::size_t part, BlockId block, Count request_blocks) {
  if (!has_room(part)) return false;
  TierCache& own = *parts_[part].cache;
  if (filter_) {
    const bool full = held_ == capacity_ ||
                      (rules_.mode != ResizeMode::kLazy && own.size() >= parts_[part].target);
    if (!filter_->admits({.block = block, .request_blocks = request_blocks, .full = full})) {
      return false;
    }
  }
  return own.admits({.block = block});
}

void Tier::tell_filter(std::span<const BlockId> victims) {
  for (const BlockId victim : victims) filter_->evicted(victim);
}

void Tier::retarget(std::span<const Count> targets, std::vector<BlockId>& victims) {
  const std::size_t before = victims.size();
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    parts_[part].target = targets[part];
    if (rules_.mode == ResizeMode::kEager) parts_[part].cache->resize(targets[part], victims);
  }
  held_ -= static_cast<Count>(victims.size() - before);
}

bool Tier::has_room_lazily(std::size_t part) const {
  if (held_ < capacity_) return true;
  return capacity_ > 0 && (size(part) > 0 || donor(part) != part);
}

void Tier::count_held() {
  held_ = 0;
  for (std::size_t part = 0; part < parts_.size(); ++part) held_ += size(part);
}

// Lets the cache of the part hold one block more, or leaves it as it is, so that a block
// of its own goes.
void Tier::make_room(std::size_t part, std::vector<BlockId>& victims) {
  TierCache& own = *parts_[part].cache;
  const bool strict = rules_.mode == ResizeMode::kStrictOwn;
  if (strict && own.capacity() != parts_[part].target) own.resize(parts_[part].target, victims);
  if (strict && own.size() == parts_[part].target) return;
  if (held_ == capacity_) {
    const std::size_t giver = donor(part);
    if (giver == part) return own.resize(own.size(), victims);
    parts_[giver].cache->resize(size(giver) - 1, victims);
  }
  if (own.size() == own.capacity()) own.resize(own.size() + 1, victims);
}

// The part that gives a block when `part` gets one in a tier that is full. Targets sum
// to at most the capacity, so that one is over its own.
std::size_t Tier::donor(std::size_t part) const {
  std::size_t worst = part;
  Count excess = std::numeric_limits<Count>::min();
  for (std::size_t other = 0; other < parts_.size(); ++other) {
    const Count over = size(other) + (other == part ? 1 : 0) - parts_[other].target;
    if (over > 0 && rules_.victim == VictimRule::kFirstOver) return other;
    if (over > excess) {
      excess = over;
      worst = other;
    }
  }
  return worst;
}

absl::Status Tier::failure() const {
  for (const Part& part : parts_) MCSIM_RETURN_IF_ERROR(part.cache->failure());
  return absl::OkStatus();
}

std::size_t Tier::bytes() const {
  std::size_t bytes = 0;
  for (const Part& part : parts_) bytes += part.cache->bytes();
  return bytes;
}

absl::Status Tier::check() const {
  Count held = 0;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    MCSIM_RETURN_IF_ERROR(parts_[part].cache->check());
    held += size(part);
    if (rules_.mode == ResizeMode::kEager && size(part) > parts_[part].target) {
      return internal_error("part {} holds {} blocks of {}", part, size(part), parts_[part].target);
    }
  }
  if (held == held_ && held <= capacity_) return absl::OkStatus();
  return internal_error("parts hold {} blocks of {}, counted {}", held, capacity_, held_);
}

}  // namespace mcsim
