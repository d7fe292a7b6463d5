#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "core/base/archive.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/engine/policy/access.hpp"

namespace mcsim {

// The recent streams of each VM. A request continues the stream that ended where the request
// begins, or starts one. One vectorised pass over the ends of streams per request.
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
    std::size_t index = find(vm, request);
    if (index == vm.ends.size()) {
      vm.average = (7 * vm.average + vm.last_bytes) / 8;
      index = start(vm);
    }
    make_latest(vm, index);
    Stream& stream = vm.streams[index];
    stream.bytes += request.bytes;
    stream.end = request.offset + request.bytes;
    stream.last = request.time;
    stream.number = ++vm.requests;
    vm.ends[index] = short_end(stream.end);
    vm.last_bytes = stream.bytes;
    return limits_.average ? std::max(vm.average, stream.bytes) : stream.bytes;
  }

  auto state() { return std::tie(vms_); }

 private:
  struct Stream {
    std::uint64_t bytes = 0;
    std::uint64_t end = 0;     // offset after its last byte
    Nanoseconds last = 0;      // time of its last request
    std::uint64_t number = 0;  // of that request in the VM
    // Neighbours in a ring by last request: the latest stream is before the oldest.
    std::uint32_t before = 0;
    std::uint32_t after = 0;
  };
  struct Vm {
    std::vector<std::uint32_t> ends;  // by stream: short ends
    std::vector<Stream> streams;
    std::uint32_t oldest = 0;
    std::uint64_t requests = 0;
    std::uint64_t last_bytes = 0;  // of the stream of the last request
    std::uint64_t average = 0;     // bytes: 7/8 of it stay when a stream is added

    void save(ArchiveWriter& to) { to(ends, streams, oldest, requests, last_bytes, average); }
    void load(ArchiveReader& from) {
      from(ends, streams, oldest, requests, last_bytes, average);
      const std::size_t count = streams.size();
      bool is_valid = ends.size() == count && oldest < std::max<std::size_t>(count, 1);
      for (const Stream& each : streams) {
        is_valid = is_valid && each.before < count && each.after < count;
      }
      if (!is_valid) from.fail(data_loss("sequential streams: {} of {}", ends.size(), count));
    }
  };

  // The low bits of the sector. Ends that differ in other bits are told apart later.
  static std::uint32_t short_end(std::uint64_t end) {
    return static_cast<std::uint32_t>(end / 512);
  }

  // Return the latest stream that the request continues, or the number of streams.
  std::size_t find(const Vm& vm, const RequestContext& request) const {
    const std::size_t count = vm.ends.size();
    const std::uint32_t wanted = short_end(request.offset);
    bool is_end = false;
    for (const std::uint32_t end : vm.ends) is_end |= end == wanted;
    std::size_t found = count;
    for (std::size_t i = 0; is_end && i < count; ++i) {
      const Stream& stream = vm.streams[i];
      if (stream.end != request.offset || request.time - stream.last >= limits_.timeout) continue;
      if (found == count || stream.number > vm.streams[found].number) found = i;
    }
    return found;
  }

  // Return a new stream, or that without a request for the longest time, which ends.
  std::size_t start(Vm& vm) const {
    if (vm.streams.size() == limits_.streams) {
      vm.streams[vm.oldest].bytes = 0;
      return vm.oldest;
    }
    const auto index = static_cast<std::uint32_t>(vm.streams.size());
    vm.ends.push_back(0);
    vm.streams.push_back({.before = index, .after = index});
    if (index > 0) insert_before(vm, index, vm.oldest);
    return index;
  }

  static void make_latest(Vm& vm, std::size_t stream) {
    const auto index = static_cast<std::uint32_t>(stream);
    if (index == vm.oldest) {
      vm.oldest = vm.streams[index].after;
      return;
    }
    Stream& moved = vm.streams[index];
    vm.streams[moved.before].after = moved.after;
    vm.streams[moved.after].before = moved.before;
    insert_before(vm, index, vm.oldest);
  }
  static void insert_before(Vm& vm, std::uint32_t index, std::uint32_t next) {
    const std::uint32_t previous = vm.streams[next].before;
    vm.streams[index].before = previous;
    vm.streams[index].after = next;
    vm.streams[previous].after = index;
    vm.streams[next].before = index;
  }

  Limits limits_;
  std::vector<Vm> vms_;
};

}  // namespace mcsim
