#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/archive.hpp"
#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"

// The mapping between blocks and slots of a cache. Policies keep per-block data in arrays indexed
// by slot, so memory depends on the cache size, and the same policy serves interned traces
// (DenseIndex) and raw keys (KeyIndex).
namespace mcsim {

// A block and its entry in a column of a table, or its row, which is the entry of the first column.
// A caller that reads fixed columns looks the row up once.
struct TableEntry {
  BlockId block;
  std::uint32_t* word;

  operator BlockId() const { return block; }
  TableEntry in_column(std::size_t columns) const { return {block, word + columns}; }
};

// From the dense ids of an interned trace to slots, for one cache or for several. The entries of a
// block for all caches are adjacent, so one prefetch serves all caches.
//
// Four bytes for each block of the trace and column; the number of columns is a power of two.
class SlotTable {
 public:
  SlotTable(std::size_t blocks, std::size_t columns)
      : shift_(static_cast<unsigned>(std::countr_zero(std::bit_ceil(columns)))),
        slot_after_(blocks << shift_) {}

  unsigned shift() const { return shift_; }
  std::size_t blocks() const { return slot_after_.size() >> shift_; }
  Slot* column(std::size_t column) { return slot_after_.data() + column; }
  TableEntry row(BlockId block) const {
    return {block, slot_after_.data() + (static_cast<std::size_t>(block) << shift_)};
  }
  Slot find(BlockId block, std::size_t column) const {
    return slot_after_[(static_cast<std::size_t>(block) << shift_) + column] - 1;
  }
  void prefetch(BlockId block) const {
    prefetch_line(&slot_after_[static_cast<std::size_t>(block) << shift_]);
  }

 private:
  unsigned shift_;
  Pages<Slot> slot_after_;  // slot + 1; 0, the value of fresh pages, means none
};

// A column of a table that stores other values than slots; 0 means none here, too.
class TableColumn {
 public:
  TableColumn(std::shared_ptr<SlotTable> table, std::size_t column)
      : table_(std::move(table)), first_(table_->column(column)), shift_(table_->shift()) {}

  std::uint32_t& operator[](BlockId block) const { return first_[std::size_t{block} << shift_]; }
  // The value of an entry of this column.
  std::uint32_t& operator[](TableEntry entry) const { return *entry.word; }
  std::size_t bytes() const { return table_->blocks() * sizeof(std::uint32_t); }

 private:
  std::shared_ptr<SlotTable> table_;
  std::uint32_t* first_;
  unsigned shift_;
};

// The column of one cache in a table.
class DenseIndex {
 public:
  using Block = BlockId;
  static constexpr bool kErasesWithoutSearch = true;  // erase() is a single write

  // A table of its own.
  explicit DenseIndex(std::size_t blocks)
      : DenseIndex(std::make_shared<SlotTable>(blocks, 1), 0, 0, blocks) {}
  // Only for blocks in [first, first + blocks).
  DenseIndex(std::shared_ptr<SlotTable> table, std::size_t column, Block first, std::size_t blocks)
      : table_(std::move(table)),
        slot_after_(table_->column(column)),
        stride_(std::size_t{1} << table_->shift()),
        first_(first),
        blocks_(blocks) {}

  // Upper bound on the number of distinct blocks.
  std::size_t blocks() const { return blocks_; }
  bool is_indexable(Block block) const { return block - first_ < blocks_; }
  std::size_t bytes() const { return blocks_ * sizeof(Slot); }

  Slot find(Block block) const { return *entry(block) - 1; }
  // A guess at the slot of the block; here always right.
  Slot guess(Block block) const { return find(block); }
  void set(Block block, Slot slot) { *entry(block) = slot + 1; }
  void erase(Block block) { *entry(block) = 0; }
  void reserve(std::size_t) {}

  void prefetch(Block block) const { prefetch_line(entry(block)); }

 private:
  Slot* entry(Block block) const { return slot_after_ + block * stride_; }

  std::shared_ptr<SlotTable> table_;
  Slot* slot_after_;
  std::size_t stride_;  // not a shift: multiplying is cheaper than shifting by a variable
  Block first_;
  std::size_t blocks_;
};

// An index and the blocks of its slots. Free slots are reused, the last one first.
template <class Index>
class Directory {
 public:
  using Block = typename Index::Block;

  Directory(Index index, std::size_t slots) : index_(std::move(index)) { reserve(slots); }

  Slot find(Block block) const { return index_.find(block); }
  Slot guess(Block block) const { return index_.guess(block); }
  Block block(Slot slot) const { return block_of_[slot]; }

  Slot insert(Block block) {
    Slot slot = free_;
    if (slot == kNoSlot) {
      assert(used_ < block_of_.size());
      slot = used_++;
    } else {
      free_ = static_cast<Slot>(block_of_[slot]);
    }
    assign(slot, block);
    return slot;
  }

  void erase(Slot slot) {
    assert(slot < used_ && size_ > 0);
    index_.erase(block_of_[slot]);
    block_of_[slot] = static_cast<Block>(free_);
    free_ = slot;
    --size_;
  }

  // The same as erase and insert, in the same slot.
  void replace(Slot slot, Block block) {
    index_.erase(block_of_[slot]);
    --size_;
    assign(slot, block);
  }

  // The number of blocks that have a slot.
  std::size_t size() const { return size_; }
  // The number of slots for a capacity of `wanted` blocks: no more than there are distinct blocks.
  std::size_t slots_for(Count wanted) const {
    return std::min(static_cast<std::size_t>(wanted), index_.blocks());
  }
  void reserve(std::size_t slots) {
    if (slots > block_of_.size()) block_of_.extend(slots);
    index_.reserve(slots);
  }

  void prefetch(Block block) const { index_.prefetch(block); }

  // Prefetch for erasing a slot.
  void prefetch_slot(Slot slot) const { prefetch_line(&block_of_[slot]); }
  // The same with the slot that will follow, or kNoSlot. An index that searches in erase() needs
  // two steps: first the slot's block, then the index entry of that block.
  void prefetch_slot(Slot slot, Slot following) const {
    if constexpr (Index::kErasesWithoutSearch) {
      prefetch_slot(slot);
    } else {
      prefetch(block_of_[slot]);
      if (following != kNoSlot) prefetch_slot(following);
    }
  }

  // The index is not saved: it follows from the blocks of the slots.
  void save(ArchiveWriter& to) { to(block_of_, used_, free_, size_); }
  void load(ArchiveReader& from) {
    from(block_of_, used_, free_, size_);
    index_.reserve(block_of_.size());
    if (from.ok() && !rebuild_index(from)) from.fail(data_loss("directory: slots disagree"));
  }

  std::size_t bytes() const { return index_.bytes() + block_of_.size() * sizeof(Block); }

  // Check that every block in use maps to its slot and that no slot is lost.
  absl::Status check() const {
    std::size_t free = 0;
    for (Slot slot = free_; slot != kNoSlot; slot = static_cast<Slot>(block_of_[slot])) ++free;
    if (size_ + free != used_ || used_ > block_of_.size()) {
      return internal_error("directory: {} slots in use and {} free of {}, of which {} were used",
                            size_, free, block_of_.size(), used_);
    }
    std::size_t found = 0;
    for (Slot slot = 0; slot < used_; ++slot) {
      const Block block = block_of_[slot];
      if (index_.is_indexable(block) && index_.find(block) == slot) ++found;
    }
    if (found == size_) return absl::OkStatus();
    return internal_error("directory: {} blocks in {} slots", found, size_);
  }

 private:
  void assign(Slot slot, Block block) {
    block_of_[slot] = block;
    index_.set(block, slot);
    ++size_;
  }

  // Enter all blocks into an empty index; return false if the slots are those of no directory.
  bool rebuild_index(ArchiveReader& from) {
    if (used_ > block_of_.size()) return false;
    std::vector<bool> is_free(used_);
    std::size_t held = used_;
    for (Slot slot = free_; slot != kNoSlot; slot = static_cast<Slot>(block_of_[slot])) {
      if (slot >= used_ || is_free[slot]) return false;
      is_free[slot] = true;
      --held;
    }
    for (Slot slot = 0; slot < used_; ++slot) {
      if (is_free[slot]) continue;
      Block& block = block_of_[slot];
      if constexpr (std::same_as<Block, BlockId>) block = from.block(block);
      if (!index_.is_indexable(block) || index_.find(block) != kNoSlot) return false;
      index_.set(block, slot);
    }
    return held == size_;
  }

  Index index_;
  Pages<Block> block_of_;  // for a free slot: the next free one
  Slot free_ = kNoSlot;
  Slot used_ = 0;  // slots from here on were never used
  std::size_t size_ = 0;
};

}  // namespace mcsim
