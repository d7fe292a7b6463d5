#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/locality/hit_curve.hpp"

// The interface of all estimators, which compute the hits of LRU caches of all capacities, exactly
// or approximately, in one pass over the references.
namespace mcsim {

// The requests of a piece, in order; their blocks are the keys, request by request.
struct RequestShapes {
  std::uint32_t block_bytes = 0;
  std::span<const std::uint32_t> blocks = {};  // > 0, one a request; they sum to the keys
  std::span<const std::uint32_t> head = {};    // offset in the first block, in bytes
  std::span<const std::uint32_t> bytes = {};
};

// A piece of a reference stream, in order. `times` never decreases; it and `ops`
// have one entry a key or none at all.
struct References {
  std::span<const std::uint64_t> keys;
  std::span<const Nanoseconds> times = {};
  std::span<const std::uint8_t> ops = {};  // values of Op
  // Discarded keys, each before the key at a position of `keys`; positions never decrease and are
  // at most the number of keys.
  std::span<const std::uint64_t> discard_at = {};
  std::span<const std::uint64_t> discard_keys = {};
  RequestShapes requests = {};  // empty if requests are not counted

  // Drops discards and requests.
  References subspan(std::size_t begin, std::size_t count) const {
    return {keys.subspan(begin, count), times.empty() ? times : times.subspan(begin, count),
            ops.empty() ? ops : ops.subspan(begin, count)};
  }
};

// Calls process(references) for the keys between discards and discard(key) for each discard, in
// order.
template <class Process, class Discard>
absl::Status for_each_run(const References& piece, Process&& process, Discard&& discard) {
  std::size_t done = 0;
  for (std::size_t i = 0; i < piece.discard_at.size(); ++i) {
    const auto at = static_cast<std::size_t>(piece.discard_at[i]);
    if (at > done) MCSIM_RETURN_IF_ERROR(process(piece.subspan(done, at - done)));
    done = at;
    discard(piece.discard_keys[i]);
  }
  if (done == piece.keys.size()) return absl::OkStatus();
  return process(piece.subspan(done, piece.keys.size() - done));
}

// Evaluates a step function: values[i] from capacities[i] on, 0 before the first.
double value_at(std::span<const double> capacities, std::span<const double> values,
                double capacity);

// The hits of LRU over its capacity, exact or estimated: a step function.
struct CurveEstimate {
  // hits[i] of `accesses` hit in caches of capacity[i] blocks and more, up to below capacity[i +
  // 1]; none hit below capacity[0].
  std::vector<double> capacity;  // strictly increasing, > 0
  std::vector<double> hits;      // never decreasing, in [0, accesses]
  double accesses = 0;           // of the whole stream, whatever share was sampled

  // Hits of requests (all blocks of the request hit) and of bytes; empty unless the references
  // have requests and the estimator counts them. `requests` and `bytes` are the totals.
  std::vector<double> request_hits;
  std::vector<double> byte_hits;
  double requests = 0;
  double bytes = 0;

  // The 95 % confidence band of the hits, each entry for capacities up to the next. Empty if the
  // estimator has no band for this stream.
  std::vector<double> low;
  std::vector<double> high;

  // The smallest capacity, in blocks, at which the estimate is reliable.
  double resolved_from = 0;
  // Explains an automatic choice of the estimator to the user ("adjusted, since …"); often empty.
  std::string note;

  double hits_at(double blocks) const { return value_at(capacity, hits, blocks); }
};

CurveEstimate exact_estimate(const DistanceHistogram& histogram);

class Estimator {
 public:
  virtual ~Estimator() = default;
  // Processes the next piece of the stream. How the stream is cut into pieces has no effect.
  virtual absl::Status process(const References& next) = 0;
  // Returns the curve of all references so far; more may follow.
  virtual absl::StatusOr<CurveEstimate> curve() = 0;
  // Distinct blocks so far, possibly estimated.
  virtual double distinct() const = 0;
  // Whether discards remove blocks; otherwise the estimator ignores them.
  virtual bool removes_discards() const { return false; }
  // Memory used, including the object itself and its histogram.
  virtual std::size_t bytes() const = 0;
};

struct EstimatorContext {
  std::uint64_t seed = 1;  // of random numbers and hashes
  int threads = 1;         // the maximum number of threads
};

}  // namespace mcsim
