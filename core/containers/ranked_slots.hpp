#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mcsim {

// A set of slots that starts full and only loses members, with a query for the number of members up
// to a slot. Each level stores, for every part, the number of members before it within its parent.
// A query reads one number a level and counts the bits of one word. A removal decrements the
// numbers after it, a fixed range of each level, which compiles to vector code. No branches that
// depend on data; no allocation after the constructor. 1.4 bits a slot.
class RankedSlots {
 public:
  // At least `size` slots.
  explicit RankedSlots(std::size_t size)
      : supers_((size + kSuperSlots - 1) / kSuperSlots),
        groups_(supers_.size()),
        words_(supers_.size() * kGroups),
        bits_(words_.size()) {
    fill();
  }

  std::size_t size() const { return supers_.size() * kSuperSlots; }
  std::size_t bytes() const {
    return supers_.size() * (sizeof(std::uint32_t) + sizeof(groups_[0])) +
           words_.size() * (sizeof words_[0] + sizeof bits_[0]);
  }

  // Make every slot a member.
  void fill() {
    for (std::size_t s = 0; s < supers_.size(); ++s) {
      supers_[s] = static_cast<std::uint32_t>(s * kSuperSlots);
      for (std::size_t g = 0; g < kGroups; ++g) {
        groups_[s][g] = static_cast<std::uint16_t>(g * kGroupSlots);
      }
    }
    for (auto& words : words_) {
      for (std::size_t w = 0; w < kWords; ++w) words[w] = static_cast<std::uint16_t>(w * kWordBits);
    }
    for (auto& bits : bits_) bits.fill(~std::uint64_t{0});
  }

  // The number of members in [0, slot].
  std::uint32_t rank(std::size_t slot) const {
    const std::size_t group = slot / kGroupSlots;
    const std::size_t word = slot / kWordBits % kWords;
    const std::uint64_t upto = bits_[group][word] << (kWordBits - 1 - slot % kWordBits);
    return supers_[slot / kSuperSlots] + groups_[slot / kSuperSlots][group % kGroups] +
           words_[group][word] + static_cast<std::uint32_t>(std::popcount(upto));
  }

  // Remove `slot`, which must be a member.
  void clear(std::size_t slot) {
    const std::size_t super = slot / kSuperSlots;
    const std::size_t group = slot / kGroupSlots;
    const std::size_t word = slot / kWordBits % kWords;
    assert((bits_[group][word] >> slot % kWordBits & 1) != 0);
    bits_[group][word] &= ~(std::uint64_t{1} << (slot % kWordBits));
    lower_after(words_[group], word);
    lower_after(groups_[super], group % kGroups);
    for (std::size_t s = super + 1; s < supers_.size(); ++s) --supers_[s];
  }

 private:
  static constexpr std::size_t kWordBits = 64;
  static constexpr std::size_t kWords = 8;    // in a group
  static constexpr std::size_t kGroups = 64;  // in a super-group
  static constexpr std::size_t kGroupSlots = kWords * kWordBits;
  static constexpr std::size_t kSuperSlots = kGroups * kGroupSlots;  // counts fit 16 bits

  template <std::size_t kParts>
  static void lower_after(std::array<std::uint16_t, kParts>& before, std::size_t part) {
    for (std::size_t i = 0; i < kParts; ++i) {
      before[i] = static_cast<std::uint16_t>(before[i] - (i > part ? 1 : 0));
    }
  }

  std::vector<std::uint32_t> supers_;
  std::vector<std::array<std::uint16_t, kGroups>> groups_;
  std::vector<std::array<std::uint16_t, kWords>> words_;
  std::vector<std::array<std::uint64_t, kWords>> bits_;
};

}  // namespace mcsim
