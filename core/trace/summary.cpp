#include "core/trace/summary.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace mcsim {
namespace {

double median_of(const boost::unordered_flat_map<std::uint32_t, Count>& sizes, Count total) {
  if (total == 0) return 0;
  std::vector<std::pair<std::uint32_t, Count>> sorted(sizes.begin(), sizes.end());
  std::ranges::sort(sorted);
  // The middle value, or the mean of the two middle ones.
  const auto value_at = [&](Count rank) {
    for (const auto& [size, count] : sorted) {
      if (rank < count) return static_cast<double>(size);
      rank -= count;
    }
    return 0.0;
  };
  return (value_at((total - 1) / 2) + value_at(total / 2)) / 2;
}

}  // namespace

void TraceSummary::add(const RequestsView& chunk) {
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    if (chunk.vm[i] >= vms_.size()) vms_.resize(chunk.vm[i] + std::size_t{1});
    Vm& vm = vms_[chunk.vm[i]];
    VmSummary& sum = vm.summary;
    if (chunk.op[i] == static_cast<std::uint8_t>(Op::kDiscard)) {
      ++sum.discards;
      continue;
    }
    const bool is_read = chunk.op[i] == static_cast<std::uint8_t>(Op::kRead);
    const Nanoseconds at = chunk.time[i];
    const std::uint32_t length = chunk.length[i];
    sum.first_time = sum.requests == 0 ? at : std::min(sum.first_time, at);
    sum.last_time = sum.requests == 0 ? at : std::max(sum.last_time, at);
    ++sum.requests;
    sum.read_requests += is_read;
    sum.bytes += length;
    sum.largest_request = std::max(sum.largest_request, length);
    ++vm.sizes[length];
    if (kind_ == TraceKind::kObjects) {
      touch(vm, chunk.offset[i], chunk.offset[i], is_read);
      continue;
    }
    if (length == 0) continue;
    const std::uint64_t first = chunk.offset[i] / block_bytes_;
    const std::uint64_t last = (chunk.offset[i] + (length - 1)) / block_bytes_;
    touch(vm, first, last, is_read);
  }
}

void TraceSummary::touch(Vm& vm, std::uint64_t first, std::uint64_t last, bool is_read) {
  const auto count = static_cast<Count>(last - first + 1);
  vm.summary.blocks += count;
  vm.summary.read_blocks += is_read ? count : 0;
  constexpr std::uint64_t kBits = 64;
  for (std::uint64_t key = first / kBits; key <= last / kBits; ++key) {
    const std::uint64_t from = std::max(first, key * kBits) % kBits;
    const std::uint64_t to = last / kBits == key ? last % kBits : kBits - 1;
    const std::uint64_t mask =
        (~std::uint64_t{0} >> (kBits - 1 - to)) & (~std::uint64_t{0} << from);
    Word& word = vm.words[key];
    vm.summary.unique_blocks += std::popcount(mask & ~word.touched);
    word.touched |= mask;
    if (!is_read) continue;
    vm.summary.unique_read_blocks += std::popcount(mask & ~word.read);
    word.read |= mask;
  }
}

std::vector<VmSummary> TraceSummary::vms() const {
  std::vector<VmSummary> result;
  for (const Vm& vm : vms_) {
    result.push_back(vm.summary);
    result.back().median_request = median_of(vm.sizes, vm.summary.requests);
  }
  return result;
}

VmSummary TraceSummary::total() const {
  VmSummary total;
  boost::unordered_flat_map<std::uint32_t, Count> sizes;
  for (const Vm& vm : vms_) {
    const VmSummary& part = vm.summary;
    total.discards += part.discards;
    if (part.requests == 0) continue;
    const bool is_first = total.requests == 0;
    total.first_time = is_first ? part.first_time : std::min(total.first_time, part.first_time);
    total.last_time = is_first ? part.last_time : std::max(total.last_time, part.last_time);
    total.requests += part.requests;
    total.read_requests += part.read_requests;
    total.blocks += part.blocks;
    total.read_blocks += part.read_blocks;
    total.unique_blocks += part.unique_blocks;
    total.unique_read_blocks += part.unique_read_blocks;
    total.bytes += part.bytes;
    total.largest_request = std::max(total.largest_request, part.largest_request);
    for (const auto& [size, count] : vm.sizes) sizes[size] += count;
  }
  total.median_request = median_of(sizes, total.requests);
  return total;
}

}  // namespace mcsim
