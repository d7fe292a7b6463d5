#include <algorithm>
#include <vector>

#include "core/base/archive.hpp"
#include "core/engine/tiers/dirty_tracker.hpp"

namespace mcsim {

void DirtyTracker::save(ArchiveWriter& to) {
  std::vector<BlockId> blocks;
  std::vector<std::uint8_t> copies;
  for_each_dirty(0, BlockId(id_count_), [&](BlockId block) {
    blocks.push_back(block);
    copies.push_back(several() ? copies_[block] : bit(0));
  });
  to(rules_.by_tier, modes_, of_mode_, begin_, next_flush_, blocks, copies, queue_, dirty_count_,
     tallies_);
}

void DirtyTracker::load(ArchiveReader& from) {
  rules_.by_tier.clear();
  std::vector<std::uint8_t> copies;
  Nanoseconds begin = 0;
  std::uint64_t next_flush = 0;
  from(rules_.by_tier, modes_, of_mode_, begin, next_flush);
  // Flushes keep their times, unless this trace has earlier ones.
  if (from.ok() && begin <= begin_) {
    begin_ = begin;
    next_flush_ = next_flush;
  }
  const std::vector<BlockId> blocks = from.read_blocks();
  from(copies, queue_, dirty_count_, tallies_);
  if (!from.ok()) return;
  if (copies.size() != blocks.size() ||
      !std::ranges::all_of(blocks, [&](BlockId block) { return block < id_count_; }) ||
      !std::ranges::all_of(rules_.by_tier,
                           [&](const auto& tier) { return tier.size() == vm_count(); })) {
    return from.fail(data_loss("dirty blocks: lists of different lengths"));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (several()) {
      copies_[blocks[i]] = copies[i];
    } else {
      bits_[blocks[i] / 64] |= std::uint64_t{1} << (blocks[i] % 64);
    }
  }
}

}  // namespace mcsim
