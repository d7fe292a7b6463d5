#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>

namespace mcsim {

// Scans the JSON of a line in its simplest form: no escapes in strings. After a failure a parser
// decides whether the line is valid.
class FlatJson {
 public:
  explicit FlatJson(std::string_view line) : at_(line.data()), end_(at_ + line.size()) {}

  bool take(char expected) {
    skip_blanks();
    if (at_ == end_ || *at_ != expected) return false;
    ++at_;
    return true;
  }
  bool take_name(std::string_view name) {
    if (!take('"') || static_cast<std::size_t>(end_ - at_) <= name.size()) return false;
    if (std::memcmp(at_, name.data(), name.size()) != 0 || at_[name.size()] != '"') return false;
    at_ += name.size() + 1;
    return true;
  }
  bool take_string(std::string_view& value) { return take('"') && take_rest_of_string(value); }
  // Takes a number without an exponent.
  bool take_number(std::string_view& value) {
    skip_blanks();
    const char* const begin = at_;
    if (!skip_number()) return false;
    value = {begin, static_cast<std::size_t>(at_ - begin)};
    return true;
  }
  // Takes a string or a number.
  bool take_scalar(std::string_view& value) {
    return take('"') ? take_rest_of_string(value) : take_number(value);
  }
  // Takes an integer from 0 to 2^64 - 1. Does not check what follows.
  bool take_integer(std::uint64_t& value) {
    skip_blanks();
    const char* const begin = at_;
    const char* at = begin;
    std::uint64_t sum = 0;
    for (; at != end_ && *at >= '0' && *at <= '9'; ++at) {
      sum = 10 * sum + static_cast<std::uint64_t>(*at - '0');
    }
    at_ = at;
    value = sum;
    const auto digits = at - begin;
    if (digits == 0 || (digits > 1 && *begin == '0')) return false;
    constexpr int kAlwaysFit = std::numeric_limits<std::uint64_t>::digits10;
    return digits <= kAlwaysFit || std::from_chars(begin, at_, value).ec == std::errc();
  }
  // The same from -(2^63 - 1) to 2^63 - 1.
  bool take_integer(std::int64_t& value) {
    const bool is_negative = take('-');
    std::uint64_t size = 0;
    if (is_negative && is_at_blank()) return false;
    if (!take_integer(size) || size > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      return false;
    value = is_negative ? -static_cast<std::int64_t>(size) : static_cast<std::int64_t>(size);
    return true;
  }
  // Skips a value of any kind, with at most `levels` arrays and objects inside one another.
  bool skip_value(int levels) {
    if (take('[')) return levels > 0 && skip_list(']', [&] { return skip_value(levels - 1); });
    std::string_view skipped;
    if (take('{')) {
      return levels > 0 && skip_list('}', [&] {
               return take_string(skipped) && take(':') && skip_value(levels - 1);
             });
    }
    return take_word("true") || take_word("false") || take_word("null") || take_scalar(skipped);
  }
  bool is_over() {
    skip_blanks();
    return at_ == end_;
  }

 private:
  bool is_at_blank() const { return at_ != end_ && (*at_ == ' ' || *at_ == '\t'); }
  void skip_blanks() {
    while (is_at_blank()) ++at_;
  }
  bool take_rest_of_string(std::string_view& value) {
    const char* const begin = at_;
    while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= ' ')
      ++at_;
    value = {begin, static_cast<std::size_t>(at_ - begin)};
    if (at_ == end_ || *at_ != '"') return false;
    ++at_;
    return true;
  }
  bool skip_digits() {
    const char* const begin = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != begin;
  }
  bool skip_number() {
    if (at_ != end_ && *at_ == '-') ++at_;
    const bool is_zero = at_ != end_ && *at_ == '0';
    const char* const begin = at_;
    if (!skip_digits() || (is_zero && at_ - begin > 1)) return false;
    if (at_ == end_ || *at_ != '.') return true;
    ++at_;
    return skip_digits();
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word))
      return false;
    at_ += word.size();
    return true;
  }
  template <class Skip>
  bool skip_list(char close, Skip&& skip) {
    if (take(close)) return true;
    do {
      if (!skip()) return false;
    } while (take(','));
    return take(close);
  }

  const char* at_;
  const char* end_;
};

}  // namespace mcsim
