#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/params.hpp"
#include "core/base/random.hpp"
#include "core/base/share.hpp"
#include "core/containers/block_queue.hpp"
#include "core/containers/bloom_filter.hpp"
#include "core/containers/count_min_sketch.hpp"
#include "core/engine/tiers/admission.hpp"
#include "core/engine/tiers/block_values.hpp"

// Admission filters of a tier. They reduce the writes to a device, and keep blocks accessed once
// from evicting blocks accessed often.
namespace mcsim {

// Admits every block.
class AdmitAll final : public SavableFilter<AdmitAll> {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "none", .summary = "Admits every block.", .reference = "what caches do by default"};

  AdmitAll(Params, AdmissionSetup) {}
  bool admits(const Access<>&, bool) override { return true; }

  auto state() { return std::tie(); }
};

// Admits a block the n-th time it is offered to the tier. Refusals are never forgotten: one byte
// per block of the trace.
class NthAccess final : public SavableFilter<NthAccess> {
 public:
  struct Params {
    Count n = 2;
    static constexpr auto fields() {
      return std::tuple{Field{"n", &Params::n,
                              "number of times a block must be offered to the tier to be admitted",
                              1, 255}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "nth",
      .summary = "Admits a block the n-th time it is offered to the tier, and every time after.",
      .reference =
          "Huang et al.: Improving flash-based disk cache with lazy adaptive replacement, "
          "MSST 2013, whose lazy admission is n = 2"};

  NthAccess(Params params, AdmissionSetup setup)
      : times_(setup.blocks, 0), n_(static_cast<std::uint8_t>(params.n)) {}

  bool admits(const Access<>& a, bool) override {
    std::uint8_t& times = times_[a.block];
    if (times < n_) ++times;
    return times == n_;
  }

  auto state() { return std::tuple{BlockValues(times_)}; }

 private:
  std::vector<std::uint8_t> times_;
  std::uint8_t n_;
};

enum class StageMode : std::uint8_t {
  kAddress,  // its address
  kData,     // its address and its data
};

template <>
struct Choices<StageMode> {
  static constexpr std::array names{std::pair{"address", StageMode::kAddress},
                                    std::pair{"data", StageMode::kData}};
};

// Admits a block the n-th time it is offered to the tier while it is staged. Staged addresses are
// in a list ordered by the last offer; the oldest is dropped if the list is full. Staged data is
// read from memory until it is dropped; this does not change which blocks are admitted. Five bytes
// per block of the trace and eight per staged block; for data one bit per block more.
class Staged final : public SavableFilter<Staged> {
 public:
  struct Params {
    Count n = 2;
    double space = 1;
    StageMode mode = StageMode::kAddress;
    Count read_ns = 30;
    static constexpr auto fields() {
      return std::tuple{
          Field{"n", &Params::n,
                "number of times a block must be offered while staged to be admitted", 1, 255},
          Field{"space", &Params::space,
                "maximum number of staged blocks, as a multiple of the tier's capacity (0: only n "
                "= 1 admits blocks)",
                0, 1e6},
          Field{"mode", &Params::mode,
                "content of the staging area: addresses only, or also the data in memory, which "
                "serves reads until the block is admitted"},
          Field{"read_ns", &Params::read_ns,
                "latency of a read from staged data, in ns; the default is that of dram; not "
                "specified in the publication",
                0, 1e9}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "staged",
      .summary =
          "Admits a block the n-th time it is offered to the tier while its address is staged.",
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

  bool admits(const Access<>& a, bool) override {
    std::uint8_t& times = times_[a.block];
    if (times > 0) staged_.erase(a.block);
    if (++times == n_) {
      times = 0;
      drop_data(a.block);
      return true;
    }
    staged_.push(a.block);
    if (mode_ == StageMode::kData) has_data_[a.block] = true;
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

  auto state() {
    return std::tuple_cat(std::tie(staged_),
                          std::tuple{BlockValues(times_), BlockValues(has_data_)});
  }

 private:
  BlockQueue staged_;
  std::vector<std::uint8_t> times_;  // by block: offers while it is staged
  std::vector<bool> has_data_;       // by block; empty if only addresses are staged
  StageMode mode_;
  Count read_ns_;
  std::uint8_t n_;
  Count space_;
};

// Admits a block with a fixed probability each time it is offered.
class WithProbability final : public SavableFilter<WithProbability> {
 public:
  struct Params {
    double p = 0.5;
    static constexpr auto fields() {
      return std::tuple{Field{"p", &Params::p,
                              "probability of admission each time a block is offered to the tier",
                              0, 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "probability",
      .summary = "Admits each block that is offered to the tier with a fixed probability.",
      .reference =
          "Berg et al.: The CacheLib caching engine: design and experiences at scale, OSDI 2020"};

  WithProbability(Params params, AdmissionSetup setup)
      : random_(Random(setup.seed).split(kInfo.name)), p_(params.p) {}

  bool admits(const Access<>&, bool) override { return random_.uniform() < p_; }

  auto state() { return std::tie(random_); }

 private:
  Random random_;
  double p_;
};

// Admits a block that was offered before, in the recent past and in bounded memory. There are two
// Bloom filters. When the newer one has `window` blocks, the older one is emptied and becomes the
// newer.
class SeenBefore final : public SavableFilter<SeenBefore> {
 public:
  struct Params {
    Count window = 0;
    static constexpr auto fields() {
      return std::tuple{Field{
          "window", &Params::window,
          "number of blocks remembered; up to twice this number are (0: the tier's capacity)", 0}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "bloom",
      .summary =
          "Admits a block that was offered before, within the window that two Bloom filters "
          "remember.",
      .reference =
          "Maggs, Sitaraman: Algorithmic nuggets in content delivery, SIGCOMM CCR 45(3), 2015"};

  SeenBefore(Params params, AdmissionSetup setup)
      : window_(params.window > 0 ? params.window : std::max<Count>(1, setup.capacity)),
        newer_(static_cast<std::size_t>(window_)),
        older_(static_cast<std::size_t>(window_)) {}

  bool admits(const Access<>& a, bool) override {
    const bool before = older_.contains(a.block);
    if (newer_.insert(a.block)) return true;
    if (++inserted_ == window_) {
      std::swap(newer_, older_);
      newer_.clear();
      inserted_ = 0;
    }
    return before;
  }

  auto state() { return std::tie(newer_, older_, inserted_); }

 private:
  Count window_;
  BloomFilter newer_;
  BloomFilter older_;
  Count inserted_ = 0;
};

// Admits blocks of small requests. Long requests, which disks serve well, bypass the tier.
class SmallRequests final : public SavableFilter<SmallRequests> {
 public:
  struct Params {
    Count most = 16;
    static constexpr auto fields() {
      return std::tuple{
          Field{"most", &Params::most, "maximum length of an admitted request, in blocks", 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "size",
      .summary = "Admits the blocks of requests up to a maximum length.",
      .reference =
          "No publication. It sees one request at a time; sequential adds up the requests of a "
          "stream"};

  SmallRequests(Params params, AdmissionSetup) : most_(params.most) {}

  bool admits(const Access<>& a, bool) override { return a.request->blocks <= most_; }

  auto state() { return std::tie(); }

 private:
  Count most_;
};

// Admits a block that was accessed more often in the recent past than the last victim. The last
// victim stands for the next one, since policies may not be able to predict their next victim.
// Counts come from a sketch that is halved after `sample` accesses for each block of the tier.
class TinyLfuFilter final : public SavableFilter<TinyLfuFilter> {
 public:
  struct Params {
    double sample = 10;
    static constexpr auto fields() {
      return std::tuple{Field{
          "sample", &Params::sample,
          "accesses between halvings of the counts, as a multiple of the tier's capacity", 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "tinylfu",
      .summary =
          "Admits a block that was accessed more often in the recent past than the last victim.",
      .reference =
          "Einziger, Friedman, Manes: TinyLFU: a highly efficient cache admission policy, "
          "ACM Transactions on Storage 13(4), 2017"};

  TinyLfuFilter(Params params, AdmissionSetup setup)
      : sketch_(static_cast<std::size_t>(std::max<Count>(1, setup.capacity)) * 8),
        sample_(
            static_cast<double>(ceil_share(params.sample, std::max<Count>(1, setup.capacity)))) {}

  void record(const Access<>& a) override {
    sketch_.add(a.block);
    if (++recorded_ < sample_) return;
    sketch_.halve();
    recorded_ /= 2;
  }
  void evicted(BlockId block) override {
    last_victim_ = block;
    has_victim_ = true;
  }
  bool admits(const Access<>& a, bool full) override {
    if (!full || !has_victim_) return true;
    return sketch_.estimate(a.block) > sketch_.estimate(last_victim_);
  }

  auto state() { return std::tie(sketch_, recorded_, last_victim_, has_victim_); }

 private:
  CountMinSketch sketch_;
  double sample_;
  double recorded_ = 0;
  BlockId last_victim_ = 0;
  bool has_victim_ = false;
};

}  // namespace mcsim
