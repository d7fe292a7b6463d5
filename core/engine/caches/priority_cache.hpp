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
#include "core/engine/caches/asking_cache.hpp"

namespace mcsim {

// A policy that is a function of what is known of a block, where each call is dear but
// may be for many blocks: the block of least priority leaves, of equals the least
// recently used.
class PriorityFunction {
 public:
  // When it has to be asked.
  struct Terms {
    // A further access never lowers the priority of a block.
    bool rising = true;
    // Priorities change without an access: all are asked for anew before the first
    // eviction and after each so many. 0: they do not.
    Count refresh = 0;
  };

  // What is known of blocks, one element each. Accesses are numbered from 0.
  struct Blocks {
    std::span<const std::int64_t> accesses;  // since the block came in, that one included
    std::span<const std::int64_t> last;      // access to it
    std::span<const std::int64_t> inserted;  // the access at which it came in
    std::span<const std::int64_t> now;       // the access at which it is asked for
  };

  virtual ~PriorityFunction() = default;

  // For messages.
  virtual const std::string& name() const = 0;
  // Called once, before all others.
  virtual absl::StatusOr<Terms> start(const PolicySetup& setup) = 0;
  virtual absl::Status evaluate(const Blocks& blocks, std::span<double> priorities) = 0;
};

// A cache under a priority function: a heap of priorities, some of which are those of
// before the latest accesses. As these only rise, what is on top of the heap may leave
// if its priority is no older than its last access; if it is, all of those are asked
// for together. Newcomers' are asked for in advance, of many accesses at a time, as all
// that is known of them is when they come. So the calls are few, and victims those of
// one call an access.
//
// Where they do not only rise, all of those are asked for before every eviction. Where
// priorities change without an access, they do so at refreshes only, but no block
// leaves on a priority that is older than its last access.
//
// The capacity cannot grow above that of the setup. When the function fails, the block on
// top of the heap leaves from then on.
class PriorityCache final : public AskingCache {
 public:
  PriorityCache(std::unique_ptr<PriorityFunction> function, const PolicySetup& setup);

  absl::Status replay(const AccessBatch<>& batch) override;

  bool touch(const Access<>& a) override;
  void insert(const Access<>& a, std::vector<BlockId>& victims) override;
  bool take(BlockId block) override;
  using AskingCache::resize;
  void resize(Count capacity, std::vector<BlockId>& victims) override;
  std::size_t bytes() const override;
  absl::Status check() const override;

 private:
  struct Block {
    std::int64_t accesses;
    std::int64_t last;
    std::int64_t inserted;
    // Accessed since it was evaluated: where `stale_` has it.
    std::size_t stale = kFresh;
  };
  static constexpr std::size_t kFresh = std::numeric_limits<std::size_t>::max();

  struct Key {
    double priority;
    std::int64_t last;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // Columns of what a call is about, and its answer.
  struct Question {
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
  void refreshed(Slot slot);
  absl::StatusOr<Slot> victim();
  absl::StatusOr<double> newcomer();
  absl::Status evaluate_stale();
  absl::Status evaluate_all();
  absl::Status ask(Question& question);

  std::unique_ptr<PriorityFunction> function_;
  PriorityFunction::Terms terms_;
  SlotHeap<Key> heap_;
  Pages<Block> blocks_;      // by slot
  std::vector<Slot> stale_;  // those that are
  Count evicted_ = 0;
  Question question_;
  Question newcomers_;  // one for every access from newcomers_.now[0] on
  std::int64_t now_ = 0;
  bool started_ = false;
};

}  // namespace mcsim
