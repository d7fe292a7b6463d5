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
         !options.whole_seconds && !options.responses && !options.classes;
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
    if (vm >= vms_.size()) vms_.resize(vm + std::size_t{1});
    const std::uint64_t last = offset + (length == 0 ? 0 : length - 1);
    if (!is_object && last < offset) return false;
    if (reads_only && op == kWrite) continue;
    has_unsorted_vms_ |= time == last_time_ && vm < last_vm_;
    last_time_ = time;
    last_vm_ = vm;
    const std::uint64_t first = is_object ? offset : block_of(offset);
    const std::uint64_t count = is_object ? 1 : length == 0 ? 0 : block_of(last) - first + 1;
    rows.push(ids_.size() + keys_.size(), time, vm, op);
    const std::uint64_t head = is_object ? 0 : offset - first * options_.block_bytes;
    if (options_.bytes) rows.push_bytes(length, head);
    ++given_.requests[op];
    given_.accesses[op] += static_cast<Count>(count);
    ++vms_[vm].requests;
    vms_[vm].accesses += static_cast<Count>(count);
    if (!push_keys(vm, first, count)) return false;
  }
  end_rows(rows);
  return number_keys();
}

// Adds the keys [first, first + count) of a request; large requests are numbered in pieces.
bool StreamInterner::push_keys(VmId vm, std::uint64_t first, std::uint64_t count) {
  key_bits_ |= first | (first + count);
  const std::uint64_t of_vm = std::uint64_t{vm} << kKeyBits;
  for (std::uint64_t k = 0; k < count; ++k) {
    keys_.push_back((first + k) | of_vm);
    if (keys_.size() == 2 * kPortion && !number_keys()) return false;
  }
  return true;
}

StreamInterner::Rows StreamInterner::append_rows(std::size_t count) {
  const std::size_t optional = options_.bytes ? count : 0;
  return {.begin = begin_.append(count),
          .time = time_.append(count),
          .vm = vm_.append(count),
          .op = op_.append(count),
          .bytes = bytes_.append(optional),
          .head = head_.append(optional)};
}

// Drops the appended rows that were not written, and times that are the positions of accesses.
void StreamInterner::end_rows(const Rows& rows) {
  const auto count = static_cast<std::size_t>(rows.op - op_.values().data());
  begin_.shrink(count), vm_.shrink(count), op_.shrink(count);
  if (options_.bytes) bytes_.shrink(count), head_.shrink(count);
  const Nanoseconds* const first = time_.values().data();
  const std::vector<Nanoseconds> last(first, has_times_ ? first : rows.time);
  time_.shrink(has_times_ ? count : 0);
  if (!has_times_ && rows.has_other_times) store_times(last);
}

// Stores the times of all requests; those before the `last` ones are positions of accesses.
void StreamInterner::store_times(std::span<const Nanoseconds> last) {
  const auto begin = begin_.values().first(begin_.size() - last.size());
  Nanoseconds* const out = time_.append(begin_.size());
  std::ranges::copy(last, std::ranges::transform(begin, out, [](std::uint64_t at) {
                            return static_cast<Nanoseconds>(at);
                          }).out);
  has_times_ = true;
}

// Times that are positions of accesses are in the memory of these.
SharedArray<Nanoseconds> StreamInterner::take_times(const SharedArray<std::uint64_t>& begin) {
  if (has_times_) return std::move(time_).take();
  const auto owner = std::make_shared<const SharedArray<std::uint64_t>>(begin);
  const auto* const first = reinterpret_cast<const Nanoseconds*>(begin.data());
  return {owner, std::span(first, begin.size() - 1)};
}

bool StreamInterner::number_keys() {
  const bool has_several = vms_.size() > 1;
  if (has_several && (key_bits_ >> kKeyBits) != 0) return false;
  if (table_.size() + keys_.size() >= kNoBlock) return false;
  const std::span<std::uint32_t> numbers(ids_.append(keys_.size()), keys_.size());
  table_.number(keys_, numbers);
  if (has_several) note_new_blocks(numbers);
  keys_.clear();
  return true;
}

// Blocks are numbered in the order of their first key. Those before a second VM are of VM 0.
void StreamInterner::note_new_blocks(std::span<const std::uint32_t> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < vm_of_block_.size()) continue;
    vm_of_block_.resize(numbers[i]);
    vm_of_block_.push_back(static_cast<VmId>(keys_[i] >> kKeyBits));
  }
}

// Requests of one time are in the order of VMs, and of the file within a VM.
void StreamInterner::sort_equal_times() {
  if (!has_times_) store_times({});
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

// Replaces numbers of the table by ids, and counts the blocks of each VM. Blocks of a VM keep their
// order.
void StreamInterner::number_by_vm(Accesses& trace) {
  vm_of_block_.resize(table_.size());
  for (const VmId vm : vm_of_block_) ++trace.vms[vm].unique_blocks;
  std::vector<std::uint32_t> next;
  std::uint32_t first = 0;
  for (VmInfo& vm : trace.vms) {
    vm.first_id = BlockId(first);
    next.push_back(first);
    first += static_cast<std::uint32_t>(vm.unique_blocks);
  }
  std::vector<std::uint32_t> ids;
  if (trace.vms.size() > 1) {
    ids.resize(vm_of_block_.size());
    for (std::size_t block = 0; block < ids.size(); ++block) {
      ids[block] = next[vm_of_block_[block]]++;
    }
    for (std::uint32_t& id : ids_.values()) id = ids[id];
  }
  if (options_.addresses) trace.block_address = addresses_of(ids);
}

// The addresses of blocks by id; `ids` has the ids of the numbers of the table unless it is empty.
std::vector<std::uint64_t> StreamInterner::addresses_of(std::span<const std::uint32_t> ids) const {
  const std::uint64_t unit = options_.key == BlockKey::kAligned ? options_.block_bytes : 1;
  const bool has_vm = (key_bits_ >> kKeyBits) == 0;
  const std::uint64_t of_block = has_vm ? (std::uint64_t{1} << kKeyBits) - 1 : ~std::uint64_t{0};
  std::vector<std::uint64_t> addresses(table_.size());
  table_.for_each([&](std::uint64_t key, std::uint32_t value) {
    addresses[ids.empty() ? value - 1 : ids[value - 1]] = (key & of_block) * unit;
  });
  return addresses;
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
    trace.keeps_addresses = options_.addresses;
    trace.given = given_;
    for (std::size_t v = 0; v < vms.size(); ++v) {
      MCSIM_RETURN_IF_ERROR(check_vm_name(vms[v]));
      trace.vms.push_back(
          {.name = vms[v], .requests = vms_[v].requests, .accesses = vms_[v].accesses});
    }
    number_by_vm(trace);
    table_ = {};
    if (has_unsorted_vms_) sort_equal_times();
    *begin_.append(1) = ids_.size();
    trace.ids = std::move(ids_).take<BlockId>();
    trace.request_begin = std::move(begin_).take();
    trace.request_time = take_times(trace.request_begin);
    trace.request_vm = std::move(vm_).take();
    trace.request_op = std::move(op_).take();
    trace.request_bytes = std::move(bytes_).take();
    trace.request_head = std::move(head_).take();
    return trace;
  });
}

}  // namespace mcsim
