#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <tuple>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/tiers/prefetcher.hpp"

// Prefetchers of a tier.
namespace mcsim {

// Limit of parameters in blocks: 256 MiB of 4 KiB blocks.
inline constexpr double kMostPrefetchBlocks = 1 << 16;

// Prefetches nothing.
class NoPrefetch final : public Prefetcher {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "none", .summary = "Prefetches nothing.", .reference = "what caches do by default"};

  NoPrefetch(Params, PrefetchSetup) {}
  std::uint64_t reach(std::uint64_t) const override { return 0; }
  bool needs_run() const override { return false; }
  void read(const PrefetchRead&, PrefetchCache&) override {}
};

// Tagged prefetch: the next block after a missed block, and after the first read of a prefetched
// block. Of a request with several blocks, the last one decides: the others have their next blocks
// in the request.
class OneAhead final : public Prefetcher {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "one-ahead",
      .summary = "Prefetches the next block after a miss and after a used prefetched block.",
      .reference = "Smith: Cache memories, ACM Computing Surveys 14(3), 1982: tagged prefetch"};

  OneAhead(Params, PrefetchSetup) {}
  std::uint64_t reach(std::uint64_t) const override { return 1; }
  bool needs_run() const override { return false; }
  void read(const PrefetchRead& request, PrefetchCache& cache) override {
    if (request.blocks.back() == ReadOutcome::kHit) return;
    cache.prefetch(request.end(), request.end() + 1, kNoMark);
  }
};

// On-demand readahead of Linux, with one state for each VM, as for an open file. It prefetches
// windows. The window grows if the reads reach its marked block, and a random read leaves it as it
// is. Blocks in front of a miss that the cache holds show that a stream leads there, if there are
// more of them than blocks of the request.
//
// The names are those of Linux: `start` and `size` are the last window, and `async_size` is the
// number of its blocks from the marked one on.
class Readahead final : public Prefetcher {
 public:
  struct Params {
    Count max = 32;
    Count initial = 0;
    static constexpr auto fields() {
      return std::tuple{
          Field{"max", &Params::max, "blocks of the largest window (Linux: read_ahead_kb)", 2,
                kMostPrefetchBlocks},
          Field{"initial", &Params::initial,
                "blocks of the first window of a stream (0: from the blocks of the request, as in "
                "Linux: rounded up to a power of two, times 4, 2 or at most max)",
                0, kMostPrefetchBlocks}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "readahead",
      .summary = "Prefetches windows that grow while reads are sequential, as Linux does.",
      .reference =
          "Linux 6.1, mm/readahead.c; Wu et al.: On the design of a new Linux readahead "
          "framework, ACM SIGOPS Operating Systems Review 42(5), 2008"};

  Readahead(Params params, PrefetchSetup setup)
      : max_(static_cast<std::uint64_t>(params.max)),
        initial_(static_cast<std::uint64_t>(params.initial)),
        vms_(setup.vms) {}

  // A window begins at most `max` blocks after the block that causes it.
  std::uint64_t reach(std::uint64_t) const override { return 2 * max_; }
  bool needs_run() const override { return true; }

  void read(const PrefetchRead& request, PrefetchCache& cache) override {
    Window& window = vms_[request.context.vm];
    // The blocks of the request that are in the cache when the read reaches them.
    cached_.clear();
    for (const ReadOutcome of : request.blocks) cached_.push_back(of != ReadOutcome::kMiss);
    for (std::uint64_t at = request.first; at < request.end(); ++at) {
      const bool is_cached = cached_[at - request.first];
      if (is_cached && !cache.take_mark(at)) continue;
      if (!choose(window, at, is_cached, request, cache)) {
        // A random read: the blocks up to the end of the request are read, and no others.
        if (!is_cached)
          std::fill(cached_.begin() + static_cast<std::ptrdiff_t>(at - request.first),
                    cached_.end(), true);
        continue;
      }
      const std::uint64_t end = window.start + window.size;
      const std::uint64_t mark = end - window.async_size;
      cache.prefetch(window.start, end, window.async_size == 0 ? kNoMark : mark);
      for (std::uint64_t i = std::max(at, window.start); i < std::min(end, request.end()); ++i) {
        cached_[i - request.first] = true;
      }
    }
    window.next = request.end();
    window.has_read = true;
  }

 private:
  // The readahead state of a VM.
  struct Window {
    std::uint64_t start = 0;
    std::uint64_t size = 0;
    std::uint64_t async_size = 0;
    std::uint64_t next = 0;  // the block after the last read
    bool has_read = false;
  };

  std::uint64_t first_size(std::uint64_t blocks) const {
    if (initial_ > 0) return std::min(max_, std::max(initial_, blocks));
    const std::uint64_t rounded = std::bit_ceil(blocks);
    if (rounded <= max_ / 32) return 4 * rounded;
    if (rounded <= max_ / 4) return 2 * rounded;
    return max_;
  }
  std::uint64_t next_size(std::uint64_t size) const {
    if (size < max_ / 16) return 4 * size;
    if (size <= max_ / 2) return 2 * size;
    return max_;
  }

  // Set the next window for a read that reaches a marked block, or a block that is not cached.
  // Return false if there is none.
  bool choose(Window& window, std::uint64_t at, bool is_marked, const PrefetchRead& request,
              const PrefetchCache& cache) const {
    const std::uint64_t left = request.end() - at;
    const std::uint64_t end = window.start + window.size;
    // Within a request, the read of the blocks before this one has ended.
    const bool follows =
        at > request.first || (window.has_read && at >= window.next && at - window.next <= 1);
    if (at > 0 && (at == end - window.async_size || at == end)) {
      window.start = end;
      window.size = window.async_size = next_size(window.size);
    } else if (at > 0 && is_marked) {
      if (!follow_cached(window, at, left, request, cache)) return false;
    } else if (at == 0 || left > max_ || follows) {
      window.start = at;
      window.size = first_size(left);
      window.async_size = window.size > left ? window.size - left : window.size;
    } else if (!follow_history(window, at, left, cache)) {
      return false;
    }
    if (at == window.start && window.size == window.async_size) merge_next(window);
    return true;
  }

  // The read will reach the mark of this window at once: add the next window to it.
  void merge_next(Window& window) const {
    const std::uint64_t more = next_size(window.size);
    const bool fits = window.size + more <= max_;
    window.size = fits ? window.size + more : max_;
    window.async_size = fits ? more : max_ / 2;
  }

  // A marked block of another stream: the window follows its cached blocks.
  bool follow_cached(Window& window, std::uint64_t at, std::uint64_t left,
                     const PrefetchRead& request, const PrefetchCache& cache) const {
    std::uint64_t start = at + 1;
    while (start - at <= max_ && is_cached(start, request, cache)) ++start;
    if (start - at > max_) return false;
    window.start = start;
    window.size = window.async_size = next_size(start - at + left);
    return true;
  }

  // Blocks in front of the request that are cached show a stream, if there are enough.
  bool follow_history(Window& window, std::uint64_t at, std::uint64_t left,
                      const PrefetchCache& cache) const {
    std::uint64_t history = 0;
    while (history < std::min(at, max_) && cache.holds(at - history - 1)) ++history;
    if (history <= left) return false;
    window.start = at;
    window.size = std::min((history == at ? 2 * history : history) + left, max_);
    window.async_size = 1;
    return true;
  }

  bool is_cached(std::uint64_t address, const PrefetchRead& request,
                 const PrefetchCache& cache) const {
    if (address < request.end()) return cached_[address - request.first];
    return cache.holds(address);
  }

  std::uint64_t max_;
  std::uint64_t initial_;
  std::vector<Window> vms_;
  std::vector<bool> cached_;  // of the current request
};

// Readahead of Open CAS: a read that continues a stream of reads prefetches as many blocks as it
// reads itself, but at least `min`. A stream continues with the read that begins where it ended. Of
// several streams that ended there, the latest continues. A new stream replaces the one without a
// read for the longest time.
//
// Cost: the streams of a VM are searched from the latest on.
class StreamAhead final : public Prefetcher {
 public:
  struct Params {
    Count threshold = 16;
    Count min = 16;
    Count streams = 128;
    static constexpr auto fields() {
      return std::tuple{
          Field{"threshold", &Params::threshold,
                "blocks that a stream must have before the read (Open CAS: 64 KiB)", 0,
                kMostPrefetchBlocks},
          Field{"min", &Params::min, "blocks that are prefetched at least (Open CAS: 64 KiB)", 1,
                kMostPrefetchBlocks},
          Field{"streams", &Params::streams, "recent streams of each VM", 1, 65536}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "stream",
      .summary = "Prefetches after reads that continue a stream, as Open CAS does.",
      .reference =
          "Open CAS Framework, 2026: src/prefetch/ocf_prefetch_readahead.c and "
          "src/ocf_seq_detect.c"};

  StreamAhead(Params params, PrefetchSetup setup)
      : threshold_(static_cast<std::uint64_t>(params.threshold)),
        min_(static_cast<std::uint64_t>(params.min)),
        most_(static_cast<std::size_t>(params.streams)),
        vms_(setup.vms) {}

  std::uint64_t reach(std::uint64_t blocks) const override { return std::max(blocks, min_); }
  bool needs_run() const override { return true; }
  void read(const PrefetchRead& request, PrefetchCache& cache) override {
    const std::uint64_t blocks = request.blocks.size();
    const std::uint64_t before = extend_stream(vms_[request.context.vm], request.first, blocks);
    if (before == 0 || before < threshold_) return;
    cache.prefetch(request.end(), request.end() + std::max(blocks, min_), kNoMark);
  }

 private:
  struct Stream {
    std::uint64_t end;
    std::uint64_t blocks;
  };

  // Add a read to its stream, which becomes the latest. Return the blocks that the stream had.
  std::uint64_t extend_stream(std::vector<Stream>& streams, std::uint64_t first,
                              std::uint64_t blocks) const {
    const auto found = std::find_if(streams.rbegin(), streams.rend(),
                                    [&](const Stream& stream) { return stream.end == first; });
    const std::uint64_t before = found == streams.rend() ? 0 : found->blocks;
    if (found != streams.rend()) {
      streams.erase(found.base() - 1);
    } else if (streams.size() == most_) {
      streams.erase(streams.begin());
    }
    streams.push_back({.end = first + blocks, .blocks = before + blocks});
    return before;
  }

  std::uint64_t threshold_;
  std::uint64_t min_;
  std::size_t most_;
  std::vector<std::vector<Stream>> vms_;  // by VM: the latest last
};

}  // namespace mcsim
