#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/base/random.hpp"
#include "core/containers/slot_set.hpp"
#include "core/engine/policy/export_policies.hpp"

namespace {

using namespace mcsim;

// Evicts the least recently used of a few blocks drawn at random with replacement. It needs no
// list, and a sample of two is much better than one.
//
// O(1) a hit, O(sample) a miss; 16 bytes a block of the capacity.
class SampledLru {
 public:
  struct Params {
    int sample = 2;
    static constexpr auto fields() {
      return std::tuple{Field{"sample", &Params::sample, "blocks drawn for a victim", 1, 1024}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "drawn-lru",
      .summary = "Evicts the least recently used of a few blocks drawn at random.",
      .reference =
          "Psounis, Prabhakar: Efficient randomized web-cache replacement schemes using samples "
          "from past eviction times, IEEE/ACM Transactions on Networking 10(4), 2002"};

  SampledLru(const Params& params, const PolicySetup& setup)
      : sample_(params.sample),
        held_(setup.slots_for(setup.capacity)),
        last_access_(held_.slots()),
        random_(Random(setup.seed).split(kInfo.name)),
        capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    ++now_;
    Slot slot = cache.find(a.block);
    const bool hit = slot != kNoSlot;
    if (!hit && size() == capacity_) {
      slot = victim();
      cache.replace(slot, a.block);
    } else if (!hit) {
      slot = cache.insert(a.block);
      held_.insert(slot);
    }
    last_access_[slot] = now_;
    return hit;
  }

  void remove(Slot slot, auto& cache) {
    held_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) {
      const Slot slot = victim();
      held_.erase(slot);
      cache.evict(slot);
    }
    held_.reserve(cache.slots_for(capacity_));
    if (held_.slots() > last_access_.size()) last_access_.extend(held_.slots());
  }

  bool resident(Slot) const { return true; }
  Count size() const { return held_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return held_.slots(); }
  void prefetch(Slot slot) const { __builtin_prefetch(&last_access_[slot], 1); }
  absl::Status check() const { return held_.check(); }
  std::size_t bytes() const { return held_.bytes() + last_access_.size() * sizeof(std::uint64_t); }

 private:
  Slot draw() { return held_[random_.below(static_cast<std::uint64_t>(size()))]; }

  Slot victim() {
    Slot oldest = draw();
    for (int i = 1; i < sample_; ++i) {
      const Slot other = draw();
      if (last_access_[other] < last_access_[oldest]) oldest = other;
    }
    return oldest;
  }

  int sample_;
  SlotSet held_;
  Pages<std::uint64_t> last_access_;
  Random random_;
  std::uint64_t now_ = 0;
  Count capacity_;
};

}  // namespace

MCSIM_EXPORT_POLICIES(SampledLru);
