#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "core/base/params.hpp"
#include "core/containers/bit_array.hpp"
#include "core/engine/tiers/admission.hpp"
#include "core/engine/tiers/block_values.hpp"
#include "policies/hosts/sequential_streams.hpp"

namespace mcsim {

// Keeps long sequential streams out of a tier. A request continues the stream that ended where the
// request begins. It bypasses the tier if the bytes of its stream, including its own, reach a
// limit. With `average`, the same applies if the mean length of the VM's recent streams reaches the
// limit, so that a VM that has streamed bypasses for some time.
//
// The decision is by request and is stored by block, until the block's next access. So a block that
// a faster tier demotes is treated like the request that last accessed it. Requests served by
// faster tiers are not seen.
class SequentialFilter final : public SavableFilter<SequentialFilter> {
 public:
  struct Params {
    Count cutoff_bytes = 4 << 20;
    Count streams = 128;
    double timeout_s = 5;
    bool average = true;
    bool only_full = false;
    static constexpr auto fields() {
      return std::tuple{
          Field{"cutoff_bytes", &Params::cutoff_bytes,
                "length from which a stream bypasses the tier, in bytes", 1},
          Field{"streams", &Params::streams,
                "number of recent streams of each VM in which a request is searched", 1, 65'536},
          Field{"timeout_s", &Params::timeout_s,
                "seconds without a request after which a stream ends", 0, 1e9},
          Field{"average", &Params::average,
                "whether the mean length of the VM's recent streams counts like that of the "
                "current one"},
          Field{"only_full", &Params::only_full,
                "whether streams bypass the tier only while it is full, as in Open CAS"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "sequential",
      .summary = "Keeps blocks of long sequential streams out of the tier.",
      .reference =
          "Sequential cut-off of bcache (Linux kernel documentation, admin-guide/bcache); with "
          "only_full that of Open CAS"};

  SequentialFilter(Params params, AdmissionSetup setup)
      : params_(params),
        bypasses_(setup.blocks),
        streams_({.streams = static_cast<std::size_t>(params.streams),
                  .timeout = static_cast<Nanoseconds>(params.timeout_s * kSecond),
                  .average = params.average}) {}

  bool reads_addresses() const override { return true; }

  void record(const Access<>& a) override {
    if (!seen_any_ || a.request->number != request_) {
      seen_any_ = true;
      request_ = a.request->number;
      request_bypasses_ =
          streams_.follow(*a.request) >= static_cast<std::uint64_t>(params_.cutoff_bytes);
    }
    request_bypasses_ ? bypasses_.set(a.block) : bypasses_.clear(a.block);
  }
  bool admits(const Access<>& a, bool full) override {
    return !bypasses_[a.block] || (params_.only_full && !full);
  }

  // Between two requests.
  auto state() { return std::tuple_cat(std::tuple{BlockValues(bypasses_)}, streams_.state()); }

 private:
  Params params_;
  BitArray bypasses_;  // by block: whether the last request that accessed it bypasses
  SequentialStreams streams_;
  bool seen_any_ = false;
  std::size_t request_ = 0;  // number of the last request
  bool request_bypasses_ = false;
};

}  // namespace mcsim
