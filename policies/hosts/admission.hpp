#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/params.hpp"
#include "core/base/random.hpp"
#include "core/base/share.hpp"
#include "core/containers/block_queue.hpp"
#include "core/containers/bloom_filter.hpp"
#include "core/containers/count_min_sketch.hpp"
#include "core/engine/tiers/admission.hpp"

// What may come into a tier: filters that spare a device its writes, or keep what is
// asked for once from pushing out what is asked for often.
namespace mcsim {

// Everything may come in.
class AdmitAll final : public AdmissionFilter {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "none", .summary = "Admits every block.", .reference = "what caches do by default"};

  AdmitAll(Params, AdmissionSetup) {}
  bool admits(const Candidate&) override { return true; }
};

// A block comes in the n-th time that it asks to. What was refused is never forgotten:
// a byte a block of the trace.
class NthAccess final : public AdmissionFilter {
 public:
  struct Params {
    Count n = 2;
    static constexpr auto fields() {
      return std::tuple{Field{"n", &Params::n, "times that a block has to ask", 1, 255}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "nth",
      .summary = "Admits a block the n-th time that it asks, and every time after it.",
      .reference =
          "Huang et al.: Improving flash-based disk cache with lazy adaptive replacement, "
          "MSST 2013, whose lazy admission is n = 2"};

  NthAccess(Params params, AdmissionSetup setup)
      : times_(setup.blocks, 0), n_(static_cast<std::uint8_t>(params.n)) {}

  bool admits(const Candidate& candidate) override {
    std::uint8_t& times = times_[candidate.block];
    if (times < n_) ++times;
    return times == n_;
  }

 private:
  std::vector<std::uint8_t> times_;
  std::uint8_t n_;
};

enum class StageMode : std::uint8_t {
  kAddress,  // where the block is
  kData,     // and what it has
};

template <>
struct Choices<StageMode> {
  static constexpr std::array names{std::pair{"address", StageMode::kAddress},
                                    std::pair{"data", StageMode::kData}};
};

// A block comes in the n-th time that it asks while it is staged: its address is in a list of
// those that asked last, from which the one that has not asked for longest makes room for the
// next. Its data may be there, too, in memory, until it is dropped: that changes nothing of what
// comes in. Five bytes a block of the trace, and eight a staged one; for data a bit a block more.
class Staged final : public AdmissionFilter {
 public:
  struct Params {
    Count n = 2;
    double space = 1;
    StageMode mode = StageMode::kAddress;
    Count read_ns = 30;
    static constexpr auto fields() {
      return std::tuple{
          Field{"n", &Params::n, "times that a block has to ask", 1, 255},
          Field{"space", &Params::space,
                "blocks staged, by the tier's capacity; 0: nothing is admitted unless it is the "
                "first time",
                0, 1e6},
          Field{"mode", &Params::mode,
                "whether a staged block is an address, or in memory with its data, from where it "
                "is read until it is admitted"},
          Field{"read_ns", &Params::read_ns,
                "that such a read takes; as many as of dram if not given; the source is silent", 0,
                1e9}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "staged",
      .summary = "Admits a block the n-th time that it asks while its address is staged.",
      .reference =
          "Arteaga, Cabrera, Xu, Sundararaman, Zhao: CloudCache: On-demand flash cache management "
          "for cloud computing, FAST 2016"};

  Staged(Params params, AdmissionSetup setup)
      : staged_(setup.blocks),
        times_(setup.blocks, 0),
        has_data_(params.mode == StageMode::kData ? setup.blocks : 0),
        mode_(params.mode),
        read_ns_(params.read_ns),
        n_(static_cast<std::uint8_t>(params.n)),
        space_(floor_share(params.space, setup.capacity)) {}

  bool admits(const Candidate& candidate) override {
    std::uint8_t& times = times_[candidate.block];
    if (times > 0) staged_.erase(candidate.block);
    if (++times == n_) {
      times = 0;
      drop_data(candidate.block);
      return true;
    }
    staged_.push(candidate.block);
    if (mode_ == StageMode::kData) has_data_[candidate.block] = true;
    if (staged_.size() > space_) {
      const BlockId longest = staged_.front();
      staged_.erase(longest);
      times_[longest] = 0;
      drop_data(longest);
    }
    return false;
  }
  std::optional<Count> staged_ns() const override {
    return mode_ == StageMode::kData ? std::optional(read_ns_) : std::nullopt;
  }
  bool has_data(BlockId block) const override {
    return mode_ == StageMode::kData && has_data_[block];
  }
  void drop_data(BlockId block) override {
    if (mode_ == StageMode::kData) has_data_[block] = false;
  }

 private:
  BlockQueue staged_;
  std::vector<std::uint8_t> times_;  // by block, that a staged one asked
  std::vector<bool> has_data_;       // by block; empty if only addresses are staged
  StageMode mode_;
  Count read_ns_;
  std::uint8_t n_;
  Count space_;
};

// Each time that a block asks, it comes in with a probability.
class WithProbability final : public AdmissionFilter {
 public:
  struct Params {
    double p = 0.5;
    static constexpr auto fields() {
      return std::tuple{Field{"p", &Params::p, "probability to be admitted", 0, 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "probability",
      .summary = "Admits a block with a probability, whatever it is.",
      .reference =
          "Berg et al.: The CacheLib caching engine: design and experiences at scale, OSDI 2020"};

  WithProbability(Params params, AdmissionSetup setup)
      : random_(Random(setup.seed).split(kInfo.name)), p_(params.p) {}

  bool admits(const Candidate&) override { return random_.uniform() < p_; }

 private:
  Random random_;
  double p_;
};

// A block comes in if it asked before, not too long ago: as the second access, in bounded
// memory. Two Bloom filters take turns; when the newer one has `window` blocks, the older
// one is emptied and becomes the newer.
class SeenBefore final : public AdmissionFilter {
 public:
  struct Params {
    Count window = 0;
    static constexpr auto fields() {
      return std::tuple{
          Field{"window", &Params::window,
                "blocks remembered, and at most as many again (0: the tier's capacity)", 0}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "bloom",
      .summary = "Admits a block that asked before, of which Bloom filters remember the last.",
      .reference =
          "Maggs, Sitaraman: Algorithmic nuggets in content delivery, SIGCOMM CCR 45(3), 2015"};

  SeenBefore(Params params, AdmissionSetup setup)
      : window_(params.window > 0 ? params.window : std::max<Count>(1, setup.capacity)),
        newer_(static_cast<std::size_t>(window_)),
        older_(static_cast<std::size_t>(window_)) {}

  bool admits(const Candidate& candidate) override {
    const bool before = older_.contains(candidate.block);
    if (newer_.insert(candidate.block)) return true;
    if (++inserted_ == window_) {
      std::swap(newer_, older_);
      newer_.clear();
      inserted_ = 0;
    }
    return before;
  }

 private:
  Count window_;
  BloomFilter newer_;
  BloomFilter older_;
  Count inserted_ = 0;
};

// Blocks of small requests come in; long ones, which disks are good at, pass by.
class SmallRequests final : public AdmissionFilter {
 public:
  struct Params {
    Count most = 16;
    static constexpr auto fields() {
      return std::tuple{
          Field{"most", &Params::most, "blocks of the longest request that is admitted", 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "size",
      .summary = "Admits the blocks of requests that are not too long.",
      .reference = "the sequential cut-off of bcache (Linux kernel documentation)"};

  SmallRequests(Params params, AdmissionSetup) : most_(params.most) {}

  bool admits(const Candidate& candidate) override { return candidate.request_blocks <= most_; }

 private:
  Count most_;
};

// A block comes in if it was accessed more often, of late, than the last victim: policies
// need not know their next victim, so the last one stands for it. Counts are those of a
// sketch that is halved every `sample` accesses for each block of the tier.
class TinyLfuFilter final : public AdmissionFilter {
 public:
  struct Params {
    double sample = 10;
    static constexpr auto fields() {
      return std::tuple{
          Field{"sample", &Params::sample, "accesses between halvings, by the tier's capacity", 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "tinylfu",
      .summary = "Admits a block that was accessed more often than the last victim was.",
      .reference =
          "Einziger, Friedman, Manes: TinyLFU: a highly efficient cache admission policy, "
          "ACM Transactions on Storage 13(4), 2017"};

  TinyLfuFilter(Params params, AdmissionSetup setup)
      : sketch_(static_cast<std::size_t>(std::max<Count>(1, setup.capacity)) * 8),
        sample_(
            static_cast<double>(ceil_share(params.sample, std::max<Count>(1, setup.capacity)))) {}

  void record(BlockId block) override {
    sketch_.add(block);
    if (++recorded_ < sample_) return;
    sketch_.halve();
    recorded_ /= 2;
  }
  void evicted(BlockId block) override {
    last_victim_ = block;
    has_victim_ = true;
  }
  bool admits(const Candidate& candidate) override {
    if (!candidate.full || !has_victim_) return true;
    return sketch_.estimate(candidate.block) > sketch_.estimate(last_victim_);
  }

 private:
  CountMinSketch sketch_;
  double sample_;
  double recorded_ = 0;
  BlockId last_victim_ = 0;
  bool has_victim_ = false;
};

}  // namespace mcsim
