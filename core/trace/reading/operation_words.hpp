#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcsim {

// The operation of a row of a trace. Only the first three are requests.
enum class Operation : std::uint8_t {
  kRead = 0,
  kWrite = 1,
  kDiscard = 2,
  kFlush = 3,   // counted
  kIgnored = 4  // filtered
};

// Splits a text at separators and trims blanks; keeps empty parts.
std::vector<std::string> split_words(std::string_view text, char separator);

// Compares words without regard to case.
bool is_same_word(std::string_view one, std::string_view other);

// Matches a pattern against all of `text`, without regard to case: * matches any text, ? any
// character.
bool matches_pattern(std::string_view pattern, std::string_view text);

// Returns the operation of the letters of a block request, as the Linux kernel prints them (see
// rwbs.hpp): RA, WS, FF. Without an operation of their own, N is ignored and FN a flush.
std::optional<Operation> operation_of_rwbs(std::string_view letters);

// The words for operations in a column.
class OperationWords {
 public:
  OperationWords() = default;
  // Arguments are words or patterns separated by commas.
  OperationWords(std::string_view read, std::string_view write, std::string_view discard,
                 std::string_view flush, std::string_view ignored = "");

  // Finds the letters of block requests, too, if no word matches.
  void accept_rwbs() { has_rwbs_ = true; }

  std::optional<Operation> find(std::string_view word) {
    if (word.size() == 1) {
      const std::optional<Operation>& known = of_letter_[static_cast<unsigned char>(word[0])];
      if (known) return known;
    }
    for (const auto& [known, operation] : recent_) {
      if (known == word) return operation;
    }
    return search(word);
  }
  // "read, r (read), write, w (write)" for messages.
  std::string expected() const;

 private:
  std::optional<Operation> search(std::string_view word);
  std::optional<Operation> matching(std::string_view word) const;

  bool has_rwbs_ = false;
  std::array<std::vector<std::string>, 5> patterns_;
  std::array<std::optional<Operation>, 256> of_letter_{};
  std::vector<std::pair<std::string, Operation>> recent_;
};

}  // namespace mcsim
