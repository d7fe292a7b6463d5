#include "core/trace/accesses.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/guarded.hpp"
#include "core/containers/block_table.hpp"
#include "core/containers/sample_filter.hpp"
#include "core/trace/accesses_file.hpp"

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

// One look for all that hardly anybody asks for.
bool keeps_any(const ExpandOptions& options) {
  return (options.responses | options.classes | options.bytes) != 0;
}

// Between two looks at whether all could be written so far.
constexpr std::size_t kRequestsAtOnce = std::size_t{1} << 18;

// That it has classes which can be.
absl::Status check_classes(const RequestsView& chunk, std::string_view vm) {
  if (chunk.of_class.size() != chunk.size()) {
    return invalid_argument("{}: {} classes of {} requests: expected a trace with a column of them",
                            vm, chunk.of_class.size(), chunk.size());
  }
  for (const std::uint8_t of_class : chunk.of_class) {
    if (of_class < kMostClasses) continue;
    return invalid_argument("{}: a request of class {}: expected 0 to {}", vm, of_class,
                            kMostClasses - 1);
  }
  return absl::OkStatus();
}

// That it has response times which can be.
absl::Status check_response_times(const RequestsView& chunk, std::string_view vm) {
  if (chunk.response.size() != chunk.size()) {
    return invalid_argument("{}: {} response times of {} requests", vm, chunk.response.size(),
                            chunk.size());
  }
  for (const Nanoseconds took : chunk.response) {
    if (took >= -1) continue;
    return invalid_argument("{}: a request took {} ns: expected a response time, or -1 for unknown",
                            vm, took);
  }
  return absl::OkStatus();
}

template <class T>
std::span<const T> part(const SharedArray<T>& values, std::size_t begin, std::size_t count) {
  return std::span(values.data(), values.size()).subspan(begin, count);
}

template <class T>
using Values = std::vector<T>;
template <class T>
using ValuesElsewhere = std::span<const T>;

}  // namespace

// When something of a VM is due: of equal times, first that of the first VM.
struct AccessBuilder::Due {
  Nanoseconds time;
  VmId vm;
  friend auto operator<=>(const Due&, const Due&) = default;
};

struct AccessBuilder::Stream {
  std::string name = {};
  SpatialFilter filter{1, 0};
  std::uint32_t line_blocks = 1;
  Nanoseconds arrival = std::numeric_limits<Nanoseconds>::min();
  std::optional<Nanoseconds> departure = {};

  std::size_t requests = 0;
  std::size_t accesses = 0;  // of which the ids were found
  Nanoseconds last_time = std::numeric_limits<Nanoseconds>::min();
  std::size_t warm_up = 0;  // requests
  std::size_t warm_up_accesses = 0;
  Nanoseconds warm_up_end = std::numeric_limits<Nanoseconds>::min();
  std::optional<Nanoseconds> warm_up_followed = {};  // by a request, at that time
  std::size_t responded = 0;                         // requests whose response time is known

  // Of the last requests and accesses, those that are not on disk.
  std::vector<Nanoseconds> time = {};
  std::vector<std::uint8_t> op = {};
  ColumnsOnDemand<Values> on_demand = {};  // those that are kept
  std::vector<std::uint64_t> end = {};     // one past the request's last entry in ids
  std::vector<std::uint32_t> ids = {};     // local: 0, 1, 2, … by first touch of the line
  std::vector<std::uint64_t> keys = {};    // whose ids are still to be found
  std::size_t lines = 0;
  std::optional<BlockTable> line_of = {};  // numbers them, until the next VM begins

  std::size_t id_count() const { return lines * line_blocks; }
  // All that is in memory and may be put on disk.
  auto columns() { return std::tuple_cat(std::tie(time, op, end, ids), on_demand.all()); }
  std::size_t bytes() const {
    std::size_t sum = 0;
    const auto add = [&](const auto& of) { sum += std::span(of).size_bytes(); };
    for_each_column(add, std::tie(time, op, end, ids));
    for_each_column(add, on_demand.all());
    return sum;
  }

  void end_warm_up() {
    warm_up = requests;
    warm_up_accesses = accesses;
    warm_up_end = last_time;
    warm_up_followed.reset();
  }

  void push_keys(KeyRange touched) {
    for (std::uint64_t i = 0; i < touched.count; ++i) keys.push_back(touched.first + i);
  }

  // Of which all keys were pushed.
  void push_request(Nanoseconds at, std::uint8_t what) {
    time.push_back(at);
    op.push_back(what);
    end.push_back(accesses + keys.size());
    if (requests++ == warm_up) warm_up_followed = at;
    last_time = at;
  }

  // Of a request that was pushed, or of a piece of so many bytes.
  void push_kept(const ExpandOptions& options, const RequestsView& chunk, std::size_t i,
                 std::uint32_t piece) {
    if (options.responses) {
      on_demand.response.push_back(chunk.response[i]);
      responded += chunk.response[i] >= 0 ? 1 : 0;
    }
    if (options.classes) on_demand.of_class.push_back(chunk.of_class[i]);
    if (options.bytes) on_demand.bytes.push_back(piece);
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
    accesses += keys.size();
    keys.clear();
    return absl::OkStatus();
  }

  void number_lines(std::span<std::uint32_t> found) {
    std::vector<std::uint64_t> line(keys);
    for (std::uint64_t& of_key : line) of_key /= line_blocks;
    line_of->number(line, found);
    for (std::size_t i = 0; i < found.size(); ++i) {
      found[i] = found[i] * line_blocks + static_cast<std::uint32_t>(keys[i] % line_blocks);
    }
  }
};

// What a stream has, wherever it is.
struct AccessBuilder::Merged {
  class InOrder;

  std::span<const Nanoseconds> time;
  std::span<const std::uint8_t> op;
  ColumnsOnDemand<ValuesElsewhere> on_demand;  // those that are kept,
  bool keeps_any = false;                      // if there are any
  std::span<const std::uint64_t> end;
  std::span<const std::uint32_t> ids;
  BlockId first_id = 0;
  std::size_t next = 0;    // request
  std::size_t passed = 0;  // requests, which memory need not hold

  std::uint64_t begin_of(std::size_t request) const { return request == 0 ? 0 : end[request - 1]; }
  bool is_over() const { return next == time.size(); }

  void push_next(VmId vm, Nanoseconds at, AccessesSink& sink) {
    for (std::uint64_t i = begin_of(next); i < end[next]; ++i) sink.push_block(first_id + ids[i]);
    const auto push_kept = [this](const auto& of, auto& made) {
      if (!of.empty()) made.push(of[next]);
    };
    if (keeps_any) for_each_column(push_kept, on_demand.all(), sink.on_demand().all());
    sink.push_request(at, vm, op[next++]);
  }

  void let_go_of_passed() {
    const std::size_t count = next - passed;
    let_go(time.subspan(passed, count));
    let_go(op.subspan(passed, count));
    const auto let_go_of_kept = [&](const auto& of) {
      if (!of.empty()) let_go(of.subspan(passed, count));
    };
    for_each_column(let_go_of_kept, on_demand.all());
    let_go(end.subspan(passed, count));
    let_go(ids.subspan(begin_of(passed), begin_of(next) - begin_of(passed)));
    passed = next;
  }
};

// The requests of many streams in order. A heap of all streams would come to another one with
// every request, far from the last. So those of a span of time are listed stream by stream and put
// in order: so many of each stream that they are worth coming to it, so few that they stay near.
class AccessBuilder::Merged::InOrder {
 public:
  explicit InOrder(std::span<const Merged> streams)
      : streams_(streams), usual_(std::max(kFewest, kOfStream * streams.size())) {
    Nanoseconds last = std::numeric_limits<Nanoseconds>::min();
    std::size_t requests = 0;
    for (const Merged& stream : streams) {
      if (stream.is_over()) continue;
      first_ = std::min(first_, stream.time[stream.next]);
      last = std::max(last, stream.time.back());
      requests += stream.time.size() - stream.next;
    }
    left_ = requests;
    span_ =
        requests <= usual_ ? distance(first_, last) : distance(first_, last) / requests * usual_;
  }

  bool empty() const { return left_ == 0; }

  // Calls push(due) for the next requests, each of which has then passed in its stream.
  absl::Status push(auto&& push) {
    while (!list()) {
      if (span_ == 0) return push_instant(push);
      span_ /= 2;
    }
    sort();
    for (const Due& due : sorted_) MCSIM_RETURN_IF_ERROR(push(due));
    if (listed_.size() < usual_ / 2) span_ = std::min(span_ * 2 + 1, kLongest);
    left_ -= listed_.size();
    first_ = then_;
    return absl::OkStatus();
  }

 private:
  static constexpr std::size_t kFewest = std::size_t{1} << 13;
  static constexpr std::size_t kOfStream = 8;
  static constexpr std::uint64_t kLongest = std::uint64_t{1} << 62;

  static std::uint64_t distance(Nanoseconds from, Nanoseconds to) {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  }

  // All of the span, stream by stream; false if these are too many.
  bool list() {
    listed_.clear();
    then_ = std::numeric_limits<Nanoseconds>::max();
    for (std::size_t v = 0; v < streams_.size(); ++v) {
      const auto& time = streams_[v].time;
      std::size_t r = streams_[v].next;
      for (; r < time.size() && distance(first_, time[r]) <= span_; ++r) {
        if (listed_.size() == 2 * usual_) return false;
        listed_.push_back({time[r], static_cast<VmId>(v)});
      }
      if (r < time.size()) then_ = std::min(then_, time[r]);
    }
    return true;
  }

  // Of one time there may be any number, which are in order as they are.
  absl::Status push_instant(auto&& push) {
    then_ = std::numeric_limits<Nanoseconds>::max();
    for (std::size_t v = 0; v < streams_.size(); ++v) {
      const Merged& stream = streams_[v];
      for (; !stream.is_over() && stream.time[stream.next] == first_; --left_) {
        MCSIM_RETURN_IF_ERROR(push(Due{first_, static_cast<VmId>(v)}));
      }
      if (!stream.is_over()) then_ = std::min(then_, stream.time[stream.next]);
    }
    first_ = then_;
    return absl::OkStatus();
  }

  // About as many parts of the span as there are requests, then each part.
  void sort() {
    const auto bits = static_cast<int>(std::bit_width(listed_.size()));
    const int shift = std::max(0, static_cast<int>(std::bit_width(span_)) - bits);
    const auto part_of = [&](const Due& due) { return distance(first_, due.time) >> shift; };
    ends_.assign((std::size_t{1} << bits) + 1, 0);
    for (const Due& due : listed_) ++ends_[part_of(due) + 1];
    std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
    sorted_.resize(listed_.size());
    for (const Due& due : listed_) sorted_[ends_[part_of(due)]++] = due;
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      if (end > begin + 1) std::ranges::sort(std::span(sorted_).subspan(begin, end - begin));
      begin = end;
    }
  }

  std::span<const Merged> streams_;
  std::size_t usual_;  // so many at a time
  std::size_t left_ = 0;
  Nanoseconds first_ = std::numeric_limits<Nanoseconds>::max();  // of what is left
  Nanoseconds then_ = 0;                                         // of what is left after the span
  std::uint64_t span_ = 0;                                       // from first_, its end included
  std::vector<Due> listed_;
  std::vector<Due> sorted_;
  std::vector<std::uint32_t> ends_;
};

// What streams have, one behind the other, on disk.
struct AccessBuilder::Spill {
  template <class T>
  struct Column {
    std::optional<File> file = {};  // as soon as there is something to put into it
    std::uint64_t bytes = 0;
    SharedArray<T> values = {};  // once it is mapped

    absl::Status take(std::vector<T>& last, const std::string& path) {
      if (last.empty()) return absl::OkStatus();
      if (!file) {
        MCSIM_ASSIGN_OR_RETURN(file, File::unnamed_beside(path));
      }
      const auto taken = std::as_bytes(std::span(last));
      MCSIM_RETURN_IF_ERROR(file->write(taken, bytes));
      bytes += taken.size();
      last.clear();
      return absl::OkStatus();
    }
    absl::Status map() {
      if (!file) return absl::OkStatus();
      MCSIM_ASSIGN_OR_RETURN(const auto mapping, file->map());
      const auto* const first = reinterpret_cast<const T*>(mapping->bytes().data());
      values = SharedArray<T>(mapping, std::span(first, bytes / sizeof(T)));
      return absl::OkStatus();
    }
  };

  Column<Nanoseconds> time = {};
  Column<std::uint8_t> op = {};
  Column<std::uint64_t> end = {};
  Column<std::uint32_t> ids = {};
  ColumnsOnDemand<Column> on_demand = {};  // those that are kept

  // In the order of those of a stream.
  auto columns() { return std::tuple_cat(std::tie(time, op, end, ids), on_demand.all()); }

  absl::Status take(Stream& stream, const std::string& path) {
    absl::Status status;
    for_each_column([&](auto& to, auto& from) { status.Update(to.take(from, path)); }, columns(),
                    stream.columns());
    return status;
  }
  absl::Status map() {
    absl::Status status;
    for_each_column([&](auto& column) { status.Update(column.map()); }, columns());
    return status;
  }
};

AccessBuilder::AccessBuilder(ExpandOptions options, TimeBase time_base,
                             std::optional<ToFile> to_file)
    : options_(options),
      time_base_(time_base),
      first_time_(std::numeric_limits<Nanoseconds>::max()),
      to_file_(std::move(to_file)) {}
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
  if (streams_.size() > 1) {
    Stream& before = streams_.end()[-2];
    table = std::exchange(before.line_of, std::nullopt);
    held_before_ += before.bytes();
  }
  if (table) {
    table->clear();
  } else {
    table.emplace();
  }
}

absl::Status AccessBuilder::check_options() const {
  const auto& [block_bytes, ops, key, whole_seconds, line_blocks, cut_bytes, rate, seed, responses,
               classes, bytes] = options_;
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
  if (responses && time_base_ == TimeBase::kIndex) {
    return invalid_argument("response times: a trace without a clock has none");
  }
  return absl::OkStatus();
}

void AccessBuilder::end_warm_up() {
  if (!streams_.empty()) streams_.back().end_warm_up();
}

absl::Status AccessBuilder::arrive(Nanoseconds time) {
  if (streams_.empty()) return invalid_argument("arrive: no VM was begun");
  Stream& stream = streams_.back();
  if (stream.requests > 0) {
    return invalid_argument("{}: its arrival comes before its requests", stream.name);
  }
  stream.arrival = time;
  return absl::OkStatus();
}

absl::Status AccessBuilder::depart(Nanoseconds time) {
  if (streams_.empty()) return invalid_argument("depart: no VM was begun");
  Stream& stream = streams_.back();
  if (stream.requests > 0 && time <= stream.last_time) {
    return invalid_argument("{}: it has a request {} ns after it departs", stream.name,
                            stream.last_time - time);
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
    if (stream.warm_up > 0) last = std::max(last, stream.warm_up_end);
    if (stream.warm_up_followed) first = std::min(first, *stream.warm_up_followed);
  }
  if (!warmed || last < first) return absl::OkStatus();
  return invalid_argument("warm-up: it must be over before the first request");
}

absl::Status AccessBuilder::check_responses() const {
  for (const Stream& stream : streams_) {
    if (!options_.responses || stream.requests == 0 || stream.responded > 0) continue;
    return invalid_argument(
        "{}: none of its {} requests has a response time: expected a trace with a column of them",
        stream.name, stream.requests);
  }
  return absl::OkStatus();
}

absl::Status AccessBuilder::number_keys(Stream& stream, const Tick& tick) {
  untold_ += static_cast<Count>(stream.keys.size());
  MCSIM_RETURN_IF_ERROR(stream.number_keys());
  if (to_file_ && held_before_ + stream.bytes() > to_file_->most_in_memory) {
    MCSIM_RETURN_IF_ERROR(spill());
  }
  if (!tick || untold_ < kTickEvery) return absl::OkStatus();
  numbered_ += std::exchange(untold_, 0);
  return tick(numbered_);
}

// Puts all that streams have in memory behind what is on disk.
absl::Status AccessBuilder::spill() {
  if (spill_ == nullptr) spill_ = std::make_unique<Spill>();
  for (Stream& stream : streams_) MCSIM_RETURN_IF_ERROR(spill_->take(stream, to_file_->path));
  held_before_ = 0;
  return absl::OkStatus();
}

// One request, or the pieces that are left of it. Its keys come in portions, so that
// many of them take no memory beyond their ids.
absl::Status AccessBuilder::take(Stream& stream, const RequestsView& chunk, std::size_t i,
                                 Nanoseconds at, const Tick& tick) {
  const std::uint8_t op = chunk.op[i];
  std::uint64_t offset = chunk.offset[i];
  std::uint32_t length = chunk.length[i];
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
      if (keeps_any(options_)) stream.push_kept(options_, chunk, i, piece);
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
  if (options_.responses) MCSIM_RETURN_IF_ERROR(check_response_times(chunk, stream.name));
  if (options_.classes) MCSIM_RETURN_IF_ERROR(check_classes(chunk, stream.name));
  Nanoseconds latest = stream.last_time;
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    if (only && chunk.vm[i] != *only) continue;
    Nanoseconds at = 0;
    if (chunk.op[i] > 1 || __builtin_add_overflow(chunk.time[i], shift, &at)) {
      return invalid_argument("{}: request {} of time {} + {}, operation {}: cannot be",
                              stream.name, stream.requests, chunk.time[i], shift, chunk.op[i]);
    }
    if (at < latest) {
      return invalid_argument(
          "{}: request {} is {} ns earlier than the one before it: sort by time", stream.name,
          stream.requests, latest - at);
    }
    if (at < stream.arrival) {
      return invalid_argument("{}: request {} is {} ns before it arrives", stream.name,
                              stream.requests, stream.arrival - at);
    }
    latest = at;
    first_time_ = std::min(first_time_, at);
    if (options_.ops == OpFilter::kReads && static_cast<Op>(chunk.op[i]) != Op::kRead) continue;
    if (chunk.length[i] != 0 &&
        chunk.offset[i] > std::numeric_limits<std::uint64_t>::max() - (chunk.length[i] - 1)) {
      return invalid_argument("{}: offset {} + length {} is beyond 2^64", stream.name,
                              chunk.offset[i], chunk.length[i]);
    }
    MCSIM_RETURN_IF_ERROR(take(stream, chunk, i, at, tick));
  }
  return number_keys(stream, tick);
}

Nanoseconds AccessBuilder::kept_time(Nanoseconds time) const {
  return options_.whole_seconds ? (time - first_time_) / kSecond * kSecond : time;
}

// Departures are still to be placed among the requests.
absl::StatusOr<Accesses> AccessBuilder::without_columns() const {
  Accesses trace;
  trace.time_base = time_base_;
  trace.block_bytes = options_.block_bytes;
  trace.line_blocks = options_.line_blocks;
  trace.keeps_responses = options_.responses;
  trace.keeps_classes = options_.classes;
  trace.keeps_bytes = options_.bytes;
  trace.given = given_;
  std::uint64_t unique = 0;
  for (const Stream& stream : streams_) {
    const bool is_late = stream.arrival > first_time_;
    trace.vms.push_back({.name = stream.name,
                         .first_id = static_cast<BlockId>(unique),
                         .unique_blocks = static_cast<Count>(stream.id_count()),
                         .requests = static_cast<Count>(stream.requests - stream.warm_up),
                         .accesses = static_cast<Count>(stream.accesses - stream.warm_up_accesses),
                         .arrives = is_late ? kept_time(stream.arrival) : VmInfo().arrives});
    trace.warm_up += stream.warm_up;
    unique += stream.id_count();
    if (unique >= kNoBlock) return too_many_blocks(stream.name);
  }
  return trace;
}

absl::StatusOr<std::vector<AccessBuilder::Merged>> AccessBuilder::streams_to_merge() {
  if (spill_ != nullptr) {
    MCSIM_RETURN_IF_ERROR(spill());
    MCSIM_RETURN_IF_ERROR(spill_->map());
  }
  std::vector<Merged> merged;
  std::size_t requests = 0;
  std::size_t accesses = 0;
  BlockId first_id = 0;
  for (const Stream& stream : streams_) {
    Merged& of = merged.emplace_back();
    of.first_id = first_id;
    of.keeps_any = keeps_any(options_);
    if (spill_ != nullptr) {
      of.time = part(spill_->time.values, requests, stream.requests);
      of.op = part(spill_->op.values, requests, stream.requests);
      const auto take_kept = [&](auto& to, const auto& from, bool kept) {
        if (kept) to = part(from.values, requests, stream.requests);
      };
      for_each_column(take_kept, of.on_demand.all(), spill_->on_demand.all(), options_.kept());
      of.end = part(spill_->end.values, requests, stream.requests);
      of.ids = part(spill_->ids.values, accesses, stream.accesses);
    } else {
      of.time = stream.time, of.op = stream.op, of.end = stream.end, of.ids = stream.ids;
      for_each_column([](auto& to, const auto& from) { to = from; }, of.on_demand.all(),
                      stream.on_demand.all());
    }
    requests += stream.requests;
    accesses += stream.accesses;
    first_id += stream.id_count();
  }
  return merged;
}

// Appends what all streams have, in order, and frees each once it has no more.
absl::Status AccessBuilder::merge_into(AccessesSink& sink, std::span<const Due> departures) {
  MCSIM_ASSIGN_OR_RETURN(std::vector<Merged> streams, streams_to_merge());
  std::size_t merged = 0;
  std::size_t gone = 0;
  const auto push_next = [&](Due due) -> absl::Status {
    const auto& [time, vm] = due;
    Merged& stream = streams[vm];
    while (gone < departures.size() && departures[gone].time <= time) sink.depart(gone++, merged);
    stream.push_next(vm, kept_time(time), sink);
    if (stream.is_over()) {
      stream.let_go_of_passed();
      streams_[vm] = {};
    }
    if (merged++ % kRequestsAtOnce > 0) return absl::OkStatus();
    for (Merged& of : streams) {
      if (!of.is_over()) of.let_go_of_passed();
    }
    return sink.status();
  };
  Merged::InOrder due(streams);
  while (!due.empty()) MCSIM_RETURN_IF_ERROR(due.push(push_next));
  while (gone < departures.size()) sink.depart(gone++, merged);
  return absl::OkStatus();
}

absl::StatusOr<Accesses> AccessBuilder::merge() {
  MCSIM_RETURN_IF_ERROR(check_warm_up());
  MCSIM_RETURN_IF_ERROR(check_responses());
  if (!streams_.empty()) streams_.back().line_of.reset();
  MCSIM_ASSIGN_OR_RETURN(Accesses trace, without_columns());
  std::size_t requests = 0;
  std::size_t accesses = 0;
  std::vector<Due> departures;
  for (std::size_t v = 0; v < streams_.size(); ++v) {
    requests += streams_[v].requests;
    accesses += streams_[v].accesses;
    const auto& departure = streams_[v].departure;
    if (departure) departures.push_back({*departure, static_cast<VmId>(v)});
  }
  std::ranges::stable_sort(departures, {}, &Due::time);
  for (const Due& departure : departures) trace.departures.push_back({0, departure.vm});
  if (!to_file_) {
    AccessesSink sink(std::move(trace), requests, accesses);
    MCSIM_RETURN_IF_ERROR(merge_into(sink, departures));
    return std::move(sink).finish();
  }
  MCSIM_ASSIGN_OR_RETURN(AccessesSink sink, AccessesSink::to_file(std::move(trace), requests,
                                                                  accesses, to_file_->path));
  MCSIM_RETURN_IF_ERROR(merge_into(sink, departures));
  return std::move(sink).finish();
}

void Accesses::passed(RequestRange range) const {
  const auto let_go_of = [](const auto& column, std::size_t begin, std::size_t end) {
    let_go(std::span(column.data() + begin, end - begin));
  };
  let_go_of(ids, request_begin[range.begin], request_begin[range.end]);
  let_go_of(request_begin, range.begin, range.end);
  let_go_of(request_time, range.begin, range.end);
  let_go_of(request_vm, range.begin, range.end);
  let_go_of(request_op, range.begin, range.end);
  const auto if_kept = [&](const auto& column, bool is_kept) {
    if (is_kept) let_go_of(column, range.begin, range.end);
  };
  for_each_column(if_kept, on_demand(), kept());
}

}  // namespace mcsim
