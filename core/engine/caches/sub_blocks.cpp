#include "core/engine/caches/sub_blocks.hpp"

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/pages.hpp"

namespace mcsim {
namespace {

// The table value of a block that is held.
constexpr Slot kHeld = 0;

// The line ids of a trace, for policies that need the future.
Pages<BlockId> lines_of(std::span<const BlockId> blocks, std::uint32_t line_blocks) {
  Pages<BlockId> lines(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) lines[i] = BlockId(blocks[i] / line_blocks);
  return lines;
}

class SubBlockCache final : public TierCache {
 public:
  SubBlockCache(std::unique_ptr<TierCache> lines, Pages<BlockId> trace, const PolicySetup& setup,
                std::uint32_t line_blocks)
      : trace_(std::move(trace)),
        lines_(std::move(lines)),
        held_(index_for(setup)),
        first_block_(setup.first_block),
        line_blocks_(line_blocks) {}

  absl::Status replay(const AccessBatch<>& batch) override {
    if (needs_next_use() && batch.next_uses.size() != batch.blocks.size()) {
      return invalid_argument("lines: the policy needs the next use of every access");
    }
    std::vector<BlockId> victims;
    for (std::size_t i = 0; i < batch.blocks.size(); ++i) {
      Access<> a{.block = batch.blocks[i]};
      if (!batch.ops.empty()) a.op = static_cast<Op>(batch.ops[i]);
      if (!batch.next_uses.empty()) a.next_use = batch.next_uses[i];
      const bool hit = replay_one(a, victims);
      if (!batch.hits.empty()) batch.hits[i] = hit ? 1 : 0;
    }
    return failure();
  }

  using TierCache::resize;
  void resize(Count capacity, std::vector<BlockId>& victims) override {
    lines_->resize(capacity / line_blocks_, line_victims_);
    drop_lines(victims);
  }

  bool touch(const Access<>& a) override { return contains(a.block) && lines_->touch(of_line(a)); }
  void insert(const Access<>& a, std::vector<BlockId>& victims) override {
    const bool partial = lines_->touch(of_line(a));
    if (!partial) lines_->insert(of_line(a), line_victims_);
    held_.set(a.block, kHeld);
    ++size_;
    // Under some policies, the victims include the line just inserted.
    drop_lines(victims);
  }
  bool take(BlockId block) override { return remove(block, &TierCache::take); }
  bool discard(BlockId block) override { return remove(block, &TierCache::discard); }
  void prefetch_slot(BlockId block) const override { lines_->prefetch_slot(line(block)); }
  bool admits(const Access<>& a, std::vector<BlockId>& victims) override {
    if (lines_->contains(line(a.block))) return true;
    const bool admitted = lines_->admits(of_line(a), line_victims_);
    drop_lines(victims);
    return admitted;
  }
  bool selective() const override { return lines_->selective(); }

  bool contains(BlockId block) const override { return held_.find(block) != kNoSlot; }
  Count size() const override { return size_; }
  Count capacity() const override { return lines_->capacity() * line_blocks_; }
  std::size_t bytes() const override { return lines_->bytes() + held_.bytes() + trace_.bytes(); }
  bool needs_next_use() const override { return lines_->needs_next_use(); }
  absl::Status failure() const override { return lines_->failure(); }

  // Check that a line is held if and only if it has blocks, and that the counts agree.
  absl::Status check() const override {
    MCSIM_RETURN_IF_ERROR(lines_->check());
    Count blocks = 0;
    Count lines = 0;
    const BlockId end = first_block_ + held_.blocks();
    for (BlockId first = first_block_; first < end; first += line_blocks_) {
      const Count in_line = blocks_in(line(first));
      if ((in_line > 0) != lines_->contains(line(first))) {
        return internal_error("line {} has {} blocks, and is{} held", line(first), in_line,
                              in_line > 0 ? " not" : "");
      }
      blocks += in_line;
      lines += in_line > 0 ? 1 : 0;
    }
    if (blocks == size_ && lines == lines_->size()) return absl::OkStatus();
    return internal_error("{} blocks in {} lines, counted {} in {}", blocks, lines, size_,
                          lines_->size());
  }

 private:
  BlockId line(BlockId block) const { return BlockId(block / line_blocks_); }
  Access<> of_line(Access<> a) const {
    a.block = line(a.block);
    return a;
  }
  Count blocks_in(BlockId line) const {
    Count blocks = 0;
    const BlockId first(line * line_blocks_);
    for (std::uint32_t i = 0; i < line_blocks_; ++i) blocks += contains(first + i) ? 1 : 0;
    return blocks;
  }

  // Evict the blocks of evicted lines.
  void drop_lines(std::vector<BlockId>& victims) {
    for (const BlockId line : line_victims_) {
      for (BlockId block(line * line_blocks_); block < (line + 1) * line_blocks_; ++block) {
        if (!contains(block)) continue;
        held_.erase(block);
        --size_;
        victims.push_back(block);
      }
    }
    line_victims_.clear();
  }

  // Remove a block; the line is removed with its last block.
  bool remove(BlockId block, bool (TierCache::*remove_line)(BlockId)) {
    if (!contains(block)) return false;
    held_.erase(block);
    --size_;
    if (blocks_in(line(block)) == 0) std::invoke(remove_line, *lines_, line(block));
    return true;
  }

  // Return whether the access hits.
  bool replay_one(const Access<>& a, std::vector<BlockId>& victims) {
    const Count write = a.op == Op::kWrite ? 1 : 0;
    ++counts_.accesses;
    counts_.writes += write;
    if (touch(a)) {
      ++counts_.hits;
      counts_.write_hits += write;
      return true;
    }
    if (capacity() == 0) return false;
    const bool admitted = admits(a, victims);
    counts_.evictions += static_cast<Count>(victims.size());
    victims.clear();
    if (!admitted) return false;
    counts_.partial_misses += lines_->contains(line(a.block)) ? 1 : 0;
    insert(a, victims);
    counts_.evictions += static_cast<Count>(victims.size());
    victims.clear();
    return false;
  }

  Pages<BlockId> trace_;  // the trace of lines, which the policy reads
  std::unique_ptr<TierCache> lines_;
  DenseIndex held_;
  std::vector<BlockId> line_victims_;
  Count size_ = 0;
  BlockId first_block_;
  std::uint32_t line_blocks_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TierCache>> make_sub_block_cache(const MakeLines& make,
                                                                const PolicySetup& setup,
                                                                std::uint32_t line_blocks) {
  if (setup.capacity < line_blocks) {
    return invalid_argument("line: a cache of {} blocks is smaller than a line of {}",
                            setup.capacity, line_blocks);
  }
  MCSIM_ASSIGN_OR_RETURN(const auto smallest, make({.capacity = 1, .blocks = 1}));
  if (smallest->needs_times()) {
    return invalid_argument("line: a policy that reads the time needs lines of 1 block");
  }
  Pages<BlockId> trace;
  if (smallest->needs_next_use()) trace = lines_of(setup.trace, line_blocks);
  // The policy of lines needs a table of its own: that of the setup is indexed by blocks.
  const std::size_t lines = (setup.first_block + setup.blocks) / line_blocks;
  const PolicySetup of_lines{.capacity = setup.capacity / line_blocks,
                             .blocks = lines,
                             .seed = setup.seed,
                             .trace = {trace.data(), trace.size()}};
  MCSIM_ASSIGN_OR_RETURN(auto cache, make(of_lines));
  return std::make_unique<SubBlockCache>(std::move(cache), std::move(trace), setup, line_blocks);
}

}  // namespace mcsim
