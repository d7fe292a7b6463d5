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

// Where columns begin of a file whose head says what it says.
inline std::array<std::uint64_t, 6> accesses_columns(std::span<const std::uint64_t> head) {
  const std::uint64_t requests = head[4];
  const std::uint64_t accesses = head[5];
  std::array<std::uint64_t, 6> at{};
  std::uint64_t end = head[2] * 8;
  const std::array bytes{accesses * 4, (requests + 1) * 8, requests * 8, requests * 2, requests};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    at[i] = (end + 63) / 64 * 64;
    end = at[i] + bytes[i];
  }
  at[5] = end;
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
  const auto at = accesses_columns(words);
  if (at[5] != file.size()) return file;
  const std::array<std::uint64_t, 5> sizes{words[5] * 4, (words[4] + 1) * 8, words[4] * 8,
                                           words[4] * 2, words[4]};
  for (std::size_t i = 0; i < 5; ++i) {
    const auto column = std::as_bytes(std::span(file)).subspan(at[i], sizes[i]);
    words[6 + i] = 0;
    for (std::size_t from = 0; from < column.size(); from += 1 << 20) {
      const std::size_t size = std::min<std::size_t>(1 << 20, column.size() - from);
      words[6 + i] = checksum(column.subspan(from, size), words[6 + i]);
    }
  }
  const auto head = std::as_bytes(std::span(words).first(words[2]));
  words[3] = checksum(head.subspan(32), checksum(head.first(24), 0));
  std::memcpy(file.data(), words.data(), words.size() * 8);
  return file;
}

}  // namespace mcsim::testing
