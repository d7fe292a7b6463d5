#include "core/engine/tiers/tier.hpp"

#include <cassert>
#include <utility>

namespace mcsim {

Tier::Tier(Count capacity, std::vector<Part> parts, DivisionRules rules,
           std::unique_ptr<AdmissionFilter> filter)
    : capacity_(capacity),
      parts_(std::move(parts)),
      rules_(rules),
      filter_(std::move(filter)),
      selective_(parts_[0].cache->selective()),
      excess_(parts_.size()) {
  set_initial_capacities();
}

Tier::Tier(Count capacity, std::span<const Count> targets, PartitionedLru parts,
           DivisionRules rules)
    : capacity_(capacity),
      lru_(std::move(parts)),
      rules_(rules),
      selective_(false),
      excess_(targets.size()) {
  for (const Count target : targets) parts_.push_back({.cache = nullptr, .target = target});
  set_initial_capacities();
}

// Resize the empty caches, which have no victims. In lazy mode, capacities start at 0 and grow with
// the blocks held.
void Tier::set_initial_capacities() {
  std::vector<BlockId> victims;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    resize(part, rules_.mode == ResizeMode::kLazy ? 0 : parts_[part].target, victims);
    count_excess(part);
  }
}

bool Tier::is_accepted(std::size_t part, const Access<>& a) {
  if (filter_) {
    const bool full = held_ == capacity_ ||
                      (rules_.mode != ResizeMode::kLazy && size(part) >= parts_[part].target);
    if (!filter_->admits(a, full)) return false;
  }
  const std::size_t before = refused_victims_.size();
  const bool admits = parts_[part].cache->admits(a, refused_victims_);
  count_evicted(part, std::span(refused_victims_).subspan(before));
  return admits;
}

// Count blocks that left a part without an insertion.
void Tier::count_evicted(std::size_t part, std::span<const BlockId> victims) {
  if (victims.empty()) return;
  held_ -= static_cast<Count>(victims.size());
  count_excess(part);
  if (!filter_) return;
  for (const BlockId victim : victims) filter_->evicted(victim);
}

void Tier::tick(Nanoseconds time, BackgroundWork& work) {
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    const std::size_t before = work.victims.size();
    parts_[part].cache->tick(time, work);
    count_evicted(part, std::span(work.victims).subspan(before));
  }
}

void Tier::enter(std::size_t part, const Access<>& a, std::vector<BlockId>& victims) {
  const std::size_t before = victims.size();
  assert(has_room(part));
  if (shares_space()) ensure_space(part, victims);
  if (lru_) {
    const BlockId victim = lru_->insert(part, a.block);
    if (victim != kNoBlock) victims.push_back(victim);
  } else {
    parts_[part].cache->insert(a, victims);
  }
  count_excess(part);
  held_ += 1 - static_cast<Count>(victims.size() - before);
  if (filter_) {
    for (const BlockId victim : std::span(victims).subspan(before)) filter_->evicted(victim);
  }
}

void Tier::retarget(std::span<const Count> targets, std::vector<BlockId>& victims) {
  const std::size_t before = victims.size();
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    parts_[part].target = targets[part];
    if (!shares_space()) resize(part, targets[part], victims);
    count_excess(part);
  }
  held_ -= static_cast<Count>(victims.size() - before);
}

bool Tier::has_other_donor(std::size_t part) { return donor_for(part) != part; }

// Usually a part evicts a block of its own for one that it inserts, and no size changes. This
// branch is predicted, so that later reads need not wait for the donor's number.
Tier::Victim Tier::insert_lazily(std::size_t part, BlockId block, BlockId* next) {
  BlockId victim = kNoBlock;
  if (held_ < capacity_) {
    ++held_;
  } else {
    const std::size_t donor = donor_for(part);
    if (donor == part) [[likely]]
      return {lru_->replace(part, block, next), true};
    excess_.add(donor, -1);
    victim = lru_->evict(donor, next);
  }
  excess_.add(part, +1);
  lru_->grow(part, block);
  return {victim, false};
}

void Tier::count_held() {
  held_ = 0;
  for (std::size_t part = 0; part < parts_.size(); ++part) held_ += size(part);
}

// Raise the capacity of the part's cache by one block, or leave it, so that one of its own blocks
// is evicted.
void Tier::ensure_space(std::size_t part, std::vector<BlockId>& victims) {
  const bool strict = rules_.mode == ResizeMode::kStrictOwn;
  if (strict && room(part) != parts_[part].target) resize(part, parts_[part].target, victims);
  if (strict && size(part) == parts_[part].target) return;
  if (held_ == capacity_) {
    const std::size_t donor = donor_for(part);
    if (donor == part) return resize(part, size(part), victims);
    resize(donor, size(donor) - 1, victims);
    count_excess(donor);
  }
  if (size(part) == room(part)) resize(part, size(part) + 1, victims);
}

std::size_t Tier::first_over_for(std::size_t part) {
  excess_.add(part, +1);
  const std::size_t donor = excess_.first_above(0);
  excess_.add(part, -1);
  return donor;
}

absl::Status Tier::failure() const {
  if (lru_) return absl::OkStatus();
  for (const Part& part : parts_) MCSIM_RETURN_IF_ERROR(part.cache->failure());
  return absl::OkStatus();
}

std::size_t Tier::bytes() const {
  if (lru_) return lru_->bytes();
  std::size_t bytes = 0;
  for (const Part& part : parts_) bytes += part.cache->bytes();
  return bytes;
}

absl::Status Tier::save(ArchiveWriter& to) {
  to(capacity_, parts_.size(), lru_.has_value(), filter_ != nullptr, held_);
  for (Part& part : parts_) to(part.target);
  if (lru_) {
    to(*lru_);
  } else {
    for (Part& part : parts_) {
      to(part.cache->capacity());
      MCSIM_RETURN_IF_ERROR(part.cache->save(to));
    }
  }
  return filter_ ? filter_->save(to) : absl::OkStatus();
}

absl::Status Tier::load(ArchiveReader& from) {
  Count capacity = 0;
  std::size_t parts = 0;
  bool in_logs = false;
  bool has_filter = false;
  from(capacity, parts, in_logs, has_filter, held_);
  MCSIM_RETURN_IF_ERROR(from.status());
  if (capacity != capacity_ || parts != parts_.size()) {
    return invalid_argument("the state is one of {} blocks in {} parts, not of {} in {}", capacity,
                            parts, capacity_, parts_.size());
  }
  if (in_logs != lru_.has_value() || has_filter != (filter_ != nullptr)) {
    return invalid_argument("the state is one of another policy or admission filter");
  }
  for (Part& part : parts_) from(part.target);
  MCSIM_RETURN_IF_ERROR(lru_ ? load_logs(from) : load_caches(from));
  for (std::size_t part = 0; part < parts_.size(); ++part) count_excess(part);
  return filter_ ? filter_->load(from) : absl::OkStatus();
}

absl::Status Tier::load_logs(ArchiveReader& from) {
  from(*lru_);
  return from.status();
}

absl::Status Tier::load_caches(ArchiveReader& from) {
  std::vector<BlockId> victims;
  for (Part& part : parts_) {
    Count capacity = 0;
    from(capacity);
    MCSIM_RETURN_IF_ERROR(from.status());
    if (capacity < 0 || capacity > capacity_) {
      return data_loss("a part of {} blocks in a tier of {}", capacity, capacity_);
    }
    part.cache->resize(capacity, victims);
    MCSIM_RETURN_IF_ERROR(part.cache->load(from));
  }
  return absl::OkStatus();
}

absl::Status Tier::check() const {
  if (lru_) MCSIM_RETURN_IF_ERROR(lru_->check());
  Count held = 0;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (!lru_) MCSIM_RETURN_IF_ERROR(parts_[part].cache->check());
    held += size(part);
    if (rules_.mode == ResizeMode::kEager && size(part) > parts_[part].target) {
      return internal_error("part {} holds {} blocks of {}", part, size(part), parts_[part].target);
    }
  }
  if (held == held_ && held <= capacity_) return absl::OkStatus();
  return internal_error("parts hold {} blocks of {}, counted {}", held, capacity_, held_);
}

}  // namespace mcsim
