#include "core/trace/interning/packed_column.hpp"

#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "core/base/wraps.hpp"

namespace mcsim::interning {
namespace {

constexpr int kLevel = 1;

template <class T>
MCSIM_WRAPS void split(std::span<const std::byte> values, Order order, std::byte* planes) {
  const std::size_t count = values.size() / sizeof(T);
  T last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    T value = 0;
    std::memcpy(&value, values.data() + i * sizeof(T), sizeof(T));
    const T kept = order == Order::kAscending ? static_cast<T>(value - last) : value;
    last = value;
    for (std::size_t plane = 0; plane < sizeof(T); ++plane) {
      planes[plane * count + i] = static_cast<std::byte>(kept >> (8 * plane));
    }
  }
}

// Joins the lowest planes; the others are zero.
template <class T, std::size_t kPlanes>
MCSIM_WRAPS void join(const std::byte* planes, Order order, std::span<std::byte> values) {
  const std::size_t count = values.size() / sizeof(T);
  T last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    T value = 0;
    for (std::size_t plane = 0; plane < kPlanes; ++plane) {
      value = static_cast<T>(value | std::to_integer<T>(planes[plane * count + i]) << (8 * plane));
    }
    if (order == Order::kAscending) value = last = static_cast<T>(last + value);
    std::memcpy(values.data() + i * sizeof(T), &value, sizeof(T));
  }
}

template <class T, std::size_t kPlanes = sizeof(T)>
void join(std::size_t kept, const std::byte* planes, Order order, std::span<std::byte> values) {
  if (kept == kPlanes) return join<T, kPlanes>(planes, order, values);
  if constexpr (kPlanes > 0) join<T, kPlanes - 1>(kept, planes, order, values);
}

// Calls work(T{}) for the unsigned integer of this size.
template <class Work>
void for_integer(std::size_t bytes, Work&& work) {
  switch (bytes) {
    case 1:
      return work(std::uint8_t{});
    case 2:
      return work(std::uint16_t{});
    case 4:
      return work(std::uint32_t{});
    default:
      return work(std::uint64_t{});
  }
}

}  // namespace

void pack(std::span<const std::byte> values, std::size_t value_bytes, Order order,
          std::vector<std::byte>& to) {
  const std::size_t count = values.size() / value_bytes;
  std::vector<std::byte> planes(values.size());
  for_integer(value_bytes, [&]<class T>(T) { split<T>(values, order, planes.data()); });
  const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
  while (!planes.empty() && std::ranges::all_of(std::span(planes).last(count), is_zero)) {
    planes.resize(planes.size() - count);
  }
  to.resize(ZSTD_compressBound(planes.size()));
  const std::size_t bytes =
      ZSTD_compress(to.data(), to.size(), planes.data(), planes.size(), kLevel);
  if (ZSTD_isError(bytes)) throw std::bad_alloc();  // there is room for its output
  to.resize(bytes);
}

bool unpack(std::span<const std::byte> packed, std::size_t value_bytes, Order order,
            std::span<std::byte> values) {
  const std::size_t count = values.size() / value_bytes;
  std::vector<std::byte> planes(values.size());
  const std::size_t bytes =
      ZSTD_decompress(planes.data(), planes.size(), packed.data(), packed.size());
  if (ZSTD_isError(bytes) || bytes % count != 0) return false;
  for_integer(value_bytes,
              [&]<class T>(T) { join<T>(bytes / count, planes.data(), order, values); });
  return true;
}

}  // namespace mcsim::interning
