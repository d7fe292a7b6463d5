#include "core/trace/accesses.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/guarded.hpp"
#include "core/containers/block_table.hpp"
#include "core/containers/sample_filter.hpp"
#include "core/containers/slot_heap.hpp"

namespace mcsim {
namespace {

constexpr std::size_t kKeysAtOnce = std::size_t{1} << 14;

// Accesses between two calls of the tick.
constexpr Count kTickEvery = Count{1} << 21;

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

// When something of a VM is due: of equal times, first that of the first VM.
struct Due {
  Nanoseconds time;
  VmId vm;
  friend auto operator<=>(const Due&, const Due&) = default;
};

// Appends what all streams have, in order, and frees each once it has no more.
template <class Stream>
void merge_by_time(std::span<Stream> streams, Accesses& trace) {
  SlotHeap<Due> next(streams.size());
  std::vector<std::size_t> position(streams.size(), 0);
  for (std::size_t v = 0; v < streams.size(); ++v) {
    const auto vm = static_cast<VmId>(v);
    if (!streams[v].time.empty()) next.push(vm, {streams[v].time[0], vm});
  }
  while (!next.empty()) {
    const auto vm = static_cast<VmId>(next.top());
    const Stream& stream = streams[vm];
    std::size_t& at = position[vm];
    const std::uint64_t begin = at == 0 ? 0 : stream.end[at - 1];
    for (std::uint64_t i = begin; i < stream.end[at]; ++i) {
      trace.ids.push_back(trace.vms[vm].first_id + stream.ids[i]);
    }
    trace.request_begin.push_back(trace.ids.size());
    trace.request_time.push_back(stream.time[at]);
    trace.request_vm.push_back(vm);
    trace.request_op.push_back(stream.op[at]);
    if (++at < stream.time.size()) {
      next.update(vm, {stream.time[at], vm});
    } else {
      next.pop();
      streams[vm] = {};
    }
  }
}

}  // namespace

struct AccessBuilder::Stream {
  std::string name = {};
  SpatialFilter filter{1, 0};
  std::uint32_t line_blocks = 1;
  std::size_t warm_up = 0;  // requests
  std::optional<Nanoseconds> departure = {};
  std::vector<Nanoseconds> time = {};
  std::vector<std::uint8_t> op = {};
  std::vector<std::uint64_t> end = {};   // one past the request's last entry in ids
  std::vector<BlockId> ids = {};         // local: 0, 1, 2, … by first touch of the line
  std::vector<std::uint64_t> keys = {};  // whose ids are still to be found
  std::size_t lines = 0;
  std::optional<BlockTable> line_of = {};  // numbers them, until the next VM begins

  std::size_t id_count() const { return lines * line_blocks; }
  std::size_t warm_up_accesses() const { return warm_up == 0 ? 0 : end[warm_up - 1]; }

  void push_keys(KeyRange touched) {
    for (std::uint64_t i = 0; i < touched.count; ++i) keys.push_back(touched.first + i);
  }

  // Of which all keys were pushed.
  void push_request(Nanoseconds at, std::uint8_t what) {
    time.push_back(at);
    op.push_back(what);
    end.push_back(ids.size() + keys.size());
  }

  // Many keys at once keep many cache misses in flight.
  absl::Status number_keys() {
    if ((lines + keys.size()) * line_blocks >= kNoBlock) return too_many_blocks(name);
    const std::size_t numbered = ids.size();
    ids.resize(numbered + keys.size());
    const auto found = std::span(ids).subspan(numbered);
    if (line_blocks == 1) {
      line_of->number(keys, found);
    } else {
      number_lines(found);
    }
    lines = line_of->size();
    keys.clear();
    return absl::OkStatus();
  }

  void number_lines(std::span<BlockId> found) {
    std::vector<std::uint64_t> line(keys);
    for (std::uint64_t& of_key : line) of_key /= line_blocks;
    line_of->number(line, found);
    for (std::size_t i = 0; i < found.size(); ++i) {
      found[i] = found[i] * line_blocks + static_cast<BlockId>(keys[i] % line_blocks);
    }
  }
};

AccessBuilder::AccessBuilder(ExpandOptions options, TimeBase time_base)
    : options_(options),
      time_base_(time_base),
      first_time_(std::numeric_limits<Nanoseconds>::max()) {}
AccessBuilder::AccessBuilder(AccessBuilder&&) noexcept = default;
AccessBuilder& AccessBuilder::operator=(AccessBuilder&&) noexcept = default;
AccessBuilder::~AccessBuilder() = default;

absl::Status AccessBuilder::begin_vm(std::string name) {
  MCSIM_RETURN_IF_ERROR(check_vm_name(name));
  if (streams_.size() == kMostVms) {
    return out_of_range("{}: at most {} VMs can be replayed together", name, kMostVms);
  }
  return settled(guarded("interning", [&] {
    push_stream(std::move(name));
    return absl::OkStatus();
  }));
}

void AccessBuilder::push_stream(std::string name) {
  // VMs have the same places, and samples of their own.
  const std::uint64_t seed = mix64(options_.sample_seed) + streams_.size();
  const bool right = options_.sample_rate > 0 && options_.sample_rate <= 1;
  streams_.push_back({.name = std::move(name),
                      .filter = SpatialFilter(right ? options_.sample_rate : 1, seed),
                      .line_blocks = std::max(options_.line_blocks, 1U)});
  std::optional<BlockTable>& table = streams_.back().line_of;
  if (streams_.size() > 1) table = std::exchange(streams_.end()[-2].line_of, std::nullopt);
  if (table) {
    table->clear();
  } else {
    table.emplace();
  }
}

absl::Status AccessBuilder::check_options() const {
  const auto& [block_bytes, ops, key, whole_seconds, line_blocks, cut_bytes, rate, seed] = options_;
  if (block_bytes == 0) return invalid_argument("block size: must be positive");
  if (line_blocks == 0) return invalid_argument("line: must have at least one block");
  if (line_blocks > 1 && key == BlockKey::kByteOffset) {
    return invalid_argument("line: byte offsets do not lie in lines");
  }
  const std::uint64_t line_bytes = std::uint64_t{block_bytes} * line_blocks;
  if (cut_bytes % line_bytes != 0) {
    return invalid_argument("cut: {} bytes are no multiple of lines of {}", cut_bytes, line_bytes);
  }
  if (!(rate > 0 && rate <= 1)) return out_of_range("sample rate: {} is outside (0, 1]", rate);
  if (rate < 1 && cut_bytes == 0) {
    return invalid_argument("sample rate: of which pieces? cut says");
  }
  return absl::OkStatus();
}

void AccessBuilder::end_warm_up() {
  if (!streams_.empty()) streams_.back().warm_up = streams_.back().time.size();
}

absl::Status AccessBuilder::depart(Nanoseconds time) {
  if (streams_.empty()) return invalid_argument("depart: no VM was begun");
  Stream& stream = streams_.back();
  if (!stream.time.empty() && time <= stream.time.back()) {
    return invalid_argument("{}: it has a request {} ns after it departs", stream.name,
                            stream.time.back() - time);
  }
  stream.departure = time;
  return absl::OkStatus();
}

absl::Status AccessBuilder::check_warm_up() const {
  Nanoseconds last = std::numeric_limits<Nanoseconds>::min();
  Nanoseconds first = std::numeric_limits<Nanoseconds>::max();
  bool warmed = false;
  for (const Stream& stream : streams_) {
    warmed = warmed || stream.warm_up > 0;
    if (stream.warm_up > 0) last = std::max(last, stream.time[stream.warm_up - 1]);
    if (stream.warm_up < stream.time.size()) first = std::min(first, stream.time[stream.warm_up]);
  }
  if (!warmed || last < first) return absl::OkStatus();
  return invalid_argument("warm-up: it must be over before the first request");
}

absl::Status AccessBuilder::number_keys(Stream& stream, const Tick& tick) {
  untold_ += static_cast<Count>(stream.keys.size());
  MCSIM_RETURN_IF_ERROR(stream.number_keys());
  if (!tick || untold_ < kTickEvery) return absl::OkStatus();
  numbered_ += std::exchange(untold_, 0);
  return tick(numbered_);
}

// One request, or the pieces that are left of it. Its keys come in portions, so that
// many of them take no memory beyond their ids.
absl::Status AccessBuilder::take(Stream& stream, Nanoseconds at, std::uint8_t op,
                                 std::uint64_t offset, std::uint32_t length, const Tick& tick) {
  const std::uint64_t cut = options_.cut_bytes;
  const std::size_t by_op = op == 0 ? 0 : 1;
  while (true) {
    const std::uint64_t room = cut == 0 ? length : cut - offset % cut;
    const auto piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(length, room));
    KeyRange touched = keys_of(offset, piece, options_);
    ++given_.requests[by_op];
    given_.accesses[by_op] += static_cast<Count>(touched.count);
    if (cut == 0 || stream.filter.samples(offset / cut)) {
      while (touched.count > 0) {
        const std::uint64_t room_for_keys = kKeysAtOnce - stream.keys.size();
        const std::uint64_t portion = std::min<std::uint64_t>(touched.count, room_for_keys);
        stream.push_keys({touched.first, portion});
        touched = {touched.first + portion, touched.count - portion};
        if (stream.keys.size() == kKeysAtOnce) MCSIM_RETURN_IF_ERROR(number_keys(stream, tick));
      }
      stream.push_request(at, op);
    }
    if (piece == length) return absl::OkStatus();
    offset += piece;
    length -= piece;
  }
}

// What stops in the middle of a request leaves it in part: nothing more is taken.
absl::Status AccessBuilder::settled(absl::Status status) {
  if (!status.ok() && !absl::IsInvalidArgument(status)) stopped_ = status;
  return status;
}

absl::Status AccessBuilder::add(const RequestsView& chunk, std::optional<VmId> only,
                                Nanoseconds shift, const Tick& tick) {
  MCSIM_RETURN_IF_ERROR(stopped_);
  return settled(guarded("interning", [&] { return add_requests(chunk, only, shift, tick); }));
}

absl::StatusOr<Accesses> AccessBuilder::finish() && {
  MCSIM_RETURN_IF_ERROR(stopped_);
  auto merged = guarded("interning", [&] { return merge(); });
  MCSIM_RETURN_IF_ERROR(settled(merged.status()));
  return merged;
}

absl::Status AccessBuilder::add_requests(const RequestsView& chunk, std::optional<VmId> only,
                                         Nanoseconds shift, const Tick& tick) {
  if (streams_.empty()) return invalid_argument("add: no VM was begun");
  MCSIM_RETURN_IF_ERROR(check_options());
  Stream& stream = streams_.back();
  Nanoseconds latest =
      stream.time.empty() ? std::numeric_limits<Nanoseconds>::min() : stream.time.back();
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    if (only && chunk.vm[i] != *only) continue;
    Nanoseconds at = 0;
    if (chunk.op[i] > 1 || __builtin_add_overflow(chunk.time[i], shift, &at)) {
      return invalid_argument("{}: request {} of time {} + {}, operation {}: cannot be",
                              stream.name, stream.time.size(), chunk.time[i], shift, chunk.op[i]);
    }
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
    MCSIM_RETURN_IF_ERROR(take(stream, at, chunk.op[i], chunk.offset[i], chunk.length[i], tick));
  }
  return number_keys(stream, tick);
}

absl::StatusOr<Accesses> AccessBuilder::merge() {
  MCSIM_RETURN_IF_ERROR(check_warm_up());
  Accesses trace;
  trace.time_base = time_base_;
  trace.block_bytes = options_.block_bytes;
  trace.line_blocks = options_.line_blocks;
  trace.given = given_;
  std::uint64_t unique = 0;
  std::size_t requests = 0;
  std::size_t accesses = 0;
  std::vector<Due> departures;
  if (!streams_.empty()) streams_.back().line_of.reset();
  for (const Stream& stream : streams_) {
    if (stream.departure) {
      departures.push_back({*stream.departure, static_cast<VmId>(&stream - streams_.data())});
    }
    trace.vms.push_back(
        {.name = stream.name,
         .first_id = static_cast<BlockId>(unique),
         .unique_blocks = static_cast<Count>(stream.id_count()),
         .requests = static_cast<Count>(stream.time.size() - stream.warm_up),
         .accesses = static_cast<Count>(stream.ids.size() - stream.warm_up_accesses())});
    trace.warm_up += stream.warm_up;
    unique += stream.id_count();
    if (unique >= kNoBlock) return too_many_blocks(stream.name);
    requests += stream.time.size();
    accesses += stream.ids.size();
  }
  trace.ids.reserve(accesses);
  trace.request_time.reserve(requests);
  trace.request_vm.reserve(requests);
  trace.request_op.reserve(requests);
  trace.request_begin.reserve(requests + 1);

  merge_by_time(std::span(streams_), trace);
  std::ranges::stable_sort(departures, {}, &Due::time);
  for (const Due& departure : departures) {
    const auto at = std::ranges::lower_bound(trace.request_time, departure.time);
    const auto request = static_cast<std::size_t>(at - trace.request_time.begin());
    trace.departures.push_back({std::max(request, trace.warm_up), departure.vm});
  }
  if (options_.whole_seconds) {
    for (Nanoseconds& time : trace.request_time) {
      time = (time - first_time_) / kSecond * kSecond;
    }
  }
  return trace;
}

}  // namespace mcsim
