#include "core/trace/interning/stream_interner.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>

#include "core/base/guarded.hpp"
#include "core/trace/interning/request_checks.hpp"

namespace mcsim {
namespace {

constexpr auto kWrite = static_cast<std::uint8_t>(Op::kWrite);

// Puts values[order[i]] at i.
template <class T>
void permute(std::span<T> values, std::span<const std::uint32_t> order, std::vector<T>& scratch) {
  if (values.empty()) return;
  scratch.assign(values.begin(), values.end());
  for (std::size_t i = 0; i < order.size(); ++i) values[i] = scratch[order[i]];
}

}  // namespace

bool StreamInterner::supports(const ExpandOptions& options) {
  return options.key != BlockKey::kByteOffset && options.line_blocks == 1 &&
         options.cut_bytes == 0 && options.sample_rate == 1 && options.block_bytes > 0 &&
         !options.whole_seconds && !options.responses && !options.classes && !options.addresses;
}

StreamInterner::StreamInterner(ExpandOptions options)
    : options_(options),
      shift_(std::has_single_bit(options.block_bytes) ? std::countr_zero(options.block_bytes)
                                                      : -1) {
  assert(supports(options));
}

absl::StatusOr<bool> StreamInterner::add(const RequestsView& chunk) {
  return guarded("interning", [&]() -> absl::StatusOr<bool> {
    for (std::size_t begin = 0; begin < chunk.size(); begin += kPortion) {
      if (!add_portion(chunk, begin, std::min(begin + kPortion, chunk.size()))) return false;
    }
    return true;
  });
}

// Appends the columns of requests, and numbers their keys.
bool StreamInterner::add_portion(const RequestsView& chunk, std::size_t begin, std::size_t end) {
  const bool is_object = options_.key == BlockKey::kObject;
  const bool reads_only = options_.ops == OpFilter::kReads;
  Rows rows = append_rows(end - begin);
  for (std::size_t i = begin; i < end; ++i) {
    const Nanoseconds time = chunk.time[i];
    const VmId vm = chunk.vm[i];
    const std::uint8_t op = chunk.op[i];
    const std::uint64_t offset = chunk.offset[i];
    const std::uint32_t length = chunk.length[i];
    if (op > kWrite || time < last_time_) return false;
    if (vm >= vms_.size()) {
      if (vm >= kMostTables) return false;
      vms_.resize(vm + std::size_t{1});
    }
    const std::uint64_t last = offset + (length == 0 ? 0 : length - 1);
    if (!is_object && last < offset) return false;
    if (reads_only && op == kWrite) continue;
    has_unsorted_vms_ |= time == last_time_ && vm < last_vm_;
    last_time_ = time;
    last_vm_ = vm;
    const std::uint64_t first = is_object ? offset : block_of(offset);
    const std::uint64_t count = is_object ? 1 : length == 0 ? 0 : block_of(last) - first + 1;
    rows.push(ids_.size() + keys_.size(), time, vm, op);
    if (options_.bytes)
      rows.push_bytes(length, is_object ? 0 : offset - first * options_.block_bytes);
    ++given_.requests[op];
    given_.accesses[op] += static_cast<Count>(count);
    ++vms_[vm].requests;
    vms_[vm].accesses += static_cast<Count>(count);
    if (!push_keys(vm, first, count)) return false;
  }
  end_rows(rows);
  if (!has_room()) return false;
  number_keys();
  return true;
}

// Adds the keys [first, first + count) of a request; large requests are numbered in pieces.
bool StreamInterner::push_keys(VmId vm, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t k = 0; k < count; ++k) {
    keys_.push_back(first + k);
    if (vms_.size() > 1) {
      key_vms_.resize(keys_.size());  // earlier keys without an entry are of VM 0
      key_vms_.back() = vm;
    }
    if (keys_.size() < 2 * kPortion) continue;
    if (!has_room()) return false;
    number_keys();
  }
  return true;
}

StreamInterner::Rows StreamInterner::append_rows(std::size_t count) {
  const std::size_t optional = options_.bytes ? count : 0;
  return {begin_.append(count), time_.append(count),     vm_.append(count),
          op_.append(count),    bytes_.append(optional), head_.append(optional)};
}

// Drops the appended rows that were not written.
void StreamInterner::end_rows(const Rows& rows) {
  const auto count = static_cast<std::size_t>(rows.time - time_.values().data());
  begin_.shrink(count), time_.shrink(count), vm_.shrink(count), op_.shrink(count);
  if (options_.bytes) bytes_.shrink(count), head_.shrink(count);
}

// Whether all keys of the portion can have ids.
bool StreamInterner::has_room() const {
  std::size_t blocks = keys_.size();
  for (const Vm& vm : vms_) blocks += vm.table.size();
  return blocks < kNoBlock;
}

void StreamInterner::number_keys() {
  const std::span<std::uint32_t> ids(ids_.append(keys_.size()), keys_.size());
  if (vms_.size() == 1) {
    vms_[0].table.number(keys_, ids);
  } else if (!keys_.empty()) {
    key_vms_.resize(keys_.size());
    number_by_vm(ids);
  }
  keys_.clear();
  key_vms_.clear();
}

// Groups keys by VM, so that each table gets many keys at once.
void StreamInterner::number_by_vm(std::span<std::uint32_t> ids) {
  vm_end_.assign(vms_.size() + 1, 0);
  for (const VmId vm : key_vms_) ++vm_end_[vm + 1];
  std::partial_sum(vm_end_.begin(), vm_end_.end(), vm_end_.begin());
  sorted_keys_.resize(keys_.size());
  sorted_ids_.resize(keys_.size());
  position_.resize(keys_.size());
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const std::uint32_t at = vm_end_[key_vms_[i]]++;
    sorted_keys_[at] = keys_[i];
    position_[i] = at;
  }
  std::size_t begin = 0;
  for (std::size_t vm = 0; vm < vms_.size(); ++vm) {
    const std::size_t count = vm_end_[vm] - begin;
    if (count > 0) {
      vms_[vm].table.number(std::span(sorted_keys_).subspan(begin, count),
                            std::span(sorted_ids_).subspan(begin, count));
    }
    begin += count;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = sorted_ids_[position_[i]];
}

// Requests of one time are in the order of VMs, and of the file within a VM.
void StreamInterner::sort_equal_times() {
  const auto time = time_.values();
  const auto vm = vm_.values();
  for (std::size_t begin = 0; begin < time.size();) {
    std::size_t end = begin + 1;
    bool is_sorted = true;
    for (; end < time.size() && time[end] == time[begin]; ++end) {
      is_sorted &= vm[end] >= vm[end - 1];
    }
    if (!is_sorted) sort_run(begin, end);
    begin = end;
  }
}

void StreamInterner::sort_run(std::size_t begin, std::size_t end) {
  const std::size_t count = end - begin;
  const auto vm = vm_.values().subspan(begin, count);
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return vm[i]; });
  const std::uint64_t first = begin_.values()[begin];
  const std::uint64_t last = end < begin_.size() ? begin_.values()[end] : ids_.size();
  const auto ids = ids_.values().subspan(first, last - first);
  const auto begins = begin_.values().subspan(begin, count);
  sorted_ids_.clear();
  std::vector<std::uint64_t> moved(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = order[i];
    const std::uint64_t stop = from + 1 < count ? begins[from + 1] : last;
    moved[i] = first + sorted_ids_.size();
    for (std::uint64_t at = begins[from]; at < stop; ++at) sorted_ids_.push_back(ids[at - first]);
  }
  std::ranges::copy(sorted_ids_, ids.begin());
  std::ranges::copy(moved, begins.begin());
  std::vector<std::uint8_t> ops;
  std::vector<VmId> vms;
  std::vector<std::uint32_t> sizes;
  permute(op_.values().subspan(begin, count), order, ops);
  if (options_.bytes) {
    permute(bytes_.values().subspan(begin, count), order, sizes);
    permute(head_.values().subspan(begin, count), order, sizes);
  }
  permute(vm, order, vms);
}

// The ids of a VM begin behind those of the VM before it.
void StreamInterner::add_first_ids(const Accesses& trace) {
  const auto ids = ids_.values();
  const auto begin = begin_.values();
  const auto vm = vm_.values();
  for (std::size_t r = 0; r < vm.size(); ++r) {
    const auto first = static_cast<std::uint32_t>(trace.vms[vm[r]].first_id);
    const std::uint64_t end = r + 1 < begin.size() ? begin[r + 1] : ids.size();
    for (std::uint64_t i = begin[r]; i < end; ++i) ids[i] += first;
  }
}

absl::StatusOr<Accesses> StreamInterner::finish(std::span<const std::string> vms,
                                                TimeBase time_base) && {
  return guarded("interning", [&]() -> absl::StatusOr<Accesses> {
    MCSIM_RETURN_IF_ERROR(interning::check_options(options_, time_base));
    if (vms.size() < vms_.size()) return invalid_argument("interning: a VM without a name");
    vms_.resize(vms.size());
    Accesses trace;
    trace.time_base = time_base;
    trace.block_bytes = options_.block_bytes;
    trace.keeps_bytes = options_.bytes;
    trace.given = given_;
    std::uint32_t first_id = 0;
    for (std::size_t v = 0; v < vms.size(); ++v) {
      MCSIM_RETURN_IF_ERROR(check_vm_name(vms[v]));
      const std::size_t unique = vms_[v].table.size();
      trace.vms.push_back({.name = vms[v],
                           .first_id = BlockId(first_id),
                           .unique_blocks = static_cast<Count>(unique),
                           .requests = vms_[v].requests,
                           .accesses = vms_[v].accesses});
      first_id += static_cast<std::uint32_t>(unique);
    }
    vms_.clear();
    if (has_unsorted_vms_) sort_equal_times();
    if (trace.vms.size() > 1) add_first_ids(trace);
    *begin_.append(1) = ids_.size();
    trace.ids = std::move(ids_).take<BlockId>();
    trace.request_begin = std::move(begin_).take();
    trace.request_time = std::move(time_).take();
    trace.request_vm = std::move(vm_).take();
    trace.request_op = std::move(op_).take();
    trace.request_bytes = std::move(bytes_).take();
    trace.request_head = std::move(head_).take();
    return trace;
  });
}

}  // namespace mcsim
