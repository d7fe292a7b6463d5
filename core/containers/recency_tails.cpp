#include "core/containers/recency_tails.hpp"

#include <algorithm>

namespace mcsim {

RecencyTails::RecencyTails(std::size_t universe, std::size_t owners, Count length)
    : length_(length), place_(universe), links_(universe + owners) {
  for (std::size_t i = 0; i < owners; ++i) {
    const auto root = static_cast<BlockId>(universe + i);
    links_[root] = {.newer = root, .older = root};
    owners_.push_back({.hand = root});
  }
}

bool RecencyTails::use(std::size_t owner, BlockId block) {
  Owner& of = owners_[owner];
  const auto root = static_cast<BlockId>(place_.size() + owner);
  const bool was_in_tail = place_[block] == kTail;
  if (place_[block] != kNowhere) unlink(of, block);
  const BlockId newest = links_[root].older;
  links_[block] = {.newer = root, .older = newest};
  links_[newest].newer = links_[root].older = block;
  place_[block] = kBeforeTail;
  ++of.blocks;
  settle(of);
  return was_in_tail;
}

void RecencyTails::remove(std::size_t owner, BlockId block) {
  if (place_[block] == kNowhere) return;
  Owner& of = owners_[owner];
  unlink(of, block);
  place_[block] = kNowhere;
  settle(of);
}

void RecencyTails::unlink(Owner& owner, BlockId block) {
  const auto [newer, older] = links_[block];
  if (owner.hand == block) owner.hand = older;
  links_[older].newer = newer;
  links_[newer].older = older;
  owner.in_tail -= place_[block] == kTail ? 1 : 0;
  --owner.blocks;
}

void RecencyTails::settle(Owner& owner) {
  if (owner.in_tail == std::min(length_, owner.blocks)) return;
  owner.hand = links_[owner.hand].newer;
  place_[owner.hand] = kTail;
  ++owner.in_tail;
}

}  // namespace mcsim
