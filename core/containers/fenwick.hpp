#pragma once

#include <cstddef>
#include <vector>

namespace mcsim {

// Prefix sums over counters that change (Fenwick 1994). Node i sums the counters
// of the block of 2^k that ends at i, where 2^k is the lowest set bit of i; a
// prefix is a sum of such blocks. O(log n) per call, one T a counter.
template <class T>
class FenwickTree {
 public:
  // `n` counters, all equal to `value`. O(n).
  void assign(std::size_t n, T value) {
    nodes_.resize(n + 1);
    for (std::size_t i = 0; i <= n; ++i) nodes_[i] = value * static_cast<T>(lowest_bit(i));
  }

  std::size_t size() const { return nodes_.empty() ? 0 : nodes_.size() - 1; }

  void add(std::size_t index, T delta) {
    for (std::size_t i = index + 1; i < nodes_.size(); i += lowest_bit(i)) nodes_[i] += delta;
  }

  // The sum of the counters [0, end).
  T prefix(std::size_t end) const {
    T sum = 0;
    for (std::size_t i = end; i != 0; i -= lowest_bit(i)) sum += nodes_[i];
    return sum;
  }

 private:
  static constexpr std::size_t lowest_bit(std::size_t i) { return i & (~i + 1); }

  std::vector<T> nodes_;
};

}  // namespace mcsim
