#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>

namespace mcsim {

// Read untrusted 64-bit words sequentially. After a missing or invalid word, whole() is false, and
// all functions but take() return zeroes or nothing.
class WordReader {
 public:
  explicit WordReader(std::span<const std::uint64_t> words) : rest_(words) {}

  std::uint64_t take() {
    if (rest_.empty()) return whole_ = false;
    const std::uint64_t word = rest_.front();
    rest_ = rest_.subspan(1);
    return word;
  }
  // Read a number; invalid if it is above `most`.
  template <class T>
  T take_up_to(std::uint64_t most) {
    const std::uint64_t word = take();
    if (word > most) whole_ = false;
    return whole_ ? static_cast<T>(word) : T{};
  }
  template <class T>
  T take_as() {
    return take_up_to<T>(static_cast<std::uint64_t>(std::numeric_limits<T>::max()));
  }
  // Read the next `count` words; none if there are fewer.
  std::span<const std::uint64_t> take_all(std::size_t count) {
    if (count > rest_.size()) whole_ = false;
    if (!whole_) return {};
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  std::string take_text() {
    const auto length = take_up_to<std::size_t>(rest_.size_bytes());
    const auto words = take_all((length + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
    if (!whole_) return "";
    std::string text(length, '\0');
    if (length > 0) std::memcpy(text.data(), words.data(), length);
    return text;
  }

  bool whole() const { return whole_; }
  std::size_t left() const { return rest_.size(); }
  bool over() const { return whole_ && rest_.empty(); }

 private:
  std::span<const std::uint64_t> rest_;
  bool whole_ = true;
};

}  // namespace mcsim
