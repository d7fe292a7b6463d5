#include "core/trace/accesses.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "core/containers/block_table.hpp"

namespace mcsim {
namespace {

constexpr std::size_t kKeysAtOnce = std::size_t{1} << 14;

// The block keys [first, first + count) of one request.
struct KeyRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

KeyRange keys_of(std::uint64_t offset, std::uint32_t length, const ExpandOptions& options) {
  if (length == 0) return {};
  const std::uint64_t block = options.block_bytes;
  if (options.key == BlockKey::kByteOffset) return {offset, (length + block - 1) / block};
  const std::uint64_t first = offset / block;
  return {first, (offset + (length - 1)) / block - first + 1};
}

absl::Status too_many_blocks(std::string_view vm) {
  return absl::ResourceExhaustedError(fmt::format(
      "{}: the trace touches more than {} distinct blocks; use a larger block size", vm, kNoBlock));
}

// Where one VM's stream stands in the merge; the heap yields the earliest.
struct Cursor {
  Nanoseconds time;
  VmId vm;
  friend bool operator>(const Cursor& a, const Cursor& b) {
    return std::pair(a.time, a.vm) > std::pair(b.time, b.vm);
  }
};

}  // namespace

struct AccessBuilder::Stream {
  std::string name;
  std::vector<Nanoseconds> time;
  std::vector<std::uint8_t> op;
  std::vector<std::uint64_t> end;   // one past the request's last entry in ids
  std::vector<BlockId> ids;         // local: 0, 1, 2, … by first touch
  std::vector<std::uint64_t> keys;  // whose ids are still to be found
  BlockTable id_of;

  void append(Nanoseconds at, std::uint8_t what, KeyRange touched) {
    for (std::uint64_t i = 0; i < touched.count; ++i) keys.push_back(touched.first + i);
    time.push_back(at);
    op.push_back(what);
    end.push_back(ids.size() + keys.size());
  }

  // Many keys at once keep many cache misses in flight.
  absl::Status number_keys() {
    if (id_of.size() + keys.size() >= kNoBlock) return too_many_blocks(name);
    const std::size_t numbered = ids.size();
    ids.resize(numbered + keys.size());
    id_of.number(keys, std::span(ids).subspan(numbered));
    keys.clear();
    return absl::OkStatus();
  }
};

AccessBuilder::AccessBuilder(ExpandOptions options, TimeBase time_base)
    : options_(options),
      time_base_(time_base),
      first_time_(std::numeric_limits<Nanoseconds>::max()) {}
AccessBuilder::AccessBuilder(AccessBuilder&&) noexcept = default;
AccessBuilder& AccessBuilder::operator=(AccessBuilder&&) noexcept = default;
AccessBuilder::~AccessBuilder() = default;

void AccessBuilder::begin_vm(std::string name) { streams_.emplace_back().name = std::move(name); }

absl::Status AccessBuilder::add(const RequestsView& chunk, std::optional<VmId> only,
                                Nanoseconds shift) {
  if (streams_.empty()) return invalid_argument("add: no VM was begun");
  if (options_.block_bytes == 0) return invalid_argument("block size: must be positive");
  Stream& stream = streams_.back();
  Nanoseconds latest =
      stream.time.empty() ? std::numeric_limits<Nanoseconds>::min() : stream.time.back();
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    if (only && chunk.vm[i] != *only) continue;
    const Nanoseconds at = chunk.time[i] + shift;
    if (at < latest) {
      return invalid_argument(
          "{}: request {} is {} ns earlier than the one before it: sort by time", stream.name,
          stream.time.size(), latest - at);
    }
    latest = at;
    first_time_ = std::min(first_time_, at);
    if (options_.ops == OpFilter::kReads && static_cast<Op>(chunk.op[i]) != Op::kRead) continue;
    if (chunk.length[i] != 0 &&
        chunk.offset[i] > std::numeric_limits<std::uint64_t>::max() - (chunk.length[i] - 1)) {
      return invalid_argument("{}: offset {} + length {} is beyond 2^64", stream.name,
                              chunk.offset[i], chunk.length[i]);
    }
    stream.append(at, chunk.op[i], keys_of(chunk.offset[i], chunk.length[i], options_));
    if (stream.keys.size() >= kKeysAtOnce) MCSIM_RETURN_IF_ERROR(stream.number_keys());
  }
  return stream.number_keys();
}

absl::StatusOr<Accesses> AccessBuilder::finish() && {
  Accesses trace;
  trace.time_base = time_base_;
  trace.block_bytes = options_.block_bytes;
  std::uint64_t unique = 0;
  std::size_t requests = 0;
  std::size_t accesses = 0;
  for (Stream& stream : streams_) {
    trace.vms.push_back({.name = stream.name,
                         .first_id = static_cast<BlockId>(unique),
                         .unique_blocks = static_cast<Count>(stream.id_of.size()),
                         .requests = static_cast<Count>(stream.time.size()),
                         .accesses = static_cast<Count>(stream.ids.size())});
    unique += stream.id_of.size();
    if (unique >= kNoBlock) return too_many_blocks(stream.name);
    stream.id_of = {};
    requests += stream.time.size();
    accesses += stream.ids.size();
  }
  trace.ids.reserve(accesses);
  trace.request_time.reserve(requests);
  trace.request_vm.reserve(requests);
  trace.request_op.reserve(requests);
  trace.request_begin.reserve(requests + 1);

  std::priority_queue<Cursor, std::vector<Cursor>, std::greater<>> heap;
  std::vector<std::size_t> position(streams_.size(), 0);
  for (std::size_t vm = 0; vm < streams_.size(); ++vm) {
    if (!streams_[vm].time.empty()) heap.push({streams_[vm].time[0], static_cast<VmId>(vm)});
  }
  while (!heap.empty()) {
    const VmId vm = heap.top().vm;
    heap.pop();
    const Stream& stream = streams_[vm];
    std::size_t& at = position[vm];
    // Taken in runs: the heap is asked again only when another VM is due.
    do {
      const std::uint64_t begin = at == 0 ? 0 : stream.end[at - 1];
      for (std::uint64_t i = begin; i < stream.end[at]; ++i) {
        trace.ids.push_back(trace.vms[vm].first_id + stream.ids[i]);
      }
      trace.request_begin.push_back(trace.ids.size());
      trace.request_time.push_back(stream.time[at]);
      trace.request_vm.push_back(vm);
      trace.request_op.push_back(stream.op[at]);
      ++at;
    } while (at < stream.time.size() &&
             (heap.empty() || !(Cursor{stream.time[at], vm} > heap.top())));
    if (at < stream.time.size()) {
      heap.push({stream.time[at], vm});
    } else {
      streams_[vm] = {};
    }
  }
  if (options_.whole_seconds) {
    for (Nanoseconds& time : trace.request_time) {
      time = (time - first_time_) / kSecond * kSecond;
    }
  }
  return trace;
}

}  // namespace mcsim
