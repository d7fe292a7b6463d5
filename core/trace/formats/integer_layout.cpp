#include "core/trace/formats/integer_layout.hpp"

#include <algorithm>
#include <array>
#include <bitset>

#include <boost/unordered/unordered_flat_set.hpp>

namespace mcsim {
namespace {

// The values of one byte position over all integers.
struct ByteColumn {
  std::bitset<256> values;
  std::size_t extensions = 0;  // 0x00 or 0xff, as the high bytes of small numbers

  bool is_extension(std::size_t of) const { return extensions * 10 >= of * 9; }
};

template <std::size_t kBytes>
std::array<ByteColumn, kBytes> columns_of(std::string_view head) {
  std::array<ByteColumn, kBytes> columns;
  for (std::size_t at = 0; at + kBytes <= head.size(); at += kBytes) {
    for (std::size_t i = 0; i < kBytes; ++i) {
      const auto byte = static_cast<unsigned char>(head[at + i]);
      columns[i].values.set(byte);
      columns[i].extensions += byte == 0x00 || byte == 0xff;
    }
  }
  return columns;
}

// The byte order if the first or the last bytes are clearly the high ones.
template <std::size_t kBytes>
std::optional<ByteOrder> order_of(std::string_view head) {
  const auto columns = columns_of<kBytes>(head);
  const std::size_t count = head.size() / kBytes;
  const auto is_low = [&](const ByteColumn& column) { return !column.is_extension(count); };
  const auto first = std::ranges::find_if(columns, is_low) - columns.begin();
  const auto last = std::find_if(columns.rbegin(), columns.rend(), is_low) - columns.rbegin();
  if (first != last) return first > last ? ByteOrder::big : ByteOrder::little;
  const std::size_t values_first = columns.front().values.count();
  const std::size_t values_last = columns.back().values.count();
  if (values_first * 2 <= values_last) return ByteOrder::big;
  if (values_last * 2 <= values_first) return ByteOrder::little;
  return std::nullopt;
}

// Whether the two halves of eight bytes look different, as in a single number.
bool halves_differ(std::string_view head) {
  std::array<boost::unordered_flat_set<std::uint32_t>, 2> values;
  std::array<std::size_t, 2> extensions{};
  const std::size_t count = head.size() / 8;
  for (std::size_t at = 0; at < count * 8; at += 4) {
    const auto value = number_at<std::uint32_t>(head.data() + at);
    values[at / 4 % 2].insert(value);
    extensions[at / 4 % 2] += value == 0 || value == 0xffff'ffff;
  }
  const auto [few, many] = std::minmax({extensions[0], extensions[1]});
  if (many * 10 >= count * 9 && few * 2 < count) return true;
  const auto [fewer, more] = std::minmax({values[0].size(), values[1].size()});
  constexpr std::size_t kSample = 16;
  return more >= kSample && fewer * 4 <= more;
}

// The share of integers of `bytes` bytes that occur repeatedly.
double repeated_share(std::string_view head, std::size_t bytes) {
  boost::unordered_flat_set<std::string_view> values;
  const std::size_t count = head.size() / bytes;
  for (std::size_t i = 0; i < count; ++i) values.insert(head.substr(i * bytes, bytes));
  return count == 0 ? 0 : 1 - static_cast<double>(values.size()) / static_cast<double>(count);
}

}  // namespace

std::optional<IntegerLayout> integer_layout(std::string_view head) {
  if (halves_differ(head)) {
    const auto order = order_of<8>(head);
    return order ? std::optional(IntegerLayout{8, *order}) : std::nullopt;
  }
  const auto order = order_of<4>(head);
  // Pairs of small numbers, such as inode and block, repeat as pairs.
  const bool are_pairs = repeated_share(head, 8) * 2 > repeated_share(head, 4);
  if (!order || are_pairs) return std::nullopt;
  return IntegerLayout{4, *order};
}

}  // namespace mcsim
