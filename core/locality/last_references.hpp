#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "core/base/types.hpp"
#include "core/locality/key_table.hpp"

namespace mcsim {

// When every key was last referenced: all that reuse times need.
class LastReferences {
 public:
  static constexpr Count kNever = -1;

  // previous[i] = the last reference to keys[i], or kNever; it is first + i now.
  void exchange(std::span<const std::uint64_t> keys, Count first, std::span<Count> previous) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const Count now = first + static_cast<Count>(i);
      const auto [last, is_new] = last_.try_emplace(keys[i], now);
      previous[i] = is_new ? kNever : std::exchange(last->second, now);
    }
  }

  // The same for any number of keys: calls visit(reuse time), references since the
  // last one to it, for every key that had one.
  template <class Visit>
  void visit_times(std::span<const std::uint64_t> keys, Count first, Visit visit) {
    std::array<Count, kPiece> previous;
    while (!keys.empty()) {
      const auto piece = keys.first(std::min(keys.size(), kPiece));
      exchange(piece, first, std::span(previous).first(piece.size()));
      for (std::size_t i = 0; i < piece.size(); ++i, ++first) {
        if (previous[i] != kNever) visit(first - previous[i]);
      }
      keys = keys.subspan(piece.size());
    }
  }

  // Calls visit(last reference) for every key, in no order to rely on.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [key, last] : last_) visit(last);
  }

  std::size_t size() const { return last_.size(); }
  // Beside the object itself.
  std::size_t bytes() const { return bytes_of(last_); }

 private:
  static constexpr std::size_t kPiece = 1024;

  KeyTable<Count> last_;
};

}  // namespace mcsim
