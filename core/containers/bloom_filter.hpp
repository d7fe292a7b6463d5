#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/base/archive.hpp"
#include "core/base/pages.hpp"
#include "core/base/random.hpp"

namespace mcsim {

// An approximate set of keys with false positives: four bits of one word a key, that is, one cache
// line an operation (Putze, Sanders, Singler: "Cache-, hash- and space-efficient Bloom filters",
// 2007). 16 to 32 bits for each key of the capacity; a full filter has about 1 % false positives.
class BloomFilter {
 public:
  explicit BloomFilter(std::size_t keys) { reserve(keys); }

  // Make room for more keys; loses all keys if the filter has to grow.
  void reserve(std::size_t keys) {
    const std::size_t words = std::bit_ceil(std::max<std::size_t>(1, keys / 4));
    if (words > words_.size()) words_ = Pages<std::uint64_t>(words);
  }

  bool contains(std::uint64_t key) const {
    const std::uint64_t hash = mix64(~key);
    return (word_of(hash) & bits(hash)) == bits(hash);
  }
  // Return whether the key was present before.
  bool insert(std::uint64_t key) {
    const std::uint64_t hash = mix64(~key);
    std::uint64_t& word = words_[hash & (words_.size() - 1)];
    const bool was_there = (word & bits(hash)) == bits(hash);
    word |= bits(hash);
    return was_there;
  }
  void clear() { std::fill(words_.begin(), words_.end(), 0); }

  void save(ArchiveWriter& to) { to(words_); }
  void load(ArchiveReader& from) { from.read_hashed(words_); }
  std::size_t bytes() const { return words_.size() * sizeof(std::uint64_t); }

 private:
  std::uint64_t word_of(std::uint64_t hash) const { return words_[hash & (words_.size() - 1)]; }
  static std::uint64_t bits(std::uint64_t hash) {
    std::uint64_t bits = 0;
    for (int shift = 40; shift < 64; shift += 6) bits |= std::uint64_t{1} << (hash >> shift & 63);
    return bits;
  }

  Pages<std::uint64_t> words_;
};

}  // namespace mcsim
