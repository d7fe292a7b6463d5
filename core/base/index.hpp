#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <ranges>
#include <span>
#include <type_traits>

namespace mcsim {

// A position among things of one kind. It is read as a number wherever one is wanted, such as
// between brackets; of a number it is made only by name, so that a position among other things,
// or a count, does not pass for it: the compiler calls such a number "not usable in a constant
// expression", for literals do pass. It is a number to the processor.
template <class Kind, std::unsigned_integral Number>
class Index {
 public:
  using Value = Number;
  // Narrow positions would wrap within their type: `vm + 1` is an int, as of any 16-bit number.
  static constexpr bool kIsWide = sizeof(Number) >= sizeof(int);

  Index() = default;
  template <std::integral Literal>
  consteval Index(Literal number) : number_(static_cast<Number>(number)) {}
  template <std::integral Any>
    requires(sizeof(Any) > 0)
  explicit constexpr Index(Any number) : number_(static_cast<Number>(number)) {}

  constexpr operator Number() const { return number_; }

  constexpr Index& operator++() {
    assert(number_ != std::numeric_limits<Number>::max());
    ++number_;
    return *this;
  }
  template <std::integral Any>
    requires(kIsWide)
  constexpr Index& operator+=(Any distance) {
    number_ = static_cast<Number>(number_ + static_cast<Number>(distance));
    return *this;
  }
  template <std::integral Any>
    requires(kIsWide)
  constexpr Index& operator-=(Any distance) {
    number_ = static_cast<Number>(number_ - static_cast<Number>(distance));
    return *this;
  }
  // So many places on. What is between two is a number.
  template <std::integral Any>
    requires(kIsWide)
  friend constexpr Index operator+(Index from, Any distance) {
    return from += distance;
  }

 private:
  Number number_;
};

// The numbers of positions, where they are.
template <std::ranges::contiguous_range Positions>
auto numbers_of(Positions&& positions) {
  using Position = std::remove_pointer_t<decltype(std::ranges::data(positions))>;
  using Number = std::conditional_t<std::is_const_v<Position>, const typename Position::Value,
                                    typename Position::Value>;
  return std::span(reinterpret_cast<Number*>(std::ranges::data(positions)),
                   std::ranges::size(positions));
}

}  // namespace mcsim

template <class Kind, class Number>
struct std::numeric_limits<mcsim::Index<Kind, Number>> {
  static constexpr bool is_specialized = true;
  static constexpr mcsim::Index<Kind, Number> min() { return mcsim::Index<Kind, Number>(0); }
  static constexpr mcsim::Index<Kind, Number> max() {
    return mcsim::Index<Kind, Number>(std::numeric_limits<Number>::max());
  }
};

template <class Kind, class Number>
struct std::hash<mcsim::Index<Kind, Number>> : std::hash<Number> {};
