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

// Synthetic workloads: requests drawn from a declared profile. The same profile and seed give the
// same bytes on every platform.
//
// A VM has components, each with its own blocks and locality, and phases. A phase defines the
// number and times of requests and their distribution over the components. Components keep their
// state between phases.
//
// A component consists of extents: runs of consecutive blocks that are always requested as a whole.
// An extent's size is drawn from the component's mix at its first request. A drawn reuse distance
// of d blocks selects the extent floor(d / mean) places down the stack of extents; `mean` is the
// mix's mean size in blocks. With a single size s the blocks' distances are s·floor(d/s) + s - 1,
// which for single-block requests is d. With several sizes the distances also vary with the sizes
// above.
namespace mcsim {

// A request size and its relative frequency.
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

// LRU-stack model (Mattson et al., IBM Systems Journal 9(2), 1970): every access draws its reuse
// distance from the curve and accesses the block at that depth. The difference between 1 and the
// last hit ratio is the share of first accesses. Distances beyond the blocks so far are first
// accesses too.
struct StackModel {
  std::vector<HitRatioPoint> curve{};  // after (0, 0), both coordinates increase
  // Interpolates linearly over blocks or over log(blocks); the first piece is always linear.
  Interpolation interpolation = Interpolation::kLinear;
};

// Independent draws from a fixed set of blocks. The k-th most popular extent has a probability
// proportional to k^-alpha.
struct ZipfModel {
  Count blocks = 0;
  double alpha = 1;
};

// A loop over a fixed set of blocks: every distance is blocks - 1.
struct LoopModel {
  Count blocks = 0;
};

// Only new blocks.
struct ScanModel {};

using LocalityModel = std::variant<StackModel, ZipfModel, LoopModel, ScanModel>;

struct SyntheticComponent {
  std::string name;
  LocalityModel model;
  std::vector<RequestSize> sizes{};
  std::optional<std::uint8_t> of_class{};  // of its requests; all components have one, or none
};

// A component's share of the reads or the writes of a phase.
struct ComponentShare {
  std::string component;
  double weight = 1;
};

// Each `period` has one window of `length` at a random position. The windows share the part of the
// phase's requests that arrives in bursts. `reads` or `writes`, if given, replace those of the
// phase inside the windows.
struct Bursts {
  Nanoseconds period = 0;
  Nanoseconds length = 0;
  double share = 0;
  std::vector<ComponentShare> reads{};
  std::vector<ComponentShare> writes{};
};

// The rate outside bursts is multiplied by 1 + amplitude·cos(2π(t - peak)/day); t is the time since
// the start of the trace.
struct Diurnal {
  double amplitude = 0;
  Nanoseconds peak = 0;
};

// A closed-loop client: it sends a request, waits for the response, thinks, and sends the next one.
// Response times come from a reference system: an LRU cache of the VM, into which every block read
// or written is inserted. So requests and response times are those of a trace recorded on that
// system, whatever system they are replayed on.
struct SyntheticClient {
  Count cache_blocks = 0;
  Nanoseconds hit = 0;   // a read with all blocks in the cache
  Nanoseconds miss = 0;  // any other read
  Nanoseconds write = 0;

  Nanoseconds fastest() const { return std::min({hit, miss, write}); }
};

// Requests arrive evenly, each at a random time in its own share of the phase; bursts and daily
// patterns must be declared. The numbers of requests and of reads, round(read_share · requests),
// are exact.
//
// A client sends a request `think` after the previous response, as long as that is in the phase;
// each is a read with the probability `read_share`. It sends the first when the phase starts, or
// when the last response of the previous phase arrives, if that is later.
// has come, if that is later.
struct SyntheticPhase {
  Nanoseconds start = 0;
  Nanoseconds duration = 0;
  Count requests = 0;                  // without a client
  std::optional<Nanoseconds> think{};  // with a client
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

// Returns OK or an error with its place. `components` are the names that a phase may refer to,
// `client` is that of its VM.
absl::Status validate(const SyntheticComponent& component);
absl::Status validate(const SyntheticClient& client);
absl::Status validate(const SyntheticPhase& phase, std::span<const std::string_view> components,
                      const std::optional<SyntheticClient>& client);
absl::Status validate(const SyntheticVm& vm);
// Checks that there are at most 2^32 requests, and classes for all components or for none.
absl::Status validate(std::span<const SyntheticVm> vms);

// Memory of the extents that exist from the beginning: all those of loop and zipf components.
double bytes_needed(const SyntheticComponent& component, std::uint32_t block_bytes);

// Generates the requests of a profile, chunk by chunk, in order of time, then of VMs. Memory for
// live extents, 8 bytes each in a loop, 24 for zipf, 16 to 32 for a stack; and for clients' caches.
class SyntheticTrace {
 public:
  static absl::StatusOr<SyntheticTrace> make(SyntheticProfile profile);

  SyntheticTrace(SyntheticTrace&&) noexcept;
  SyntheticTrace& operator=(SyntheticTrace&&) noexcept;
  ~SyntheticTrace();

  // The total number of requests; for clients an upper bound, reached if all responses are the
  // fastest.
  Count request_count() const;

  // Replaces `chunk` with the next requests, at most `limit`; none at the end.
  // Fails with OutOfRange if a VM outgrows 2^32 blocks.
  absl::Status next(std::size_t limit, Requests& chunk);

 private:
  class VmGenerator;
  // A VM's next request, in a heap with the earliest one on top.
  struct Head {
    Nanoseconds time;
    VmId vm;
    friend auto operator<=>(const Head&, const Head&) = default;
  };

  explicit SyntheticTrace(SyntheticProfile profile);

  absl::Status generate(std::size_t limit, Requests& chunk);

  std::unique_ptr<SyntheticProfile> profile_;  // referenced by the generators
  std::vector<std::unique_ptr<VmGenerator>> generators_;
  std::vector<Head> heads_;
  absl::Status exhausted_;
};

}  // namespace mcsim
