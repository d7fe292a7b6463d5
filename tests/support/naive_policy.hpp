#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <list>
#include <utility>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim::naive {

// A share, of at most six decimals, of a whole: in whole numbers throughout.
inline Count part_of(double share, Count whole) {
  return std::llround(share * 1e6) * whole / 1'000'000;
}

// An eviction policy one can see is right.
class Policy {
 public:
  explicit Policy(Count capacity) : capacity_(capacity) {}
  virtual ~Policy() = default;

  // True if it hits. A block that comes in while there is no space at all does not.
  bool access(std::uint64_t block, std::uint64_t next_use) {
    victims.clear();
    return capacity_ > 0 && on_access(block, next_use);
  }
  virtual bool contains(std::uint64_t block) const = 0;
  virtual void remove(std::uint64_t block) = 0;
  void resize(Count capacity) {
    victims.clear();
    capacity_ = capacity;
    on_resize();
  }

  std::vector<std::uint64_t> victims;  // of the last call, in order

 protected:
  using List = std::list<std::uint64_t>;

  virtual bool on_access(std::uint64_t block, std::uint64_t next_use) = 0;
  virtual void on_resize() = 0;

  static bool has(const List& list, std::uint64_t block) {
    return std::find(list.begin(), list.end(), block) != list.end();
  }
  static Count size(const List& list) { return static_cast<Count>(list.size()); }

  Count capacity_;
};

// Policies that keep what is resident in lists, from each of which the back leaves.
class OfLists : public Policy {
 public:
  OfLists(Count capacity, std::vector<List*> resident)
      : Policy(capacity), resident_(std::move(resident)) {}
  bool contains(std::uint64_t block) const override {
    return std::any_of(resident_.begin(), resident_.end(),
                       [&](const List* list) { return has(*list, block); });
  }
  void remove(std::uint64_t block) override {
    for (List* list : resident_) list->remove(block);
  }

 protected:
  Count held() const {
    Count held = 0;
    for (const List* list : resident_) held += size(*list);
    return held;
  }
  static void shift(List& from, List& to) {
    to.push_front(from.back());
    from.pop_back();
  }
  void out(List& list) {
    victims.push_back(list.back());
    list.pop_back();
  }

 private:
  std::vector<List*> resident_;
};

}  // namespace mcsim::naive
