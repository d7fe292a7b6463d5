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

// A position among things of one kind. It converts implicitly to a number, for example between
// brackets, but a number converts to it only explicitly. So a position among other things, or a
// count, is not accepted by mistake: the compiler calls such a number "not usable in a constant
// expression", because only literals convert. At run time it is a plain number.
template <class Kind, std::unsigned_integral Number>
class Index {
 public:
  using Value = Number;
  // Narrow positions have no arithmetic, since `vm + 1` is an int, as for any 16-bit number.
  static constexpr bool kIsWide = sizeof(Number) >= sizeof(int);

  Index() = default;
  template <std::integral Literal>
  consteval Index(Literal number) : number_(static_cast<Number>(number)) {}
  template <std::integral Any>
    requires(sizeof(Any) > 0)
  explicit constexpr Index(Any number) : number_(static_cast<Number>(number)) {}

  constexpr operator Number() const { return number_; }
  // fmt 10 and newer format no type that merely converts to a number.
  friend constexpr Number format_as(Index index) { return index.number_; }

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
  // The position `distance` further on. The difference between two positions is a number.
  template <std::integral Any>
    requires(kIsWide)
  friend constexpr Index operator+(Index from, Any distance) {
    return from += distance;
  }

 private:
  Number number_;
};

// A view of positions as plain numbers, without a copy.
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
