#include "core/base/suggest.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace mcsim {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({substituted, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

// Words of other tools and the mcsim words for the same thing.
constexpr std::array kSynonyms{
    std::pair<std::string_view, std::string_view>{"size", "length"},
    std::pair<std::string_view, std::string_view>{"bytes", "length"},
    std::pair<std::string_view, std::string_view>{"timestamp", "time"},
    std::pair<std::string_view, std::string_view>{"lba", "offset"},
    std::pair<std::string_view, std::string_view>{"lbn", "offset"},
    std::pair<std::string_view, std::string_view>{"address", "offset"},
    std::pair<std::string_view, std::string_view>{"type", "op"},
    std::pair<std::string_view, std::string_view>{"latency", "response"},
};

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  for (const auto& [synonym, ours] : kSynonyms) {
    if (word == synonym && std::ranges::find(known, ours) != known.end()) {
      return fmt::format(" (did you mean '{}'?)", ours);
    }
  }
  const auto nearest = std::ranges::min_element(
      known, {}, [&](std::string_view candidate) { return edit_distance(word, candidate); });
  if (nearest == known.end()) return "";
  const std::size_t tolerated = std::max<std::size_t>(2, word.size() / 3);
  if (edit_distance(word, *nearest) > tolerated) return "";
  return fmt::format(" (did you mean '{}'?)", *nearest);
}

}  // namespace mcsim
