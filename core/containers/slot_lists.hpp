#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"

namespace mcsim {

// Doubly linked lists of slots in one array of nodes. A slot is in at most one of kLists lists. New
// and recently used slots go to the front.
//
// Eight bytes a slot, and one more to store the list of a slot if there are several lists.
template <std::size_t kLists = 1>
class SlotLists {
 public:
  using List = std::size_t;

  explicit SlotLists(std::size_t slots) : nodes_(slots + kLists), list_of_(tags(slots)) {
    for (List list = 0; list < kLists; ++list) {
      nodes_[list] = {.newer = root(list), .older = root(list)};
    }
  }

  std::size_t slots() const { return nodes_.size() - kLists; }
  void reserve(std::size_t slots) {
    if (slots <= this->slots()) return;
    nodes_.extend(slots + kLists);
    list_of_.extend(tags(slots));
  }

  Count size(List list = 0) const { return size_[list]; }
  bool empty(List list = 0) const { return size_[list] == 0; }
  // The slot must be in a list.
  List list_of(Slot slot) const {
    if constexpr (kLists == 1) return 0;
    return list_of_[slot];
  }

  // kNoSlot beyond the ends.
  Slot front(List list = 0) const { return slot_at(nodes_[list].older); }
  Slot back(List list = 0) const { return slot_at(nodes_[list].newer); }
  Slot newer(Slot slot) const { return slot_at(node(slot).newer); }
  Slot older(Slot slot) const { return slot_at(node(slot).older); }

  void push_front(List list, Slot slot) {
    link(root(list), slot);
    if constexpr (kLists > 1) list_of_[slot] = static_cast<std::uint8_t>(list);
    ++size_[list];
  }
  void push_front(Slot slot)
    requires(kLists == 1)
  {
    push_front(0, slot);
  }
  void push_back(List list, Slot slot) {
    link(nodes_[list].newer, slot);
    if constexpr (kLists > 1) list_of_[slot] = static_cast<std::uint8_t>(list);
    ++size_[list];
  }

  // Insert a slot on the older side of another, into the same list.
  void insert_older(Slot newer, Slot slot) {
    link(static_cast<std::uint32_t>(newer + kLists), slot);
    if constexpr (kLists > 1) list_of_[slot] = list_of_[newer];
    ++size_[list_of(newer)];
  }

  void erase(Slot slot) {
    assert(!empty(list_of(slot)));
    --size_[list_of(slot)];
    unlink(slot);
  }

  Slot pop_back(List list = 0) {
    assert(!empty(list));
    const Slot slot = back(list);
    erase(slot);
    return slot;
  }

  // Move the slot to the front of any list.
  void move_to_front(List list, Slot slot) {
    erase(slot);
    push_front(list, slot);
  }
  void move_to_front(Slot slot)
    requires(kLists == 1)
  {
    unlink(slot);
    link(root(0), slot);
  }

  // Prefetch for a later call with this slot.
  void prefetch(Slot slot) const {
    prefetch_line(&node(slot));
    if constexpr (kLists > 1) prefetch_line(&list_of_[slot]);
  }

  auto state() { return std::tie(nodes_, list_of_, size_); }
  std::size_t bytes() const { return nodes_.size() * sizeof(Node) + list_of_.size(); }

  // Walk all lists and check that the links of both directions, sizes and tags agree.
  absl::Status check() const {
    for (List list = 0; list < kLists; ++list) {
      Count walked = 0;
      std::uint32_t at = root(list);
      do {
        const std::uint32_t next = nodes_[at].older;
        if (next >= nodes_.size() || nodes_[next].newer != at) {
          return internal_error("list {}: the links at its element {} disagree", list, walked);
        }
        at = next;
        if (at == root(list)) break;
        if (at < kLists || list_of(slot_at(at)) != list || ++walked > size_[list]) {
          return internal_error("list {}: runs into another after {} elements", list, walked);
        }
      } while (true);
      if (walked != size_[list]) {
        return internal_error("list {}: has {} elements, not {}", list, walked, size_[list]);
      }
    }
    return absl::OkStatus();
  }

 private:
  // Links are indices into nodes_. The roots of the lists come first and close the ring, between
  // the oldest and the newest.
  struct Node {
    std::uint32_t newer;
    std::uint32_t older;
  };

  static constexpr std::size_t tags(std::size_t slots) { return kLists > 1 ? slots : 0; }
  static constexpr std::uint32_t root(List list) { return static_cast<std::uint32_t>(list); }
  static Slot slot_at(std::uint32_t index) {
    return index < kLists ? kNoSlot : index - static_cast<std::uint32_t>(kLists);
  }
  Node& node(Slot slot) { return nodes_[slot + kLists]; }
  const Node& node(Slot slot) const { return nodes_[slot + kLists]; }

  // Insert the slot on the older side of `newer`.
  void link(std::uint32_t newer, Slot slot) {
    assert(slot < slots());
    const auto index = static_cast<std::uint32_t>(slot + kLists);
    const std::uint32_t older = nodes_[newer].older;
    nodes_[index] = {.newer = newer, .older = older};
    nodes_[newer].older = index;
    nodes_[older].newer = index;
  }

  void unlink(Slot slot) {
    const auto [newer, older] = node(slot);
    nodes_[newer].older = older;
    nodes_[older].newer = newer;
  }

  Pages<Node> nodes_;
  Pages<std::uint8_t> list_of_;
  std::array<Count, kLists> size_{};
};

}  // namespace mcsim
