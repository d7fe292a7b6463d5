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

// Columns that are not always there.
struct OnDemand {
  bool responses = false;
  bool classes = false;
};

// Bytes of the columns of a file whose head says what it says: of five, response times and classes.
inline std::array<std::uint64_t, 7> accesses_sizes(std::span<const std::uint64_t> head,
                                                   OnDemand has) {
  const std::uint64_t requests = head[4];
  return {head[5] * 4,
          (requests + 1) * 8,
          requests * 8,
          requests * 2,
          requests,
          has.responses ? requests * 8 : 0,
          has.classes ? requests : 0};
}

// Where columns begin, and the last one that is there ends. One that is not there begins where the
// one before it ended.
inline std::vector<std::uint64_t> accesses_columns(std::span<const std::uint64_t> head,
                                                   OnDemand has = {}) {
  const std::array<std::uint64_t, 7> sizes = accesses_sizes(head, has);
  std::vector<std::uint64_t> at;
  std::uint64_t end = head[2] * 8;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool there = i < 5 || (i == 5 ? has.responses : has.classes);
    at.push_back(there ? (end + 63) / 64 * 64 : end);
    end = at.back() + sizes[i];
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
  OnDemand has;
  std::vector<std::uint64_t> at;
  for (const OnDemand guess : {OnDemand{}, {true, false}, {false, true}, {true, true}}) {
    has = guess;
    at = accesses_columns(words, has);
    if (at.back() == file.size()) break;
  }
  if (at.back() != file.size()) return file;
  const std::array<std::uint64_t, 7> sizes = accesses_sizes(words, has);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if ((i == 5 && !has.responses) || (i == 6 && !has.classes)) continue;
    const auto column = std::as_bytes(std::span(file)).subspan(at[i], sizes[i]);
    // Those of response times, then of classes with a word before it, end the head.
    const std::size_t from_end = i == 5 && has.classes ? 3 : 1;
    std::uint64_t& sum = words[i < 5 ? 6 + i : words[2] - from_end];
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
