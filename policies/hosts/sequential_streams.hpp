#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/types.hpp"
#include "core/engine/policy/access.hpp"

namespace mcsim {

// The recent streams of each VM. A request continues the stream that ended where the request
// begins, or starts one. O(streams) per request.
class SequentialStreams {
 public:
  struct Limits {
    std::size_t streams = 128;          // of each VM
    Nanoseconds timeout = 5 * kSecond;  // without a request, after which a stream ends
    bool average = true;                // whether the mean length of recent streams counts
  };

  explicit SequentialStreams(const Limits& limits) : limits_(limits) {}

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
    return limits_.average ? std::max(vm.average, stream->bytes) : stream->bytes;
  }

  auto state() { return std::tie(vms_); }

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

  // Return the latest stream that the request continues, or null.
  Stream* find(Vm& vm, const RequestContext& request) const {
    Stream* found = nullptr;
    for (Stream& stream : vm.streams) {
      if (stream.end != request.offset || request.time - stream.last >= limits_.timeout) continue;
      if (found == nullptr || stream.number > found->number) found = &stream;
    }
    return found;
  }

  // Return the entry of the stream without a request for the longest time, or a new one.
  Stream& oldest(Vm& vm) const {
    if (vm.streams.size() < limits_.streams) return vm.streams.emplace_back();
    return *std::ranges::min_element(vm.streams, {}, &Stream::number);
  }

  Limits limits_;
  std::vector<Vm> vms_;
};

}  // namespace mcsim
