#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/types.hpp"
#include "core/containers/block_table.hpp"

namespace mcsim {

// The last reference to every key, from which reuse times follow.
class LastReferences {
 public:
  // For keys referenced at times first, first + 1, …: calls visit(reuse time) for every key that
  // was referenced before. The reuse time is the number of references since then.
  template <class Visit>
  void visit_times(std::span<const std::uint64_t> keys, Count first, Visit visit) {
    while (!keys.empty()) {
      const auto piece = keys.first(std::min(keys.size(), numbers_.size()));
      blocks_.number(piece, numbers_);
      last_.resize(blocks_.size(), kNever);
      for (std::size_t i = 0; i < piece.size(); ++i, ++first) {
        if (i + kAhead < piece.size()) __builtin_prefetch(&last_[numbers_[i + kAhead]], 1);
        const Count last = std::exchange(last_[numbers_[i]], first);
        if (last != kNever) visit(first - last);
      }
      keys = keys.subspan(piece.size());
    }
  }

  // Calls visit(last reference) for every key, in unspecified order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Count last : last_) visit(last);
  }

  std::size_t size() const { return last_.size(); }
  // Without the object itself.
  std::size_t bytes() const {
    return blocks_.bytes() + last_.capacity() * sizeof(Count) +
           numbers_.size() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::size_t kPiece = 4096;
  static constexpr std::size_t kAhead = 16;
  static constexpr Count kNever = -1;

  BlockTable blocks_;  // which numbers the keys
  std::vector<Count> last_;
  std::vector<std::uint32_t> numbers_ = std::vector<std::uint32_t>(kPiece);  // of one piece
};

}  // namespace mcsim
