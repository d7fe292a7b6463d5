#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/containers/bit_array.hpp"
#include "core/engine/tiers/admission.hpp"
#include "core/engine/tiers/block_values.hpp"

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
        timeout_(static_cast<Nanoseconds>(params.timeout_s * kSecond)),
        bypasses_(setup.blocks) {}

  bool reads_addresses() const override { return true; }

  void record(const Access<>& a) override {
    if (!seen_any_ || a.request->number != request_) {
      seen_any_ = true;
      request_ = a.request->number;
      request_bypasses_ = follow(*a.request) >= static_cast<std::uint64_t>(params_.cutoff_bytes);
    }
    request_bypasses_ ? bypasses_.set(a.block) : bypasses_.clear(a.block);
  }
  bool admits(const Access<>& a, bool full) override {
    return !bypasses_[a.block] || (params_.only_full && !full);
  }

  // Between two requests.
  auto state() { return std::tuple_cat(std::tuple{BlockValues(bypasses_)}, std::tie(vms_)); }

 private:
  struct Stream {
    std::uint64_t end = 0;  // offset after its last byte
    std::uint64_t bytes = 0;
    Nanoseconds last = 0;      // time of its last request
    std::uint64_t number = 0;  // of that request in the VM
  };
  struct Vm {
    std::vector<Stream> streams;
    std::uint64_t requests = 0;
    std::uint64_t last_bytes = 0;  // of the stream of the last request
    std::uint64_t average = 0;     // bytes: 7/8 of it stay when a stream is added

    auto state() { return std::tie(streams, requests, last_bytes, average); }
  };

  // Add a request to its stream. Return the bytes of the stream, or the mean of recent ones if that
  // is more.
  std::uint64_t follow(const RequestContext& request) {
    if (request.vm >= vms_.size()) vms_.resize(request.vm + std::size_t{1});
    Vm& vm = vms_[request.vm];
    Stream* stream = find(vm, request);
    if (stream == nullptr) {
      vm.average = (7 * vm.average + vm.last_bytes) / 8;
      stream = &oldest(vm);
      stream->bytes = 0;
    }
    stream->bytes += request.bytes;
    stream->end = request.offset + request.bytes;
    stream->last = request.time;
    stream->number = ++vm.requests;
    vm.last_bytes = stream->bytes;
    return params_.average ? std::max(vm.average, stream->bytes) : stream->bytes;
  }

  // Return the latest stream that the request continues, or null.
  Stream* find(Vm& vm, const RequestContext& request) const {
    Stream* found = nullptr;
    for (Stream& stream : vm.streams) {
      if (stream.end != request.offset || request.time - stream.last >= timeout_) continue;
      if (found == nullptr || stream.number > found->number) found = &stream;
    }
    return found;
  }

  // Return the entry of the stream without a request for the longest time, or a new one.
  Stream& oldest(Vm& vm) const {
    if (std::cmp_less(vm.streams.size(), params_.streams)) return vm.streams.emplace_back();
    return *std::ranges::min_element(vm.streams, {}, &Stream::number);
  }

  Params params_;
  Nanoseconds timeout_;
  BitArray bypasses_;  // by block: whether the last request that accessed it bypasses
  std::vector<Vm> vms_;
  bool seen_any_ = false;
  std::size_t request_ = 0;  // number of the last request
  bool request_bypasses_ = false;
};

}  // namespace mcsim
