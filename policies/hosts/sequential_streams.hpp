#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/archive.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/engine/policy/access.hpp"

namespace mcsim {

// The recent streams of each VM. A request continues the stream that ended where the request
// begins, or starts one. O(1) per request: streams are found by a hash of their ends.
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
    std::uint32_t index = find(vm, request);
    if (index == kNone) {
      vm.average = (7 * vm.average + vm.last_bytes) / 8;
      index = start(vm);
    }
    make_latest(vm, index);
    Stream& stream = vm.streams[index];
    if (stream.number > 0) vm.unlink(index);
    stream.bytes += request.bytes;
    stream.end = request.offset + request.bytes;
    stream.last = request.time;
    stream.number = ++vm.requests;
    vm.link(index);
    vm.last_bytes = stream.bytes;
    return limits_.average ? std::max(vm.average, stream.bytes) : stream.bytes;
  }

  auto state() { return std::tie(vms_); }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kBuckets = 256;

  struct Stream {
    std::uint64_t bytes = 0;
    std::uint64_t end = 0;     // offset after its last byte
    Nanoseconds last = 0;      // time of its last request
    std::uint64_t number = 0;  // of that request in the VM; 0 before the first one
    // Neighbours in a ring by last request: the latest stream is before the oldest.
    std::uint32_t before = 0;
    std::uint32_t after = 0;
  };
  struct Vm {
    std::array<std::uint32_t, kBuckets> first = no_streams();  // by hash of the end
    std::vector<std::uint32_t> next;                           // by stream, of equal hash
    std::vector<Stream> streams;
    std::uint32_t oldest = 0;
    std::uint64_t requests = 0;
    std::uint64_t last_bytes = 0;  // of the stream of the last request
    std::uint64_t average = 0;     // bytes: 7/8 of it stay when a stream is added

    static std::array<std::uint32_t, kBuckets> no_streams() {
      std::array<std::uint32_t, kBuckets> none;
      none.fill(kNone);
      return none;
    }
    std::uint32_t& first_at(std::uint64_t end) { return first[mix64(end) % kBuckets]; }
    void link(std::uint32_t index) {
      std::uint32_t& head = first_at(streams[index].end);
      next[index] = std::exchange(head, index);
    }
    void unlink(std::uint32_t index) {
      std::uint32_t* link = &first_at(streams[index].end);
      while (*link != index) link = &next[*link];
      *link = next[index];
    }

    void save(ArchiveWriter& to) { to(streams, oldest, requests, last_bytes, average); }
    void load(ArchiveReader& from) {
      from(streams, oldest, requests, last_bytes, average);
      const std::size_t count = streams.size();
      bool is_valid = oldest < std::max<std::size_t>(count, 1);
      for (const Stream& each : streams) {
        is_valid = is_valid && each.before < count && each.after < count;
      }
      if (!is_valid) from.fail(data_loss("sequential streams: not a ring of {}", count));
      first = no_streams();
      next.assign(count, kNone);
      for (std::uint32_t index = 0; index < count; ++index) link(index);
    }
  };

  // Return the latest stream that the request continues, or kNone.
  std::uint32_t find(Vm& vm, const RequestContext& request) const {
    std::uint32_t found = kNone;
    for (std::uint32_t i = vm.first_at(request.offset); i != kNone; i = vm.next[i]) {
      const Stream& stream = vm.streams[i];
      if (stream.end != request.offset || request.time - stream.last >= limits_.timeout) continue;
      if (found == kNone || stream.number > vm.streams[found].number) found = i;
    }
    return found;
  }

  // Return a new stream, or that without a request for the longest time, which ends.
  std::uint32_t start(Vm& vm) const {
    if (vm.streams.size() == limits_.streams) {
      vm.streams[vm.oldest].bytes = 0;
      return vm.oldest;
    }
    const auto index = static_cast<std::uint32_t>(vm.streams.size());
    vm.next.push_back(kNone);
    vm.streams.push_back({.before = index, .after = index});
    if (index > 0) insert_before(vm, index, vm.oldest);
    return index;
  }

  static void make_latest(Vm& vm, std::uint32_t index) {
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
