#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/pages.hpp"
#include "core/containers/slot_heap.hpp"
#include "core/engine/caches/callback_cache.hpp"

namespace mcsim {

// A policy defined by a priority function of a block's history, for which each call is expensive
// but may evaluate many blocks. The block with the lowest priority is evicted; among equals, the
// least recently used.
class PriorityFunction {
 public:
  // The conditions under which priorities change.
  struct Terms {
    // A further access never lowers the priority of a block.
    bool rising = true;
    // If priorities change without an access: the number of evictions after which all are evaluated
    // again, the first time before the first eviction. 0: they do not.
    Count refresh = 0;
  };

  // The histories of blocks, one element each. Accesses are numbered from 0.
  struct Blocks {
    std::span<const std::int64_t> accesses;  // number since its insertion, including that one
    std::span<const std::int64_t> last;      // number of the last access
    std::span<const std::int64_t> inserted;  // number of the access that inserted it
    std::span<const std::int64_t> now;       // number of the access of the evaluation
  };

  virtual ~PriorityFunction() = default;

  // The name for messages.
  virtual const std::string& name() const = 0;
  // Called once, before all others.
  virtual absl::StatusOr<Terms> start(const PolicySetup& setup) = 0;
  virtual absl::Status evaluate(const Blocks& blocks, std::span<double> priorities) = 0;
};

// A cache under a priority function: a heap of priorities, some of them older than the block's last
// access (stale). If priorities only rise, the top of the heap can be evicted unless it is stale;
// if it is, all stale priorities are evaluated in one call. The priorities of new blocks are
// computed in advance, for many accesses at a time, since they depend only on the access number. So
// calls are few, and the victims are the same as with one call an access.
//
// If priorities may fall, all stale priorities are evaluated before every eviction. If priorities
// change without an access, this takes effect only at refreshes; still, no block is evicted by a
// stale priority.
//
// The capacity cannot exceed that of the setup. After an error of the function, the top of the heap
// is evicted.
class PriorityCache final : public CallbackCache {
 public:
  PriorityCache(std::unique_ptr<PriorityFunction> function, const PolicySetup& setup);

  absl::Status replay(const AccessBatch<>& batch) override;

  bool touch(const Access<>& a) override;
  void insert(const Access<>& a, std::vector<BlockId>& victims) override;
  bool take(BlockId block) override;
  using CallbackCache::resize;
  void resize(Count capacity, std::vector<BlockId>& victims) override;
  std::size_t bytes() const override;
  absl::Status check() const override;

 private:
  struct Block {
    std::int64_t accesses;
    std::int64_t last;
    std::int64_t inserted;
    // The index in `stale_` if the block was accessed since its evaluation.
    std::size_t stale = kFresh;
  };
  static constexpr std::size_t kFresh = std::numeric_limits<std::size_t>::max();

  struct Key {
    double priority;
    std::int64_t last;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // Columns with the arguments of a call, and the results.
  struct EvaluationBatch {
    std::vector<std::int64_t> accesses;
    std::vector<std::int64_t> last;
    std::vector<std::int64_t> inserted;
    std::vector<std::int64_t> now;
    std::vector<double> priorities;

    void clear();
    void add(const Block& block, std::int64_t time);
    std::size_t bytes() const;
  };

  void start();
  void evict(std::vector<BlockId>& victims);
  void mark_fresh(Slot slot);
  absl::StatusOr<Slot> victim();
  absl::StatusOr<double> newcomer();
  absl::Status evaluate_stale();
  absl::Status evaluate_all();
  absl::Status evaluate_batch(EvaluationBatch& batch);

  std::unique_ptr<PriorityFunction> function_;
  PriorityFunction::Terms terms_;
  SlotHeap<Key> heap_;
  Pages<Block> blocks_;      // by slot
  std::vector<Slot> stale_;  // slots of blocks with stale priorities
  Count evicted_ = 0;
  EvaluationBatch batch_;
  EvaluationBatch newcomers_;  // one for every access from newcomers_.now[0] on
  std::int64_t now_ = 0;
  bool started_ = false;
};

}  // namespace mcsim
