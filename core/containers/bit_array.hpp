#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/base/archive.hpp"
#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"

namespace mcsim {

// Bits, all clear at first.
class BitArray {
 public:
  explicit BitArray(std::size_t size) : words_(words(size)), size_(size) {}

  std::size_t size() const { return size_; }
  void reserve(std::size_t size) {
    if (size <= size_) return;
    words_.extend(words(size));
    size_ = size;
  }

  bool operator[](std::size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  void set(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void clear(std::size_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }

  // The first set bit at or after `from`; size() if there is none.
  std::size_t next_set(std::size_t from) const {
    if (from >= size_) return size_;
    std::size_t i = from / 64;
    std::uint64_t word = words_[i] >> (from % 64) << (from % 64);
    while (word == 0) {
      if (++i == words(size_)) return size_;
      word = words_[i];
    }
    return 64 * i + static_cast<std::size_t>(std::countr_zero(word));
  }

  void prefetch(std::size_t i) const { prefetch_line(&words_[i / 64]); }
  void save(ArchiveWriter& to) { to(words_, size_); }
  void load(ArchiveReader& from) {
    std::size_t saved = 0;
    from(words_, saved);
    if (saved > 64 * words_.size()) return from.fail(data_loss("{} bits", saved));
    size_ = std::max(size_, saved);
  }
  std::size_t bytes() const { return words_.size() * sizeof(std::uint64_t); }

 private:
  static constexpr std::size_t words(std::size_t size) { return (size + 63) / 64; }

  Pages<std::uint64_t> words_;
  std::size_t size_;
};

}  // namespace mcsim
