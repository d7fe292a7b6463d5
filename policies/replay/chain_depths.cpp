#include "policies/replay/chain_depths.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/base/guarded.hpp"

namespace mcsim {
namespace {

constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

// A Fenwick tree: the number of blocks by the request that touched them last.
class LastTouches {
 public:
  explicit LastTouches(std::size_t requests) : sums_(requests + 1) {}

  void add(std::size_t request, std::int32_t blocks) {
    for (std::size_t i = request + 1; i < sums_.size(); i += i & (~i + 1)) sums_[i] += blocks;
    total_ += blocks;
  }
  // The blocks that later requests touched last.
  std::int32_t after(std::size_t request) const {
    std::int32_t sum = total_;
    for (std::size_t i = request + 1; i > 0; i &= i - 1) sum -= sums_[i];
    return sum;
  }

 private:
  std::vector<std::int32_t> sums_;
  std::int32_t total_ = 0;
};

class ChainStack {
 public:
  explicit ChainStack(const Chains& chains)
      : chains_(chains),
        last_(chains.unique, kNever),
        first_left_(chains.size()),
        touches_(chains.size()),
        never_(static_cast<std::uint32_t>(chains.unique)) {}

  // Look up and touch the blocks of the next request; `depths` are in the order of touching.
  absl::Status access(std::uint32_t request, std::span<std::uint32_t> depths) {
    const std::span<const BlockId> chain = chains_.chain(request);
    std::size_t at = 0;
    while (at < chain.size()) {
      const std::uint32_t last = last_[chain[at]];
      if (last == request) return invalid_argument("request {}: has a block twice", request + 1);
      const std::size_t begin = at;
      for (; at < chain.size() && last_[chain[at]] == last; ++at) last_[chain[at]] = request;
      const std::span<std::uint32_t> of_run = depths.subspan(chain.size() - at, at - begin);
      if (last == kNever) {
        std::ranges::fill(of_run, never_);
        continue;
      }
      if (first_left_[last] != begin || chains_.chain(last)[begin] != chain[begin]) {
        return invalid_argument("request {}: has a block that follows different blocks",
                                request + 1);
      }
      first_left_[last] = static_cast<std::uint32_t>(at);
      touches_.add(last, -static_cast<std::int32_t>(at - begin));
      // Blocks of earlier runs of this request were above, and are not in the tree.
      auto depth =
          static_cast<std::uint32_t>(touches_.after(last)) + static_cast<std::uint32_t>(at);
      for (std::uint32_t& of_block : of_run) of_block = --depth;
    }
    touches_.add(request, static_cast<std::int32_t>(chain.size()));
    return absl::OkStatus();
  }

 private:
  const Chains& chains_;
  std::vector<std::uint32_t> last_;        // the request that touched each block last
  std::vector<std::uint32_t> first_left_;  // blocks of each request that later ones have touched
  LastTouches touches_;
  std::uint32_t never_;
};

}  // namespace

absl::Status chain_depths(const Chains& chains, std::span<std::uint32_t> depths) {
  return guarded("depths of chains", [&]() -> absl::Status {
    ChainStack stack(chains);
    for (std::size_t i = 0; i < chains.size(); ++i) {
      const auto begin = static_cast<std::size_t>(chains.starts[i]);
      MCSIM_RETURN_IF_ERROR(stack.access(static_cast<std::uint32_t>(i),
                                         depths.subspan(begin, chains.chain(i).size())));
    }
    return absl::OkStatus();
  });
}

}  // namespace mcsim
