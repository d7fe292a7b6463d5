#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>

namespace mcsim {

// The state of an estimator by key.
template <class Value>
using KeyTable = boost::unordered_flat_map<std::uint64_t, Value>;

template <class Value>
std::size_t bytes_of(const KeyTable<Value>& table) {
  // One byte of metadata for every slot.
  return table.bucket_count() * (sizeof(typename KeyTable<Value>::value_type) + 1);
}

}  // namespace mcsim
