#include "policies/eviction/priority_cache.hpp"

#include <algorithm>
#include <cmath>

namespace mcsim {
namespace {

// Accesses for which a newcomer's priority is asked for together.
constexpr std::int64_t kNewcomersAhead = 1 << 13;

}  // namespace

PriorityCache::PriorityCache(std::unique_ptr<PriorityFunction> function, const PolicySetup& setup)
    : function_(std::move(function)),
      setup_(setup),
      directory_(DenseIndex(setup.blocks), setup.slots_for(setup.capacity)),
      heap_(setup.slots_for(setup.capacity)),
      blocks_(setup.slots_for(setup.capacity)) {}

absl::Status PriorityCache::replay(const AccessBatch<>& batch) {
  if (failure_.ok() && !started_) {
    const auto terms = function_->start(setup_);
    if (terms.ok()) terms_ = *terms;
    failure_ = terms.status();
    started_ = true;
  }
  const std::span<const BlockId> blocks = batch.blocks;
  for (std::size_t i = 0; i < blocks.size() && failure_.ok(); ++i) {
    directory_.prefetch(blocks[std::min(i + kIndexAhead, blocks.size() - 1)]);
    const Slot soon = directory_.guess(blocks[std::min(i + kSlotAhead, blocks.size() - 1)]);
    if (soon != kNoSlot) __builtin_prefetch(&blocks_[soon], 1);

    const absl::StatusOr<bool> hit = access(blocks[i]);
    if (!hit.ok()) {
      failure_ = hit.status();
      break;
    }
    const Count op = batch.ops.empty() ? 0 : batch.ops[i];
    ++counts_.accesses;
    counts_.hits += *hit ? 1 : 0;
    counts_.writes += op;
    counts_.write_hits += *hit ? op : 0;
    ++now_;
  }
  return failure_;
}

absl::StatusOr<bool> PriorityCache::access(BlockId block) {
  if (const Slot slot = directory_.find(block); slot != kNoSlot) {
    Block& known = blocks_[slot];
    ++known.accesses;
    known.last = now_;
    if (!known.stale) stale_.push_back(slot);
    known.stale = true;
    return true;
  }
  MCSIM_ASSIGN_OR_RETURN(const double priority, newcomer());
  const Key key{.priority = priority, .last = now_};
  Slot slot;
  if (size() < capacity()) {
    slot = directory_.insert(block);
    heap_.push(slot, key);
  } else {
    MCSIM_ASSIGN_OR_RETURN(slot, victim());
    directory_.replace(slot, block);
    heap_.update(slot, key);
    ++counts_.evictions;
  }
  blocks_[slot] = {.accesses = 1, .last = now_, .inserted = now_, .stale = false};
  return false;
}

absl::StatusOr<Slot> PriorityCache::victim() {
  if (terms_.refresh > 0 && counts_.evictions % terms_.refresh == 0) {
    MCSIM_RETURN_IF_ERROR(evaluate_all());
  }
  if (!terms_.rising || blocks_[heap_.top()].stale) MCSIM_RETURN_IF_ERROR(evaluate_stale());
  return heap_.top();
}

absl::StatusOr<double> PriorityCache::newcomer() {
  std::vector<std::int64_t>& times = newcomers_.now;
  if (times.empty() || now_ > times.back()) {
    newcomers_.clear();
    for (std::int64_t time = now_; time < now_ + kNewcomersAhead; ++time) {
      newcomers_.add({.accesses = 1, .last = time, .inserted = time, .stale = false}, time);
    }
    MCSIM_RETURN_IF_ERROR(ask(newcomers_));
  }
  return newcomers_.priorities[static_cast<std::size_t>(now_ - times[0])];
}

absl::Status PriorityCache::evaluate_stale() {
  if (stale_.empty()) return absl::OkStatus();
  question_.clear();
  for (const Slot slot : stale_) question_.add(blocks_[slot], now_);
  MCSIM_RETURN_IF_ERROR(ask(question_));
  for (std::size_t i = 0; i < stale_.size(); ++i) {
    Block& block = blocks_[stale_[i]];
    const double before = heap_.key(stale_[i]).priority;
    const double priority = question_.priorities[i];
    if (terms_.rising && terms_.refresh == 0 && priority < before) {
      return invalid_argument(
          "{}: fell from {} to {} with access {} to a block: a policy of which this is so must "
          "not say that it is rising",
          function_->name(), before, priority, block.accesses);
    }
    heap_.update(stale_[i], {.priority = priority, .last = block.last});
    block.stale = false;
  }
  stale_.clear();
  return absl::OkStatus();
}

absl::Status PriorityCache::evaluate_all() {
  question_.clear();
  for (Slot slot = 0; slot < static_cast<Slot>(size()); ++slot) {
    blocks_[slot].stale = false;
    question_.add(blocks_[slot], now_);
  }
  stale_.clear();
  MCSIM_RETURN_IF_ERROR(ask(question_));
  heap_.rekey([&](Slot slot) {
    return Key{.priority = question_.priorities[slot], .last = blocks_[slot].last};
  });
  return absl::OkStatus();
}

absl::Status PriorityCache::ask(Question& question) {
  question.priorities.resize(question.now.size());
  MCSIM_RETURN_IF_ERROR(function_->evaluate({.accesses = question.accesses,
                                             .last = question.last,
                                             .inserted = question.inserted,
                                             .now = question.now},
                                            question.priorities));
  const auto wrong = std::ranges::find_if(question.priorities,
                                          [](double priority) { return std::isnan(priority); });
  if (wrong == question.priorities.end()) return absl::OkStatus();
  const auto i = static_cast<std::size_t>(wrong - question.priorities.begin());
  return invalid_argument("{}: is not a number of accesses={}, last={}, inserted={}, now={}",
                          function_->name(), question.accesses[i], question.last[i],
                          question.inserted[i], question.now[i]);
}

void PriorityCache::Question::clear() {
  accesses.clear();
  last.clear();
  inserted.clear();
  now.clear();
}

void PriorityCache::Question::add(const Block& block, std::int64_t time) {
  accesses.push_back(block.accesses);
  last.push_back(block.last);
  inserted.push_back(block.inserted);
  now.push_back(time);
}

std::size_t PriorityCache::Question::bytes() const {
  return (accesses.capacity() + last.capacity() + inserted.capacity() + now.capacity()) *
             sizeof(std::int64_t) +
         priorities.capacity() * sizeof(double);
}

void PriorityCache::resize(Count) {
  failure_ = absl::UnimplementedError(
      fmt::format("{}: the capacity cannot change while it runs", function_->name()));
}

std::size_t PriorityCache::bytes() const {
  return directory_.bytes() + heap_.bytes() + blocks_.size() * sizeof(Block) +
         stale_.capacity() * sizeof(Slot) + question_.bytes() + newcomers_.bytes();
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
