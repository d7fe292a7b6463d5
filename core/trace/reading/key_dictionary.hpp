#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/hash/hash.h>
#include <boost/unordered/unordered_flat_map.hpp>

#include "core/trace/reading/short_keys.hpp"

namespace mcsim {

// Numbers texts in the order of their first appearance. Different texts never share a number.
class KeyDictionary {
 public:
  std::uint64_t id_of(std::string_view key) {
    if (key.size() <= ShortKey::kMost) return id_of(ShortKey(key));
    const auto known = ids_.find(key);
    if (known != ids_.end()) return known->second;
    const std::string& kept = keys_.emplace_back(key);  // a deque does not move its elements
    return ids_.emplace(kept, keys_.size() - 1).first->second;
  }

  std::optional<std::uint64_t> find(std::string_view key) const {
    if (key.size() <= ShortKey::kMost) {
      const std::uint64_t id = short_ids_.find(ShortKey(key));
      return id != ShortKeyIds::kNone ? std::optional(id) : std::nullopt;
    }
    const auto known = ids_.find(key);
    return known != ids_.end() ? std::optional(known->second) : std::nullopt;
  }

  // Notes a mention of a key, and returns its number among those since take_ids(). Lookups of many
  // keys in turn wait for memory together.
  std::uint64_t mention(std::string_view key) {
    const std::uint64_t number = ids_of_mentions_.size() + waiting_.size();
    if (key.size() <= ShortKey::kMost) {
      waiting_.emplace_back(key);
      if (waiting_.size() == kMostWaiting) look_up();
    } else {
      look_up();
      ids_of_mentions_.push_back(id_of(key));
    }
    return number;
  }

  // Returns the ids of all mentions since the last call, by number.
  std::vector<std::uint64_t> take_ids() {
    look_up();
    return std::exchange(ids_of_mentions_, {});
  }

  std::size_t size() const { return keys_.size(); }
  const std::deque<std::string>& keys() const { return keys_; }

 private:
  static constexpr std::size_t kMostWaiting = 1 << 12;

  std::uint64_t id_of(const ShortKey& key) {
    const std::uint64_t id = short_ids_.find_or_add(key, keys_.size());
    if (id == keys_.size()) keys_.emplace_back(key.text());
    return id;
  }

  void look_up() {
    constexpr std::size_t kAhead = 16;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      if (i + kAhead < waiting_.size()) short_ids_.prefetch(waiting_[i + kAhead]);
      ids_of_mentions_.push_back(id_of(waiting_[i]));
    }
    waiting_.clear();
  }

  std::vector<ShortKey> waiting_;  // the last mentions
  std::vector<std::uint64_t> ids_of_mentions_;
  std::deque<std::string> keys_;
  ShortKeyIds short_ids_;
  boost::unordered_flat_map<std::string_view, std::uint64_t, absl::Hash<std::string_view>> ids_;
};

}  // namespace mcsim
