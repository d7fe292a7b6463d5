#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/types.hpp"
#include "core/containers/block_table.hpp"
#include "core/locality/distances/parallel_loops.hpp"

// The last access to every block, divided by the hash of blocks, so that threads look up at once:
// a part is one thread's alone. What an Engine of parallel_distances.cpp asks of them: to find the
// accesses to a part among others (`divide` and `scatter` all, or `select` one's own), to look up
// and renew the last ones, and to follow the live slots to the front of the time axis.
namespace mcsim::parallel_internal {

// Last accesses by 64-bit key, a table for each part.
class KeyParts {
 public:
  using Key = std::uint64_t;

  explicit KeyParts(std::size_t parts) : tables_(parts) {}

  static void divide(std::span<const Key> keys, std::uint32_t parts,
                     std::span<std::uint8_t> part_of) {
    with_isa([&]<Isa kIsa>() { divide_keys<kIsa>(keys, parts, part_of); });
  }
  static void scatter(std::span<const Key> keys, std::span<const std::uint8_t> part_of,
                      std::uint32_t slot, std::span<Key*> to_keys,
                      std::span<std::uint32_t*> to_codes) {
    with_isa([&]<Isa kIsa>() { scatter_keys<kIsa>(keys, part_of, slot, to_keys, to_codes); });
  }
  static std::size_t select(std::span<const Key> keys, std::uint32_t parts, std::uint32_t mine,
                            std::uint32_t slot, Key* to_keys, std::uint32_t* to_codes,
                            std::uint8_t* part_of) {
    return with_isa([&]<Isa kIsa>() {
      return select_keys<kIsa>(keys, parts, mine, slot, to_keys, to_codes, part_of);
    });
  }

  // Takes where the keys are accessed, leaves where they were before; returns how
  // many are new.
  Count exchange(std::size_t part, std::span<const Key> keys, std::span<std::uint32_t> codes) {
    const std::size_t before = tables_[part].size();
    tables_[part].exchange(keys, codes);
    return static_cast<Count>(tables_[part].size() - before);
  }

  void move(std::size_t part, const TimeAxis& axis) {
    with_isa([&]<Isa kIsa>() { move_key_values<kIsa>(tables_[part], axis); });
  }

  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const BlockTable& table : tables_) sum += sizeof table + table.bytes();
    return sum;
  }

 private:
  std::vector<BlockTable> tables_;
};

// Last accesses by block number. The parts share an array, but no line of it.
class DenseParts {
 public:
  using Key = std::uint32_t;

  DenseParts(std::size_t parts, std::size_t blocks) : parts_(parts), last_(blocks) {}

  static void divide(std::span<const Key> blocks, std::uint32_t parts,
                     std::span<std::uint8_t> part_of) {
    with_isa([&]<Isa kIsa>() { divide_blocks<kIsa>(blocks, parts, part_of); });
  }
  static void scatter(std::span<const Key> blocks, std::span<const std::uint8_t> part_of,
                      std::uint32_t slot, std::span<Key*> to_blocks,
                      std::span<std::uint32_t*> to_codes) {
    with_isa([&]<Isa kIsa>() { scatter_blocks<kIsa>(blocks, part_of, slot, to_blocks, to_codes); });
  }
  static std::size_t select(std::span<const Key> blocks, std::uint32_t parts, std::uint32_t mine,
                            std::uint32_t slot, Key* to_blocks, std::uint32_t* to_codes,
                            std::uint8_t* part_of) {
    return with_isa([&]<Isa kIsa>() {
      return select_blocks<kIsa>(blocks, parts, mine, slot, to_blocks, to_codes, part_of);
    });
  }

  Count exchange(std::size_t, std::span<const Key> blocks, std::span<std::uint32_t> codes) {
    constexpr std::size_t kAhead = 24;
    Count fresh = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (i + kAhead < blocks.size()) __builtin_prefetch(&last_[blocks[i + kAhead]], 1);
      std::swap(last_[blocks[i]], codes[i]);
      fresh += codes[i] == 0 ? 1 : 0;
    }
    return fresh;
  }

  void move(std::size_t part, const TimeAxis& axis) {
    const std::size_t begin = part * last_.size() / parts_;
    const std::size_t end = (part + 1) * last_.size() / parts_;
    const std::span<std::uint32_t> mine(last_.data() + begin, end - begin);
    with_isa([&]<Isa kIsa>() { move_block_values<kIsa>(mine, axis); });
  }

  std::size_t bytes() const { return last_.bytes(); }

 private:
  std::size_t parts_;
  Pages<std::uint32_t> last_;
};

}  // namespace mcsim::parallel_internal
