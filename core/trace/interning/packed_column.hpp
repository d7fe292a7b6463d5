#pragma once

#include <cstddef>
#include <span>
#include <vector>

// Columns of numbers in few bytes: parts that are packed by themselves, each as planes of the
// lowest, second, … bytes of its values, without the highest ones if they are zero, compressed by
// Zstandard.
namespace mcsim::interning {

// Values of a part: a plane is a block of Zstandard.
inline constexpr std::size_t kPartValues = std::size_t{1} << 17;

enum class Order : bool { kAny, kAscending };  // of ascending values the differences are packed

// Replaces `to` by 1 to kPartValues packed values of 1, 2, 4, or 8 bytes.
void pack(std::span<const std::byte> values, std::size_t value_bytes, Order order,
          std::vector<std::byte>& to);

// Unpacks exactly the values, at least one, that there is room for. Returns false if the bytes are
// damaged.
[[nodiscard]] bool unpack(std::span<const std::byte> packed, std::size_t value_bytes, Order order,
                          std::span<std::byte> values);

}  // namespace mcsim::interning
