#include "core/engine/caches/priority_cache.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/prefetch.hpp"
#include "core/engine/caches/scalar_replay.hpp"

namespace mcsim {
namespace {

// The number of accesses for which new blocks' priorities are computed in one call.
constexpr std::int64_t kNewcomersAhead = 1 << 13;

}  // namespace

PriorityCache::PriorityCache(std::unique_ptr<PriorityFunction> function, const PolicySetup& setup)
    : CallbackCache(setup), function_(std::move(function)), heap_(slots()), blocks_(slots()) {}

void PriorityCache::start() {
  const auto terms = function_->start(setup_);
  if (terms.ok()) terms_ = *terms;
  failure_ = terms.status();
  started_ = true;
}

absl::Status PriorityCache::replay(const AccessBatch<>& batch) {
  if (!started_) start();
  const std::span<const BlockId> blocks = batch.blocks;
  const auto prefetch = [&](std::size_t i) {
    directory_.prefetch(blocks[std::min(i + kIndexAhead, blocks.size() - 1)]);
    const Slot soon = directory_.guess(blocks[std::min(i + kSlotAhead, blocks.size() - 1)]);
    if (soon != kNoSlot) prefetch_line(&blocks_[soon]);
  };
  return scalar_replay(*this, batch, counts_, prefetch);
}

bool PriorityCache::touch(const Access<>& a) {
  const Slot slot = directory_.find(a.block);
  if (slot == kNoSlot) return false;
  Block& known = blocks_[slot];
  ++known.accesses;
  known.last = now_++;
  if (known.stale == kFresh) {
    known.stale = stale_.size();
    stale_.push_back(slot);
  }
  return true;
}

void PriorityCache::insert(const Access<>& a, std::vector<BlockId>& victims) {
  if (!started_) start();
  Key key{.priority = 0, .last = now_};
  if (failure_.ok()) {
    const absl::StatusOr<double> priority = newcomer();
    failure_ = priority.status();
    if (priority.ok()) key.priority = *priority;
  }
  if (size() == capacity_) evict(victims);
  const Slot slot = directory_.insert(a.block);
  heap_.push(slot, key);
  blocks_[slot] = {.accesses = 1, .last = now_, .inserted = now_};
  ++now_;
}

bool PriorityCache::take(BlockId block) {
  const Slot slot = directory_.find(block);
  if (slot == kNoSlot) return false;
  mark_fresh(slot);
  heap_.erase(slot);
  directory_.erase(slot);
  return true;
}

void PriorityCache::resize(Count capacity, std::vector<BlockId>& victims) {
  if (!set_capacity(capacity, function_->name())) return;
  while (size() > capacity_) evict(victims);
}

void PriorityCache::evict(std::vector<BlockId>& victims) {
  Slot slot = heap_.top();
  if (failure_.ok()) {
    const absl::StatusOr<Slot> chosen = victim();
    failure_ = chosen.status();
    slot = chosen.ok() ? *chosen : heap_.top();
  }
  victims.push_back(directory_.block(slot));
  ++evicted_;
  take(directory_.block(slot));
}

// Mark a block as no longer stale, or as removed.
void PriorityCache::mark_fresh(Slot slot) {
  const std::size_t at = std::exchange(blocks_[slot].stale, kFresh);
  if (at == kFresh) return;
  const Slot last = stale_.back();
  stale_.pop_back();
  if (last == slot) return;
  stale_[at] = last;
  blocks_[last].stale = at;
}

absl::StatusOr<Slot> PriorityCache::victim() {
  if (terms_.refresh > 0 && evicted_ % terms_.refresh == 0) {
    MCSIM_RETURN_IF_ERROR(evaluate_all());
  }
  if (!terms_.rising || blocks_[heap_.top()].stale != kFresh) {
    MCSIM_RETURN_IF_ERROR(evaluate_stale());
  }
  return heap_.top();
}

absl::StatusOr<double> PriorityCache::newcomer() {
  std::vector<std::int64_t>& times = newcomers_.now;
  if (times.empty() || now_ > times.back()) {
    newcomers_.clear();
    for (std::int64_t time = now_; time < now_ + kNewcomersAhead; ++time) {
      newcomers_.add({.accesses = 1, .last = time, .inserted = time}, time);
    }
    MCSIM_RETURN_IF_ERROR(evaluate_batch(newcomers_));
  }
  return newcomers_.priorities[static_cast<std::size_t>(now_ - times[0])];
}

absl::Status PriorityCache::evaluate_stale() {
  if (stale_.empty()) return absl::OkStatus();
  batch_.clear();
  for (const Slot slot : stale_) batch_.add(blocks_[slot], now_);
  MCSIM_RETURN_IF_ERROR(evaluate_batch(batch_));
  for (std::size_t i = 0; i < stale_.size(); ++i) {
    Block& block = blocks_[stale_[i]];
    const double before = heap_.key(stale_[i]).priority;
    const double priority = batch_.priorities[i];
    if (terms_.rising && terms_.refresh == 0 && priority < before) {
      return invalid_argument(
          "{}: fell from {} to {} with access {} to a block; a policy with falling priorities must "
          "set rising to false",
          function_->name(), before, priority, block.accesses);
    }
    heap_.update(stale_[i], {.priority = priority, .last = block.last});
    block.stale = kFresh;
  }
  stale_.clear();
  return absl::OkStatus();
}

absl::Status PriorityCache::evaluate_all() {
  batch_.clear();
  heap_.for_each([&](Slot slot) {
    blocks_[slot].stale = kFresh;
    batch_.add(blocks_[slot], now_);
  });
  stale_.clear();
  MCSIM_RETURN_IF_ERROR(evaluate_batch(batch_));
  std::size_t next = 0;
  heap_.rekey([&](Slot slot) {
    return Key{.priority = batch_.priorities[next++], .last = blocks_[slot].last};
  });
  return absl::OkStatus();
}

absl::Status PriorityCache::evaluate_batch(EvaluationBatch& batch) {
  batch.priorities.resize(batch.now.size());
  MCSIM_RETURN_IF_ERROR(function_->evaluate({.accesses = batch.accesses,
                                             .last = batch.last,
                                             .inserted = batch.inserted,
                                             .now = batch.now},
                                            batch.priorities));
  const auto wrong =
      std::ranges::find_if(batch.priorities, [](double priority) { return std::isnan(priority); });
  if (wrong == batch.priorities.end()) return absl::OkStatus();
  const auto i = static_cast<std::size_t>(wrong - batch.priorities.begin());
  return invalid_argument("{}: is not a number for accesses={}, last={}, inserted={}, now={}",
                          function_->name(), batch.accesses[i], batch.last[i], batch.inserted[i],
                          batch.now[i]);
}

void PriorityCache::EvaluationBatch::clear() {
  accesses.clear();
  last.clear();
  inserted.clear();
  now.clear();
}

void PriorityCache::EvaluationBatch::add(const Block& block, std::int64_t time) {
  accesses.push_back(block.accesses);
  last.push_back(block.last);
  inserted.push_back(block.inserted);
  now.push_back(time);
}

std::size_t PriorityCache::EvaluationBatch::bytes() const {
  return (accesses.capacity() + last.capacity() + inserted.capacity() + now.capacity()) *
             sizeof(std::int64_t) +
         priorities.capacity() * sizeof(double);
}

std::size_t PriorityCache::bytes() const {
  return directory_.bytes() + heap_.bytes() + blocks_.size() * sizeof(Block) +
         stale_.capacity() * sizeof(Slot) + batch_.bytes() + newcomers_.bytes();
}

absl::Status PriorityCache::check() const {
  if (size() > capacity() || size() != heap_.size()) {
    return internal_error("holds {} blocks of {}, {} of them in the heap", size(), capacity(),
                          heap_.size());
  }
  MCSIM_RETURN_IF_ERROR(heap_.check());
  return directory_.check();
}

}  // namespace mcsim
