#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <boost/unordered/unordered_flat_map.hpp>

namespace mcsim {

// Numbers texts in the order of their first appearance. Different texts never share a number.
class KeyDictionary {
 public:
  std::uint64_t id_of(std::string_view key) {
    const auto known = ids_.find(key);
    if (known != ids_.end()) return known->second;
    const std::uint64_t id = keys_.size();
    ids_.emplace(keys_.emplace_back(key), id);  // a deque does not move its elements
    return id;
  }

  std::optional<std::uint64_t> find(std::string_view key) const {
    const auto known = ids_.find(key);
    if (known == ids_.end()) return std::nullopt;
    return known->second;
  }

  std::size_t size() const { return keys_.size(); }
  const std::deque<std::string>& keys() const { return keys_; }

 private:
  std::deque<std::string> keys_;
  boost::unordered_flat_map<std::string_view, std::uint64_t> ids_;
};

}  // namespace mcsim
