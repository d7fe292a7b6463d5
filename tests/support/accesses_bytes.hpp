#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/base/checksum.hpp"

// Files of interned traces (core/trace/interning/accesses_file.hpp) as whoever writes their format
// could make them: it is restated here.
namespace mcsim::testing {

// Presence of the optional columns: response times, classes, bytes and, with bytes, their offsets
// in blocks.
using Asked = std::array<bool, 4>;
inline constexpr std::size_t kNotAsked = 5;  // columns come before them

inline std::array<std::uint64_t, 9> accesses_sizes(std::span<const std::uint64_t> head) {
  const std::uint64_t requests = head[4];
  return {head[5] * 4,  (requests + 1) * 8, requests * 8, requests * 2, requests,
          requests * 8, requests,           requests * 4, requests * 4};
}

inline bool is_there(std::size_t column, const Asked& asked) {
  return column < kNotAsked || asked[column - kNotAsked];
}

// Where columns begin, and the last one that is there ends. One that is not there begins where the
// one before it ended.
inline std::vector<std::uint64_t> accesses_columns(std::span<const std::uint64_t> head,
                                                   const Asked& asked = {}) {
  const auto sizes = accesses_sizes(head);
  std::vector<std::uint64_t> at;
  std::uint64_t end = head[2] * 8;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    at.push_back(is_there(i, asked) ? (end + 63) / 64 * 64 : end);
    end = at.back() + (is_there(i, asked) ? sizes[i] : 0);
  }
  at.push_back(end);
  return at;
}

// The word of the head with the checksum of such a column. They end it in their order, each but
// the first after a word with its kind.
inline std::size_t sum_of_asked(std::span<const std::uint64_t> head, const Asked& asked,
                                std::size_t which) {
  std::size_t from_end = 1;
  for (std::size_t later = which + 1; later < asked.size(); ++later)
    from_end += asked[later] ? 2 : 0;
  return head[2] - from_end;
}

// Whether a file of that size may have these.
inline bool may_have(std::span<const std::uint64_t> words, const Asked& asked,
                     std::uint64_t bytes) {
  if (accesses_columns(words, asked).back() != bytes) return false;
  for (std::size_t i = 1; i < asked.size(); ++i) {
    if (asked[i] && words[sum_of_asked(words, asked, i) - 1] != i) return false;
  }
  return true;
}

// With correct checksums, if the contents can be parsed.
inline std::string with_checksums(std::string file) {
  std::vector<std::uint64_t> words(file.size() / 8);
  if (words.size() < 11) return file;
  std::memcpy(words.data(), file.data(), words.size() * 8);
  if (words[2] < 11 || words[2] > words.size()) return file;
  const std::uint64_t most = file.size();
  if (words[4] > most || words[5] > most) return file;
  // Those of more columns first: what others have may look as if it were nothing.
  unsigned guess = 8;
  const auto guessed = [&] {
    return Asked{(guess & 1) != 0, (guess & 2) != 0, (guess & 4) != 0, (guess & 4) != 0};
  };
  while (guess-- > 0 && !may_have(words, guessed(), file.size())) continue;
  if (guess >= 8) return file;
  const Asked asked = guessed();
  const std::vector<std::uint64_t> at = accesses_columns(words, asked);
  const auto sizes = accesses_sizes(words);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!is_there(i, asked)) continue;
    const auto column = std::as_bytes(std::span(file)).subspan(at[i], sizes[i]);
    std::uint64_t& sum = words[i < kNotAsked ? 6 + i : sum_of_asked(words, asked, i - kNotAsked)];
    sum = 0;
    for (std::size_t from = 0; from < column.size(); from += 1 << 20) {
      const std::size_t size = std::min<std::size_t>(1 << 20, column.size() - from);
      sum = checksum(column.subspan(from, size), sum);
    }
  }
  const auto head = std::as_bytes(std::span(words).first(words[2]));
  words[3] = checksum(head.subspan(32), checksum(head.first(24), 0));
  std::memcpy(file.data(), words.data(), words.size() * 8);
  return file;
}

}  // namespace mcsim::testing
