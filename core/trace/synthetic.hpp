#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/trace/requests.hpp"

// Synthetic workloads: requests drawn from a declared profile. The same profile
// and seed give the same bytes on every platform.
//
// A VM has components, each with its own blocks and its own locality, and
// phases, which say how many requests arrive when and how they are spread over
// the components. A component keeps its state from one phase to the next.
//
// A component deals in extents: runs of consecutive blocks that are always
// requested whole. An extent has the size its first request drew from the
// component's mix. A reuse distance drawn as d blocks re-references the extent
// floor(d / mean) places down the stack of extents, `mean` being the mix's mean
// size in blocks. With one size s the blocks' distances are then
// s·floor(d/s) + s - 1, which for single-block requests is d itself; with
// several sizes the sizes lying above the extent add their spread.
namespace mcsim {

// A request size and how often it is drawn.
struct RequestSize {
  std::uint32_t bytes = 4096;
  double weight = 1;
};

// H(blocks) = hit_ratio: the share of accesses with a reuse distance < blocks.
struct HitRatioPoint {
  Count blocks = 0;
  double hit_ratio = 0;
};

enum class Interpolation : std::uint8_t { kLinear, kLog };

// LRU-stack model (Mattson et al., IBM Systems Journal 9(2), 1970): every
// access draws its reuse distance from the curve and re-references the block at
// that depth. What is missing to 1 at the last point are first touches, and so
// are draws deeper than what has been touched so far.
struct StackModel {
  std::vector<HitRatioPoint> curve{};  // after (0, 0), both coordinates rising
  // Between points: straight, or straight over log(blocks) (first piece: straight).
  Interpolation interpolation = Interpolation::kLinear;
};

// Independent draws over a fixed set of blocks; the k-th most popular extent has
// a probability proportional to k^-alpha.
struct ZipfModel {
  Count blocks = 0;
  double alpha = 1;
};

// A fixed set of blocks, in order, again and again: every distance is blocks - 1.
struct LoopModel {
  Count blocks = 0;
};

// Blocks never seen before.
struct ScanModel {};

using LocalityModel = std::variant<StackModel, ZipfModel, LoopModel, ScanModel>;

struct SyntheticComponent {
  std::string name;
  LocalityModel model;
  std::vector<RequestSize> sizes{};
  std::optional<std::uint8_t> of_class{};  // of its requests; all of a profile say one, or none
};

// A component's share of the reads or the writes of a phase.
struct ComponentShare {
  std::string component;
  double weight = 1;
};

// In every `period` one window of `length`, somewhere, takes its part of the
// share of the phase's requests that arrives in bursts. Where `reads` or
// `writes` is given it replaces the phase's own inside the windows.
struct Bursts {
  Nanoseconds period = 0;
  Nanoseconds length = 0;
  double share = 0;
  std::vector<ComponentShare> reads{};
  std::vector<ComponentShare> writes{};
};

// The rate outside bursts is multiplied by 1 + amplitude·cos(2π(t - peak)/day),
// t counted from the start of the trace.
struct Diurnal {
  double amplitude = 0;
  Nanoseconds peak = 0;
};

// A client that waits: it sends a request, gets its response, thinks, and sends
// the next, with one request under way at a time. How long a response takes it
// learns of a reference system: an LRU cache of its VM's own, which every block
// that is read or written enters. So the requests are those of a trace that was
// recorded on that system, whatever they are replayed on, and so are their
// response times.
struct SyntheticClient {
  Count cache_blocks = 0;
  Nanoseconds hit = 0;   // a read that finds all its blocks in the cache
  Nanoseconds miss = 0;  // any other
  Nanoseconds write = 0;

  Nanoseconds fastest() const { return std::min({hit, miss, write}); }
};

// Requests arrive evenly, each at a random moment of its own share of the
// phase; what is uneven is declared. The number of requests and of reads,
// round(read_share · requests), is exact.
//
// Those of a client come `think` after the response to the one before, as long as
// that is in the phase, and each is a read with the probability `read_share`. The
// first comes as the phase starts, or when the last response of the phase before
// has come, if that is later.
struct SyntheticPhase {
  Nanoseconds start = 0;
  Nanoseconds duration = 0;
  Count requests = 0;                  // of a VM without a client
  std::optional<Nanoseconds> think{};  // of a VM with one
  double read_share = 1;
  std::vector<ComponentShare> reads{};
  std::vector<ComponentShare> writes{};
  std::optional<Diurnal> diurnal{};
  std::optional<Bursts> bursts{};
};

struct SyntheticVm {
  std::string name;
  std::vector<SyntheticComponent> components{};
  std::vector<SyntheticPhase> phases{};  // in order of time, without overlap
  std::optional<SyntheticClient> client{};
};

struct SyntheticProfile {
  std::uint32_t block_bytes = 4096;
  std::uint64_t seed = 0;
  std::vector<SyntheticVm> vms{};
};

// Say what is wrong and where, or OK. `components` are the names a phase may
// refer to, `client` is its VM's.
absl::Status validate(const SyntheticComponent& component);
absl::Status validate(const SyntheticClient& client);
absl::Status validate(const SyntheticPhase& phase, std::span<const std::string_view> components,
                      const std::optional<SyntheticClient>& client);
absl::Status validate(const SyntheticVm& vm);
// At most 2^32 requests, and classes of all components or of none.
absl::Status validate(std::span<const SyntheticVm> vms);

// Memory of the extents that exist from the beginning: all of a loop and of a zipf component.
double bytes_needed(const SyntheticComponent& component, std::uint32_t block_bytes);

// The requests of a profile, chunk by chunk, in order of time; at equal times in
// order of the VMs. Memory is that of the live extents: 8 bytes each in a loop,
// 24 for zipf, 16 to 32 for a stack; and that of clients' caches.
class SyntheticTrace {
 public:
  static absl::StatusOr<SyntheticTrace> make(SyntheticProfile profile);

  SyntheticTrace(SyntheticTrace&&) noexcept;
  SyntheticTrace& operator=(SyntheticTrace&&) noexcept;
  ~SyntheticTrace();

  // Requests in all. How many those of clients are shows as they are made: so many
  // come if each response is the fastest.
  Count request_count() const;

  // Replaces `chunk` with the next requests, at most `limit`; none at the end.
  // Fails with OutOfRange if a VM outgrows 2^32 blocks.
  absl::Status next(std::size_t limit, Requests& chunk);

 private:
  class VmGenerator;
  // A VM's next request, in a heap with the earliest on top.
  struct Head {
    Nanoseconds time;
    VmId vm;
    friend auto operator<=>(const Head&, const Head&) = default;
  };

  explicit SyntheticTrace(SyntheticProfile profile);

  absl::Status generate(std::size_t limit, Requests& chunk);

  std::unique_ptr<SyntheticProfile> profile_;  // the generators refer to it
  std::vector<std::unique_ptr<VmGenerator>> generators_;
  std::vector<Head> heads_;
  absl::Status exhausted_;
};

}  // namespace mcsim
