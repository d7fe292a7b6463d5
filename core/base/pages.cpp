#include "core/base/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

namespace mcsim {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Small blocks come from the heap: a caller that makes many of them would spend its time in the
// system, which maps and clears at least a page for each.
constexpr std::size_t kLargestOnHeap = std::size_t{32} << 10;
constexpr std::size_t kCacheLine = 64;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::byte* map(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

// Huge pages need an aligned range: map one page more, then unmap the excess at both ends.
std::byte* map_huge(std::size_t bytes) {
  std::byte* const memory = map(bytes + kHugePage);
  const std::size_t before = round_up(reinterpret_cast<std::uintptr_t>(memory), kHugePage) -
                             reinterpret_cast<std::uintptr_t>(memory);
  if (before > 0) munmap(memory, before);
  if (before < kHugePage) munmap(memory + before + bytes, kHugePage - before);
#if defined(MADV_HUGEPAGE)
  madvise(memory + before, bytes, MADV_HUGEPAGE);  // a hint: without it, access is only slower
#endif
  return memory + before;
}

// Move the pages themselves, without copying their contents.
bool remap([[maybe_unused]] void* from, [[maybe_unused]] std::size_t bytes,
           [[maybe_unused]] void* to) {
#if defined(MREMAP_FIXED)
  return mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
#else
  return false;
#endif
}

}  // namespace

PageBlock::PageBlock(std::size_t bytes) {
  if (bytes == 0) return;
  if (bytes <= kLargestOnHeap) {
    bytes_ = round_up(bytes, kCacheLine);
    data_ = ::operator new(bytes_, std::align_val_t{kCacheLine});
    std::memset(data_, 0, bytes_);
  } else if (bytes < kHugePage) {
    bytes_ = round_up(bytes, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
    data_ = map(bytes_);
  } else {
    bytes_ = round_up(bytes, kHugePage);
    data_ = map_huge(bytes_);
  }
}

PageBlock::~PageBlock() {
  if (data_ == nullptr) return;
  if (bytes_ <= kLargestOnHeap) {
    ::operator delete(data_, std::align_val_t{kCacheLine});
  } else {
    munmap(data_, bytes_);
  }
}

void PageBlock::extend(std::size_t bytes) {
  if (bytes <= bytes_) return;
  PageBlock larger(bytes);
  if (bytes_ >= kHugePage && remap(data_, bytes_, larger.data_)) {
    data_ = nullptr;
  } else {
    std::copy_n(static_cast<const std::byte*>(data_), bytes_,
                static_cast<std::byte*>(larger.data_));
  }
  *this = std::move(larger);
}

}  // namespace mcsim
