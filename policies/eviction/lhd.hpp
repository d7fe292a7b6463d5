#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/random.hpp"
#include "core/containers/slot_set.hpp"
#include "core/containers/weighed_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// The distributions of LHD: hits and evictions by class and age, and the hit densities that follow
// from them. A class is about the logarithm of the sum of a block's last two ages at hits.
class HitDensities {
 public:
  static constexpr std::size_t kClasses = 16;

  explicit HitDensities(std::size_t ages)
      : ages_(ages),
        hits_(kClasses * ages),
        evictions_(kClasses * ages),
        densities_(kClasses * ages) {
    for (std::size_t of = 0; of < kClasses; ++of) {
      for (std::size_t age = 0; age < ages; ++age) {
        const auto first = static_cast<float>(kClasses + of + 1);
        densities_[at(of, age)] = first / static_cast<float>(age + 1);
      }
    }
  }

  std::size_t ages() const { return ages_; }
  std::size_t age(std::uint64_t accesses) const {
    return std::min<std::uint64_t>(accesses >> shift_, ages_ - 1);
  }
  std::size_t class_of(std::size_t age_sum) const {
    if (age_sum == 0) return kClasses - 1;
    std::size_t log = 0;
    for (; age_sum < ages_ && log < kClasses - 1; ++log) age_sum *= 2;
    return log;
  }
  void count_hit(std::size_t of, std::size_t age) { hits_[at(of, age)] += 1; }
  void count_eviction(std::size_t of, std::size_t age) { evictions_[at(of, age)] += 1; }

  // Blocks of the highest age are the first to be evicted.
  float density(std::size_t of, std::size_t age) const {
    if (age == ages_ - 1) return std::numeric_limits<float>::lowest();
    return densities_[at(of, age)];
  }

  // Compute the densities, after `update` earlier calls, for a cache of `blocks`.
  void update(Count update, Count blocks) {
    for (std::size_t i = 0; i < kClasses * ages_; ++i) {
      hits_[i] *= kDecay;
      evictions_[i] *= kDecay;
    }
    blocks_ = blocks_ * kDecay + static_cast<float>(blocks);
    weight_ = weight_ * kDecay + 1;
    if (update == 5 || update == 25) {
      coarsen();
      blocks_ *= 8;
      weight_ *= 8;
    }
    for (std::size_t of = 0; of < kClasses; ++of) compute(of);
  }

  std::size_t bytes() const { return 3 * kClasses * ages_ * sizeof(float); }
  auto state() { return std::tie(hits_, evictions_, densities_, blocks_, weight_, shift_); }

 private:
  static constexpr float kDecay = 0.9F;
  static constexpr float kAgesPerBlock = 0.01F;

  std::size_t at(std::size_t of, std::size_t age) const { return of * ages_ + age; }

  // The density is that of hits at this age and later, over the sum of the times until them.
  void compute(std::size_t of) {
    const std::size_t last = at(of, ages_ - 1);
    float events = hits_[last] + evictions_[last];
    float hits = hits_[last];
    float lifetime = events;
    for (std::size_t age = ages_ - 1; age-- > 0;) {
      const std::size_t i = at(of, age);
      hits += hits_[i];
      events += hits_[i] + evictions_[i];
      lifetime += events;
      densities_[i] = events > 1e-5F ? hits / lifetime : 0;
    }
  }

  // Adapt the number of accesses in a step of the age to the number of blocks.
  void coarsen() {
    const float wanted = blocks_ / weight_ / (kAgesPerBlock * static_cast<float>(ages_));
    unsigned shift = 1;
    while (static_cast<float>(std::uint64_t{1} << shift) < wanted) ++shift;
    for (std::size_t of = 0; of < kClasses; ++of) {
      for (Pages<float>* counts : {&hits_, &evictions_}) {
        if (shift < shift_) stretch(&(*counts)[at(of, 0)], shift_ - shift);
        if (shift > shift_) compress(&(*counts)[at(of, 0)], shift - shift_);
      }
    }
    shift_ = shift;
  }
  void stretch(float* counts, unsigned by) const {
    for (std::size_t age = ages_ >> by; age < ages_ - 1; ++age) counts[ages_ - 1] += counts[age];
    for (std::size_t age = ages_ - 1; age-- > 0;) {
      counts[age] = counts[age >> by] / static_cast<float>(1U << by);
    }
  }
  void compress(float* counts, unsigned by) const {
    const std::size_t kept = ages_ >> by;
    for (std::size_t age = 0; age < kept; ++age) {
      float sum = counts[age << by];
      for (std::size_t i = 1; i < std::size_t{1} << by; ++i) sum += counts[(age << by) + i];
      counts[age] = sum;
    }
    std::fill(counts + kept, counts + ages_ - 1, 0.0F);
  }

  std::size_t ages_;
  Pages<float> hits_;
  Pages<float> evictions_;
  Pages<float> densities_;
  float blocks_ = 0;  // decaying sum, and its weight
  float weight_ = 0;
  std::uint32_t shift_ = 10;
};

// LHD, least hit density: evicts the block of a sample with the fewest expected hits per time until
// its next hit or its eviction. Expectations are by age and class, from hits and evictions counted
// before. New blocks of low density join the next samples. Until the 50th update of expectations,
// samples are small, and a few blocks, the explorers, are kept whatever their density is.
//
// For objects of different sizes, the density is also divided by the size, and the explorers are
// limited by their bytes. By default expectations are then updated every 1048576 accesses.
//
// O(1) per hit, O(samples) per miss; 24 bytes per block of the capacity, and 192 bytes per age.
class Lhd : public SlotPolicyBase<SlotSet> {
 public:
  struct Params {
    Count samples = 32;
    Count admissions = 8;
    Count ages = 20'000;
    Count period = 0;

    static constexpr auto fields() {
      return std::tuple{
          Field{"samples", &Params::samples, "number of blocks drawn for each victim", 1, 65536},
          Field{"admissions", &Params::admissions,
                "number of new blocks of low density that join each sample", 0, kMostAdmissions},
          Field{"ages", &Params::ages, "number of ages that are told apart", 16, 1e6},
          Field{"period", &Params::period,
                "accesses between two updates of the expectations; 0: 4 for each block of the "
                "capacity, from 2 for each age up to 1048576",
                0}};
    }
  };
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "lhd",
      .summary = "Evicts the block with the least expected hits per time, among a random sample.",
      .reference =
          "Beckmann, Chen, Cidon: LHD: Improving cache hit rate by maximizing hit density, NSDI "
          "2018; libCacheSim, lhd.cpp"};

  Lhd(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup),
        params_(params),
        blocks_of_(slots()),
        densities_(static_cast<std::size_t>(params.ages)),
        random_(Random(setup.seed).split(kInfo.name)),
        period_(period_of(setup.capacity)),
        to_explore_(floor_share(kExplored, setup.capacity)) {
    admitted_.fill(kNoSlot);
  }

  bool access(const auto& a, auto& cache) {
    Slot slot = cache.find(a.block);
    const bool hit = slot != kNoSlot;
    if (hit) {
      count_hit(slot, cache);
    } else {
      make_room(cache, [&] { return cache.is_full(*this); }, [&] { evict(cache); });
      slot = cache.insert(a.block);
      blocks_.insert(slot);
      blocks_of_[slot] = {.time = 0, .age = 0, .group = 0};  // class 0: its ages are the longest
    }
    start_lifetime(slot, !hit, cache);
    ++now_;
    if (now_ % period(cache) == 0) {
      densities_.update(updates_, size());
      ++updates_;
    }
    return hit;
  }

  void remove(Slot slot, auto& cache) {
    leave(slot, cache);
    cache.forget(slot);
  }
  void reweigh(Slot slot, Count more) {
    if (blocks_of_[slot].group >= kExplorer) to_explore_ -= more;
  }

  void resize(Count capacity, auto& cache) {
    to_explore_ += floor_share(kExplored, capacity) - floor_share(kExplored, capacity_);
    capacity_ = capacity;
    period_ = period_of(capacity);
    while (size() > capacity_) evict(cache);
    blocks_.reserve(cache.slots_for(capacity_));
    blocks_of_.extend(blocks_.slots());
  }

  void prefetch(Slot slot) const { prefetch_line(&blocks_of_[slot]); }
  std::size_t bytes() const {
    return blocks_.bytes() + blocks_of_.size() * sizeof(Block) + densities_.bytes();
  }
  auto state() {
    return std::tie(blocks_, blocks_of_, densities_, random_, admitted_, next_admitted_, now_,
                    updates_, to_explore_, victims_density_);
  }

 private:
  static constexpr std::size_t kMostAdmissions = 64;
  static constexpr std::size_t kDrawnTogether = 32;
  static constexpr std::uint32_t kExplorer = 1U << 8;
  static constexpr double kExplored = 0.01;
  static constexpr std::uint64_t kExploreOneIn = 32;
  static constexpr Count kYoungUpdates = 50;
  static constexpr Count kYoungSamples = 8;
  static constexpr float kDecay = 0.9F;
  static constexpr Count kAccessesPerBlock = 4;
  static constexpr Count kAccessesPerAge = 2;       // an update takes time for each age
  static constexpr Count kLongestPeriod = 1 << 20;  // that of the authors

  struct Block {
    std::uint64_t time;   // of the last access
    std::uint32_t age;    // at the last hit
    std::uint32_t group;  // class, and whether it is an explorer
  };

  std::uint64_t period_of(Count capacity) const {
    if (params_.period > 0) return static_cast<std::uint64_t>(params_.period);
    const Count least = std::min(kAccessesPerAge * params_.ages, kLongestPeriod);
    const Count wanted = kAccessesPerBlock * std::min(capacity, kLongestPeriod);
    return static_cast<std::uint64_t>(std::clamp(wanted, least, kLongestPeriod));
  }
  // A capacity in bytes does not state how many objects it holds.
  template <class View>
  std::uint64_t period(const View&) const {
    return View::kWeighs && params_.period == 0 ? kLongestPeriod : period_;
  }
  static std::size_t class_of(const Block& block) { return block.group % kExplorer; }
  std::size_t age_of(const Block& block) const { return densities_.age(now_ - block.time); }
  template <class View>
  float density(Slot slot, const View& cache) const {
    const Block& block = blocks_of_[slot];
    const std::size_t age = age_of(block);
    float own = densities_.density(class_of(block), age);
    if (age + 1 == densities_.ages()) return own;
    if constexpr (View::kWeighs) own /= static_cast<float>(cache.weight(slot));
    return block.group >= kExplorer ? own + 1 : own;
  }

  void count_hit(Slot slot, const auto& cache) {
    Block& block = blocks_of_[slot];
    const std::size_t age = age_of(block);
    densities_.count_hit(class_of(block), age);
    if (block.group >= kExplorer) to_explore_ += cache.weight(slot);
    const std::size_t next_class = densities_.class_of(block.age + age);
    block.age = static_cast<std::uint32_t>(age);
    block.group = static_cast<std::uint32_t>(next_class);
  }
  void start_lifetime(Slot slot, bool is_new, const auto& cache) {
    Block& block = blocks_of_[slot];
    block.time = now_;
    const bool explores = random_() % kExploreOneIn == 0;
    if (explores && to_explore_ > 0 && updates_ < kYoungUpdates) {
      block.group |= kExplorer;
      to_explore_ -= cache.weight(slot);
    }
    if (!is_new || explores || params_.admissions == 0) return;
    if (density(slot, cache) >= victims_density_) return;
    admitted_[next_admitted_] = slot;
    next_admitted_ = (next_admitted_ + 1) % static_cast<std::uint64_t>(params_.admissions);
  }

  std::span<Slot> admitted() {
    return std::span(admitted_).first(static_cast<std::size_t>(params_.admissions));
  }
  void leave(Slot slot, const auto& cache) {
    if (blocks_of_[slot].group >= kExplorer) to_explore_ += cache.weight(slot);
    std::ranges::replace(admitted(), slot, kNoSlot);
    blocks_.erase(slot);
  }
  void evict(auto& cache) {
    const Slot victim = find_victim(cache);
    densities_.count_eviction(class_of(blocks_of_[victim]), age_of(blocks_of_[victim]));
    leave(victim, cache);
    cache.evict(victim);
  }
  Slot find_victim(const auto& cache) {
    Slot victim = kNoSlot;
    float least = std::numeric_limits<float>::max();
    const auto offer = [&](Slot slot) {
      const float own = density(slot, cache);
      if (own >= least) return;
      victim = slot;
      least = own;
    };
    for (Count left = updates_ > kYoungUpdates ? params_.samples : kYoungSamples; left > 0;) {
      // Draw several blocks before the first one is read, so that their lines arrive together.
      std::array<Slot, kDrawnTogether> drawn;
      const auto count = std::min<std::size_t>(drawn.size(), static_cast<std::size_t>(left));
      for (std::size_t i = 0; i < count; ++i) {
        drawn[i] = blocks_[random_.below(static_cast<std::uint64_t>(size()))];
        prefetch_line(&blocks_of_[drawn[i]]);
      }
      for (std::size_t i = 0; i < count; ++i) offer(drawn[i]);
      left -= static_cast<Count>(count);
    }
    for (const Slot slot : admitted()) {
      if (slot != kNoSlot) offer(slot);
    }
    victims_density_ = kDecay * victims_density_ + (1 - kDecay) * least;
    return victim;
  }

  Params params_;
  Pages<Block> blocks_of_;
  HitDensities densities_;
  Random random_;
  std::array<Slot, kMostAdmissions> admitted_;  // new blocks of low density
  std::uint64_t next_admitted_ = 0;
  std::uint64_t period_;   // accesses between two updates of the densities
  std::uint64_t now_ = 0;  // accesses
  Count updates_ = 0;      // of the densities
  Count to_explore_;       // how many more blocks, or bytes of objects, may become explorers
  float victims_density_ = 0;
};

}  // namespace mcsim
