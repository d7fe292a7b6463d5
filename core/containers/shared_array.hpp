#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace mcsim {

// Constant values shared by all copies: those of a vector, or memory with another owner, such as a
// mapped file.
template <class T>
class SharedArray {
 public:
  using value_type = T;

  SharedArray() = default;
  SharedArray(std::vector<T> values) {  // NOLINT: it is one
    const auto owned = std::make_shared<const std::vector<T>>(std::move(values));
    values_ = *owned;
    owner_ = owned;
  }
  SharedArray(std::shared_ptr<const void> owner, std::span<const T> values)
      : owner_(std::move(owner)), values_(values) {}

  const T* data() const { return values_.data(); }
  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  const T& operator[](std::size_t i) const { return values_[i]; }
  const T& front() const { return values_.front(); }
  const T& back() const { return values_.back(); }

  // A mutable copy.
  std::vector<T> copy() const { return {begin(), end()}; }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const T> values_;
};

}  // namespace mcsim
