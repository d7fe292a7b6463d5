#include "policies/replay/chain_trie.hpp"

#include "core/base/pages.hpp"
#include "core/containers/slot_heap.hpp"

namespace mcsim {
namespace {

// Blocks without a cached successor are leaves; `leaves_` has those that may be evicted.
class ChainTrie {
 public:
  ChainTrie(std::size_t blocks, LeafRule rule, Count capacity)
      : nodes_(blocks), leaves_(blocks), rule_(rule), capacity_(capacity) {}

  // The number of leading blocks that are cached.
  std::uint32_t cached_prefix(std::span<const BlockId> chain) const {
    std::uint32_t count = 0;
    while (count < chain.size() && nodes_[chain[count]].is_cached) ++count;
    return count;
  }

  // Use and pin the first `cached` blocks, and insert others while there is space. Return the
  // number of leading blocks that are cached then; they stay pinned until release().
  std::uint32_t acquire(std::span<const BlockId> chain, std::uint32_t cached) {
    ++now_;
    if (cached > 0 && is_leaf(chain[cached - 1])) leaves_.erase(chain[cached - 1]);
    for (const BlockId block : chain.first(cached)) use(block);
    while (cached < chain.size() && ensure_space()) {
      insert(chain[cached], cached == 0 ? kNoBlock : chain[cached - 1]);
      ++cached;
    }
    return cached;
  }

  // Release the cached blocks of a request.
  void release(std::span<const BlockId> cached) {
    for (const BlockId block : cached) --nodes_[block].pins;
    if (!cached.empty()) add_leaf(cached.back());
  }

  // Use blocks that are pinned.
  void use_again(std::span<const BlockId> cached) {
    ++now_;
    for (const BlockId block : cached) touch(nodes_[block]);
  }

 private:
  struct Node {
    std::uint64_t key = 0;  // the leaf with the least key is evicted
    BlockId parent = kNoBlock;
    std::uint32_t children = 0;
    std::uint32_t pins = 0;
    bool is_cached = false;
  };
  static constexpr unsigned kFrequencyAt = 32;  // bits of a key, above those of the last use

  bool is_leaf(BlockId block) const {
    const Node& node = nodes_[block];
    return node.is_cached && node.children == 0 && node.pins == 0;
  }
  void add_leaf(BlockId block) {
    if (is_leaf(block)) leaves_.push(block, nodes_[block].key);
  }

  void use(BlockId block) {
    Node& node = nodes_[block];
    ++node.pins;
    if (rule_ == LeafRule::kLfu) node.key += std::uint64_t{1} << kFrequencyAt;
    touch(node);
  }
  // Renew the time of the last use.
  void touch(Node& node) const {
    if (rule_ == LeafRule::kLru) node.key = now_;
    if (rule_ == LeafRule::kLfu) node.key = (node.key >> kFrequencyAt << kFrequencyAt) | now_;
  }

  void insert(BlockId block, BlockId parent) {
    const std::uint64_t frequency = rule_ == LeafRule::kLfu ? 1 : 0;
    nodes_[block] = {
        .key = frequency << kFrequencyAt | now_, .parent = parent, .pins = 1, .is_cached = true};
    if (parent != kNoBlock) ++nodes_[parent].children;
    ++size_;
  }

  // Evict a leaf if the cache is full; return whether there is space.
  bool ensure_space() {
    if (size_ < capacity_) return true;
    if (leaves_.empty()) return false;
    const BlockId victim{leaves_.pop()};
    nodes_[victim].is_cached = false;
    --size_;
    const BlockId parent = nodes_[victim].parent;
    if (parent != kNoBlock) {
      --nodes_[parent].children;
      add_leaf(parent);
    }
    return true;
  }

  Pages<Node> nodes_;
  SlotHeap<std::uint64_t> leaves_;
  LeafRule rule_;
  Count capacity_;
  Count size_ = 0;
  std::uint32_t now_ = 0;  // counts arrivals and finishes
};

}  // namespace

absl::Status check_finishes(const Finishes& finishes, std::size_t requests) {
  if (finishes.order.size() != requests || finishes.before.size() != requests) {
    return invalid_argument("finishes: expected {} of them", requests);
  }
  std::vector<bool> finished(requests);
  std::size_t next = 0;
  for (std::size_t i = 0; i < requests; ++i) {
    if (finishes.before[i] > requests) return invalid_argument("finishes: too many before {}", i);
    for (; next < finishes.before[i]; ++next) {
      const std::size_t request = finishes.order[next];
      if (request >= i || finished[request]) {
        return invalid_argument("finishes: request {} does not run before {}", request, i);
      }
      finished[request] = true;
    }
  }
  return absl::OkStatus();
}

std::vector<std::uint32_t> replay_trie(const Chains& chains, LeafRule rule, Count capacity,
                                       const Finishes& finishes) {
  ChainTrie trie(chains.unique, rule, capacity);
  const bool pins = !finishes.order.empty();
  std::vector<std::uint32_t> hits(chains.size());
  std::vector<std::uint32_t> cached(pins ? chains.size() : 0);
  std::size_t finished = 0;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    for (; pins && finished < finishes.before[i]; ++finished) {
      const std::size_t request = finishes.order[finished];
      const auto pinned = chains.chain(request).first(cached[request]);
      trie.use_again(pinned);
      trie.release(pinned);
    }
    const std::span<const BlockId> chain = chains.chain(i);
    hits[i] = trie.cached_prefix(chain);
    const std::uint32_t acquired = trie.acquire(chain, hits[i]);
    if (pins) {
      cached[i] = acquired;
    } else {
      trie.release(chain.first(acquired));
    }
  }
  return hits;
}

}  // namespace mcsim
