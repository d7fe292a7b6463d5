#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace mcsim {

// Zeroed memory, aligned to a cache line. Blocks above 32 KiB come directly from the operating
// system: their pages cost nothing until they are touched. Large blocks use huge pages, so that
// random access to tables larger than the caches has fewer TLB misses.
class PageBlock {
 public:
  PageBlock() = default;
  explicit PageBlock(std::size_t bytes);
  PageBlock(PageBlock&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PageBlock& operator=(PageBlock&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~PageBlock();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // Enlarge the block: the old contents stay (large blocks are remapped, not copied), and zeroes
  // follow.
  void extend(std::size_t bytes);

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// An array of `size` zeroes in a PageBlock.
template <class T>
class Pages {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Pages() = default;
  explicit Pages(std::size_t size) : block_(size * sizeof(T)), size_(size) {}
  Pages(Pages&& other) noexcept
      : block_(std::move(other.block_)), size_(std::exchange(other.size_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    block_ = std::move(other.block_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() const { return static_cast<T*>(block_.data()); }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T* begin() const { return data(); }
  T* end() const { return data() + size_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return block_.bytes(); }
  void extend(std::size_t size) {
    block_.extend(size * sizeof(T));
    size_ = size;
  }

 private:
  PageBlock block_;
  std::size_t size_ = 0;
};

}  // namespace mcsim
