#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/base/checksum.hpp"

// Files of interned traces (core/trace/accesses_file.hpp) as whoever writes their format could
// make them: it is restated here.
namespace mcsim::testing {

// Where columns begin of a file whose head says what it says, and the last one ends: five, or six
// with response times.
inline std::vector<std::uint64_t> accesses_columns(std::span<const std::uint64_t> head,
                                                   bool responses = false) {
  const std::uint64_t requests = head[4];
  const std::uint64_t accesses = head[5];
  std::vector<std::uint64_t> at;
  std::uint64_t end = head[2] * 8;
  std::vector bytes{accesses * 4, (requests + 1) * 8, requests * 8, requests * 2, requests};
  if (responses) bytes.push_back(requests * 8);
  for (const std::uint64_t of_column : bytes) {
    at.push_back((end + 63) / 64 * 64);
    end = at.back() + of_column;
  }
  at.push_back(end);
  return at;
}

// With the checksums that are right for what it holds, if it can be told what that is.
inline std::string with_checksums(std::string file) {
  std::vector<std::uint64_t> words(file.size() / 8);
  if (words.size() < 11) return file;
  std::memcpy(words.data(), file.data(), words.size() * 8);
  if (words[2] < 11 || words[2] > words.size()) return file;
  const std::uint64_t most = file.size();
  if (words[4] > most || words[5] > most) return file;
  auto at = accesses_columns(words);
  if (at.back() != file.size()) at = accesses_columns(words, true);
  if (at.back() != file.size()) return file;
  const std::array<std::uint64_t, 6> sizes{words[5] * 4, (words[4] + 1) * 8, words[4] * 8,
                                           words[4] * 2, words[4],           words[4] * 8};
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    const auto column = std::as_bytes(std::span(file)).subspan(at[i], sizes[i]);
    std::uint64_t& sum = words[i < 5 ? 6 + i : words[2] - 1];  // the sixth's ends the head
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
