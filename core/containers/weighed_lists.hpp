#pragma once

#include <array>
#include <cstddef>
#include <tuple>

#include "core/base/types.hpp"
#include "core/containers/slot_lists.hpp"

namespace mcsim {

// Call evict() while is_full() for one more block. With equal weights one victim makes room, and
// a loop would be up to 5 % slower.
template <class View>
void make_room(const View&, auto&& is_full, auto&& evict) {
  if constexpr (View::kWeighs) {
    while (is_full()) evict();
  } else {
    if (is_full()) evict();
  }
}

// Slot lists with the sum of the weights of each list. `cache` is the cache as its policy sees it.
// With equal weights the sum is the length.
template <std::size_t kLists>
class WeighedLists : public SlotLists<kLists> {
  using Lists = SlotLists<kLists>;

 public:
  using List = typename Lists::List;
  using Lists::Lists;

  template <class View>
  Count weight(List list, const View&) const {
    if constexpr (View::kWeighs) return weights_[list];
    return this->size(list);
  }

  void push_front(List list, Slot slot, const auto& cache) {
    Lists::push_front(list, slot);
    add(list, slot, cache);
  }
  void erase(Slot slot, const auto& cache) {
    subtract(slot, cache);
    Lists::erase(slot);
  }
  Slot pop_back(List list, const auto& cache) {
    subtract(this->back(list), cache);
    return Lists::pop_back(list);
  }
  void move_to_front(List list, Slot slot, const auto& cache) {
    subtract(slot, cache);
    Lists::move_to_front(list, slot);
    add(list, slot, cache);
  }
  // Add the change of a block's weight.
  void reweigh(Slot slot, Count more) { weights_[this->list_of(slot)] += more; }

 private:
  template <class View>
  void add(List list, Slot slot, const View& cache) {
    if constexpr (View::kWeighs) weights_[list] += cache.weight(slot);
  }
  template <class View>
  void subtract(Slot slot, const View& cache) {
    if constexpr (View::kWeighs) weights_[this->list_of(slot)] -= cache.weight(slot);
  }

  std::array<Count, kLists> weights_{};
};

}  // namespace mcsim
