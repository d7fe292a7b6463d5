#include "core/trace/reading/iso_time.hpp"

#include <charconv>
#include <chrono>

namespace mcsim {
namespace {

// Parses parts of a text from left to right.
class Parts {
 public:
  explicit Parts(std::string_view text) : rest_(text) {}

  bool is_at(std::string_view any_of) const {
    return !rest_.empty() && any_of.find(rest_.front()) != std::string_view::npos;
  }
  bool take(std::string_view any_of) {
    if (!is_at(any_of)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Parses exactly `digits` digits.
  bool number(std::size_t digits, int& value) {
    if (rest_.size() < digits || is_at("-")) return false;
    const char* const end = rest_.data() + digits;
    const auto [after, error] = std::from_chars(rest_.data(), end, value);
    if (error != std::errc() || after != end) return false;
    rest_.remove_prefix(digits);
    return true;
  }
  // Parses the digits after a decimal point.
  Nanoseconds fraction() {
    Nanoseconds sum = 0;
    Nanoseconds worth = kSecond;
    while (is_at("0123456789")) {
      worth /= 10;
      sum += worth * (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    return sum;
  }
  bool is_over() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// Parses the seconds since midnight.
bool take_clock(Parts& parts, Nanoseconds& seconds) {
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (!parts.number(2, hour) || !parts.take(":") || !parts.number(2, minute)) return false;
  if (parts.take(":") && !parts.number(2, second)) return false;
  seconds = (Nanoseconds{hour} * 60 + minute) * 60 + second;
  return hour < 24 && minute < 60 && second <= 60;
}

// Parses the offset of the time zone from UTC, in seconds.
bool take_zone(Parts& parts, Nanoseconds& seconds) {
  if (parts.is_over() || parts.take("Zz")) return true;
  const Nanoseconds sign = parts.is_at("-") ? -1 : 1;
  int hours = 0;
  int minutes = 0;
  if (!parts.take("+-") || !parts.number(2, hours)) return false;
  parts.take(":");
  if (!parts.is_over() && !parts.number(2, minutes)) return false;
  seconds = sign * (Nanoseconds{hours} * 60 + minutes) * 60;
  return hours < 24 && minutes < 60;
}

}  // namespace

std::optional<Nanoseconds> parse_iso_time(std::string_view text) {
  constexpr int kFirstYear = 1678;  // the range of 64-bit nanoseconds
  constexpr int kLastYear = 2261;
  Parts parts(text);
  int year = 0;
  int month = 0;
  int day = 0;
  if (!parts.number(4, year) || !parts.take("-/") || !parts.number(2, month) || !parts.take("-/") ||
      !parts.number(2, day)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || year < kFirstYear || year > kLastYear) return std::nullopt;
  Nanoseconds clock = 0;
  if (parts.take("Tt ") && !take_clock(parts, clock)) return std::nullopt;
  const Nanoseconds below_one = parts.take(".,") ? parts.fraction() : 0;
  Nanoseconds zone = 0;
  if (!take_zone(parts, zone) || !parts.is_over()) return std::nullopt;
  const Nanoseconds days = std::chrono::sys_days(date).time_since_epoch().count();
  return (days * 24 * 3600 + clock - zone) * kSecond + below_one;
}

}  // namespace mcsim
