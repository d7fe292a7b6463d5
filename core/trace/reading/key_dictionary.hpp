#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <absl/hash/hash.h>
#include <boost/unordered/unordered_flat_map.hpp>

namespace mcsim {

// Numbers texts in the order of their first appearance. Different texts never share a number.
class KeyDictionary {
 public:
  std::uint64_t id_of(std::string_view key) {
    if (const auto known = find(key)) return *known;
    const std::uint64_t id = keys_.size();
    const std::string& kept = keys_.emplace_back(key);  // a deque does not move its elements
    if (key.size() <= kShort) {
      short_ids_.emplace(packed(key), id);
    } else if (key.size() <= kMedium) {
      medium_ids_.emplace(packed_in_two(key), id);
    } else {
      ids_.emplace(kept, id);
    }
    return id;
  }

  std::optional<std::uint64_t> find(std::string_view key) const {
    if (key.size() <= kShort) {
      const auto known = short_ids_.find(packed(key));
      return known != short_ids_.end() ? std::optional(known->second) : std::nullopt;
    }
    if (key.size() <= kMedium) {
      const auto known = medium_ids_.find(packed_in_two(key));
      return known != medium_ids_.end() ? std::optional(known->second) : std::nullopt;
    }
    const auto known = ids_.find(key);
    return known != ids_.end() ? std::optional(known->second) : std::nullopt;
  }

  std::size_t size() const { return keys_.size(); }
  const std::deque<std::string>& keys() const { return keys_; }

 private:
  static constexpr std::size_t kShort = 7;
  static constexpr std::size_t kMedium = 15;
  using TwoWords = std::pair<std::uint64_t, std::uint64_t>;

  // Packs the bytes and the length of a short key into a unique number.
  static std::uint64_t packed(std::string_view key) {
    std::uint64_t word = key.size();
    for (const char c : key) word = word << 8 | static_cast<unsigned char>(c);
    return word;
  }

  // The same for a key of up to kMedium bytes.
  static TwoWords packed_in_two(std::string_view key) {
    std::array<unsigned char, 2 * sizeof(std::uint64_t)> bytes{};
    std::memcpy(bytes.data(), key.data(), key.size());
    bytes.back() = static_cast<unsigned char>(key.size());
    TwoWords words;
    std::memcpy(&words.first, bytes.data(), sizeof(words.first));
    std::memcpy(&words.second, bytes.data() + sizeof(words.first), sizeof(words.second));
    return words;
  }

  std::deque<std::string> keys_;
  boost::unordered_flat_map<std::uint64_t, std::uint64_t> short_ids_;
  boost::unordered_flat_map<TwoWords, std::uint64_t, absl::Hash<TwoWords>> medium_ids_;
  boost::unordered_flat_map<std::string_view, std::uint64_t, absl::Hash<std::string_view>> ids_;
};

}  // namespace mcsim
