#include "core/trace/reading/operation_words.hpp"

#include <absl/strings/ascii.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace mcsim {

std::vector<std::string> split_words(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t end = text.find(separator);
    std::string word(text.substr(0, end));
    absl::StripAsciiWhitespace(&word);
    words.push_back(std::move(word));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + 1);
  }
}

bool is_same_word(std::string_view one, std::string_view other) {
  const auto lower = [](char c) { return absl::ascii_tolower(static_cast<unsigned char>(c)); };
  return std::ranges::equal(one, other, {}, lower, lower);
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last * so far
  std::size_t after_star = 0;                 // the position in `text` tried after it
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() &&
               (pattern[p] == '?' ||
                absl::ascii_tolower(static_cast<unsigned char>(pattern[p])) ==
                    absl::ascii_tolower(static_cast<unsigned char>(text[t])))) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

OperationWords::OperationWords(std::string_view read, std::string_view write,
                               std::string_view discard, std::string_view flush,
                               std::string_view ignored) {
  const std::array given{read, write, discard, flush, ignored};
  for (std::size_t i = 0; i < given.size(); ++i) {
    patterns_[i] = split_words(given[i], ',');
    std::erase(patterns_[i], "");
  }
}

std::optional<Operation> operation_of_rwbs(std::string_view letters) {
  constexpr std::size_t kMost = 8;
  if (letters.empty() || letters.size() > kMost) return std::nullopt;
  const bool is_upper = std::ranges::all_of(letters, absl::ascii_isupper);
  const bool has_flush = letters.front() == 'F';
  const char operation = has_flush && letters.size() > 1 ? letters[1] : letters.front();
  const std::size_t rest = has_flush ? 2 : 1;
  const bool has_flags =
      letters.size() <= rest || letters.find_first_not_of("AFSME", rest) == std::string_view::npos;
  if (!is_upper || (!has_flags && operation != 'Z')) return std::nullopt;
  switch (operation) {
    case 'R':
      return Operation::kRead;
    case 'W':
      return Operation::kWrite;
    case 'D':
      return Operation::kDiscard;
    case 'N':
      return has_flush ? Operation::kFlush : Operation::kIgnored;
    case 'Z':
      return Operation::kIgnored;
    default:
      return has_flush ? std::optional(Operation::kFlush) : std::nullopt;
  }
}

std::optional<Operation> OperationWords::search(std::string_view word) {
  constexpr std::size_t kMostRecent = 16;
  const auto operation = matching(word);
  if (!operation) return std::nullopt;
  if (word.size() == 1) of_letter_[static_cast<unsigned char>(word[0])] = operation;
  if (recent_.size() < kMostRecent) recent_.emplace_back(word, *operation);
  return operation;
}

std::optional<Operation> OperationWords::matching(std::string_view word) const {
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    const bool matches = std::ranges::any_of(
        patterns_[i], [&](const std::string& pattern) { return matches_pattern(pattern, word); });
    if (matches) return static_cast<Operation>(i);
  }
  return has_rwbs_ ? operation_of_rwbs(word) : std::nullopt;
}

std::string OperationWords::expected() const {
  std::string text;
  constexpr std::array kNames{"read", "write", "discard", "flush", "filtered"};
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    if (patterns_[i].empty()) continue;
    if (!text.empty()) text += "; ";
    text += fmt::format("{} ({})", fmt::join(patterns_[i], ", "), kNames[i]);
  }
  return text;
}

}  // namespace mcsim
