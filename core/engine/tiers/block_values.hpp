#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/archive.hpp"

namespace mcsim {

// An array by block in a saved state: the blocks with a value other than 0, and their values.
template <class Values>
class BlockValues {
 public:
  explicit BlockValues(Values& values) : values_(values) {}

  void save(ArchiveWriter& to) {
    std::vector<BlockId> blocks;
    std::vector<Value> saved;
    for (std::size_t block = 0; block < values_.size(); ++block) {
      const auto value = static_cast<Value>(values_[block]);
      if (value == 0) continue;
      blocks.push_back(BlockId(block));
      saved.push_back(value);
    }
    to(blocks, saved);
  }
  void load(ArchiveReader& from) {
    const std::vector<BlockId> blocks = from.read_blocks();
    std::vector<Value> saved;
    from(saved);
    if (!from.ok()) return;
    if (saved.size() != blocks.size()) {
      return from.fail(data_loss("{} values of {} blocks", saved.size(), blocks.size()));
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i] >= values_.size()) return from.fail(data_loss("unknown block {}", blocks[i]));
      if constexpr (requires { values_.set(blocks[i]); }) {
        values_.set(blocks[i]);
      } else {
        values_[blocks[i]] = static_cast<Element>(saved[i]);
      }
    }
  }

 private:
  using Element = std::remove_cvref_t<decltype(std::as_const(std::declval<Values&>())[0])>;
  // The elements of std::vector<bool> are not addressable.
  using Value = std::conditional_t<std::is_same_v<Element, bool>, std::uint8_t, Element>;

  Values& values_;
};

}  // namespace mcsim
