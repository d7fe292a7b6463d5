#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/random.hpp"

namespace mcsim {

// A text of up to 15 bytes: two words with its bytes and, in the last byte, its length.
class ShortKey {
 public:
  static constexpr std::size_t kMost = 15;

  explicit ShortKey(std::string_view text) {
    text.copy(bytes_.data(), kMost);
    bytes_.back() = static_cast<char>(text.size());
  }

  std::string_view text() const { return {bytes_.data(), static_cast<std::size_t>(bytes_.back())}; }
  std::array<std::uint64_t, 2> words() const {
    return std::bit_cast<std::array<std::uint64_t, 2>>(bytes_);
  }

 private:
  std::array<char, kMost + 1> bytes_{};
};

// From short keys to their ids: a hash table with linear probing, in huge pages. Lookups of many
// keys in turn can prefetch.
class ShortKeyIds {
 public:
  // The id of a key; kNone if it has none.
  static constexpr std::uint64_t kNone = static_cast<std::uint64_t>(-1);
  std::uint64_t find(const ShortKey& key) const {
    return entries_.size() == 0 ? kNone : entries_[place_of(key.words())].id_after - 1;
  }

  // The id of a key, which is `next` if it had none.
  std::uint64_t find_or_add(const ShortKey& key, std::uint64_t next) {
    if (2 * (size_ + 1) > entries_.size()) grow();
    Entry& entry = entries_[place_of(key.words())];
    if (entry.id_after == 0) {
      entry = {key.words(), next + 1};
      ++size_;
    }
    return entry.id_after - 1;
  }

  void prefetch(const ShortKey& key) const {
    if (entries_.size() > 0) prefetch_line(&entries_[home(key.words())]);
  }

 private:
  using Words = std::array<std::uint64_t, 2>;
  struct Entry {
    Words key;
    std::uint64_t id_after;  // id + 1; 0 means none
  };

  std::size_t home(const Words& key) const {
    return mix64(key[0] ^ mix64(key[1])) & (entries_.size() - 1);
  }
  // The entry of a key, or the one to be its.
  std::size_t place_of(const Words& key) const {
    std::size_t at = home(key);
    while (entries_[at].id_after != 0 && entries_[at].key != key) {
      at = (at + 1) & (entries_.size() - 1);
    }
    return at;
  }
  void grow() {
    const std::size_t size = std::max<std::size_t>(16, 2 * entries_.size());
    const Pages<Entry> old = std::exchange(entries_, Pages<Entry>(size));
    for (const Entry& entry : old) {
      if (entry.id_after != 0) entries_[place_of(entry.key)] = entry;
    }
  }

  Pages<Entry> entries_;
  std::size_t size_ = 0;
};

}  // namespace mcsim
