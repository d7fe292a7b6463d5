#include "core/trace/interning/access_builder.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/guarded.hpp"
#include "core/trace/interning/accesses_sink.hpp"
#include "core/trace/interning/merge.hpp"
#include "core/trace/interning/request_checks.hpp"

namespace mcsim {
namespace {

using interning::RequestStream;

constexpr auto kLastOp = static_cast<std::uint8_t>(Op::kDiscard);
constexpr std::size_t kKeysAtOnce = std::size_t{1} << 14;

// Accesses between two calls of the tick.
constexpr Count kTickEvery = Count{1} << 21;

// The block keys [first, first + count) of one request.
struct KeyRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

KeyRange keys_of(std::uint64_t offset, std::uint32_t length, const ExpandOptions& options) {
  if (options.key == BlockKey::kObject) return {offset, 1};
  if (length == 0) return {};
  const std::uint64_t block = options.block_bytes;
  if (options.key == BlockKey::kByteOffset) return {offset, (length + block - 1) / block};
  const std::uint64_t first = offset / block;
  return {first, (offset + (length - 1)) / block - first + 1};
}

// The blocks that a discard covers completely.
KeyRange discarded_keys(std::uint64_t offset, std::uint32_t length, const ExpandOptions& options) {
  if (options.key == BlockKey::kObject) return {offset, 1};
  const std::uint64_t block = options.block_bytes;
  if (options.key == BlockKey::kByteOffset) return {offset, length / block};
  const std::uint64_t first = offset / block + (offset % block > 0 ? 1 : 0);
  // The block of the first byte after it; the sum may be 2^64.
  const std::uint64_t end = length == 0
                                ? first
                                : (offset + (length - 1)) / block +
                                      ((offset + (length - 1)) % block == block - 1 ? 1 : 0);
  return {first, end > first ? end - first : 0};
}

bool is_beyond_64_bits(std::uint64_t offset, std::uint32_t length) {
  return length != 0 && offset > std::numeric_limits<std::uint64_t>::max() - (length - 1);
}

}  // namespace

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
  MCSIM_RETURN_IF_ERROR(sticky_error_);
  MCSIM_RETURN_IF_ERROR(check_vm_name(name));
  if (streams_.size() == kMostVms) {
    return out_of_range("{}: at most {} VMs can be replayed together", name, kMostVms);
  }
  return latch_error(guarded("interning", [&] {
    push_stream(std::move(name));
    return absl::OkStatus();
  }));
}

void AccessBuilder::push_stream(std::string name) {
  // Places are the same in every VM, but each VM is sampled separately.
  const std::uint64_t seed = mix64(options_.sample_seed) + streams_.size();
  const bool is_rate = options_.sample_rate > 0 && options_.sample_rate <= 1;
  streams_.push_back({.name = std::move(name),
                      .filter = SpatialFilter(is_rate ? options_.sample_rate : 1, seed),
                      .line_blocks = std::max(options_.line_blocks, 1U)});
  std::optional<BlockTable>& table = streams_.back().line_of;
  if (streams_.size() > 1) {
    RequestStream& before = streams_.end()[-2];
    table = before.end_lines(options_.addresses);
    bytes_before_last_ += before.bytes_in_memory();
  }
  if (table) {
    table->clear();
  } else {
    table.emplace();
  }
}

void AccessBuilder::end_warm_up() {
  if (!streams_.empty()) streams_.back().end_warm_up();
}

absl::Status AccessBuilder::arrive(Nanoseconds time) {
  MCSIM_RETURN_IF_ERROR(sticky_error_);
  if (streams_.empty()) return invalid_argument("arrive: no VM was begun");
  RequestStream& stream = streams_.back();
  if (stream.requests > 0) {
    return invalid_argument("{}: its arrival comes before its requests", stream.name);
  }
  stream.arrival = time;
  return absl::OkStatus();
}

absl::Status AccessBuilder::depart(Nanoseconds time) {
  MCSIM_RETURN_IF_ERROR(sticky_error_);
  if (streams_.empty()) return invalid_argument("depart: no VM was begun");
  RequestStream& stream = streams_.back();
  if (stream.requests > 0 && time <= stream.last_time) {
    return invalid_argument("{}: it has a request {} ns after it departs", stream.name,
                            stream.last_time - time);
  }
  stream.departure = time;
  return absl::OkStatus();
}

// An error in the middle of a chunk leaves part of a request: the builder becomes unusable.
absl::Status AccessBuilder::latch_error(absl::Status status) {
  if (!status.ok()) sticky_error_ = status;
  return status;
}

absl::Status AccessBuilder::add(const RequestsView& chunk, std::optional<VmId> only,
                                Nanoseconds shift, const Tick& tick) {
  MCSIM_RETURN_IF_ERROR(sticky_error_);
  if (streams_.empty()) return invalid_argument("add: no VM was begun");
  MCSIM_RETURN_IF_ERROR(interning::check_options(options_, time_base_));
  MCSIM_RETURN_IF_ERROR(interning::check_optional_columns(chunk, options_, streams_.back().name));
  return latch_error(guarded("interning", [&] { return add_requests(chunk, only, shift, tick); }));
}

absl::Status AccessBuilder::add_requests(const RequestsView& chunk, std::optional<VmId> only,
                                         Nanoseconds shift, const Tick& tick) {
  RequestStream& stream = streams_.back();
  Nanoseconds latest = std::max(stream.last_given, stream.arrival);
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    if (only && chunk.vm[i] != *only) continue;
    Nanoseconds at = 0;
    if (chunk.op[i] > kLastOp || __builtin_add_overflow(chunk.time[i], shift, &at) || at < latest) {
      return interning::request_error(chunk, i, shift, latest, stream);
    }
    latest = at;
    const Op op{chunk.op[i]};
    if (op != Op::kDiscard) first_time_ = std::min(first_time_, at);
    if (options_.ops == OpFilter::kReads && op == Op::kWrite) continue;
    if (options_.key != BlockKey::kObject && is_beyond_64_bits(chunk.offset[i], chunk.length[i])) {
      return invalid_argument("{}: offset {} + length {} is beyond 2^64", stream.name,
                              chunk.offset[i], chunk.length[i]);
    }
    MCSIM_RETURN_IF_ERROR(op == Op::kDiscard ? discard(chunk.offset[i], chunk.length[i], at, tick)
                                             : take(chunk, i, at, tick));
  }
  stream.last_given = latest;
  return number_keys(tick);
}

// Adds one request, or its sampled pieces. Keys are numbered in portions, so a large request needs
// no memory beyond its ids.
absl::Status AccessBuilder::take(const RequestsView& chunk, std::size_t i, Nanoseconds at,
                                 const Tick& tick) {
  RequestStream& stream = streams_.back();
  const std::uint8_t op = chunk.op[i];
  std::uint64_t offset = chunk.offset[i];
  std::uint32_t length = chunk.length[i];
  const bool is_object = options_.key == BlockKey::kObject;
  const bool has_head = options_.key == BlockKey::kAligned;
  const std::uint64_t cut = options_.cut_bytes;
  while (true) {
    const std::uint64_t room = cut == 0 || is_object ? length : cut - offset % cut;
    const auto piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(length, room));
    const KeyRange touched = keys_of(offset, piece, options_);
    ++given_.requests[op];
    given_.accesses[op] += static_cast<Count>(touched.count);
    if (cut == 0 || stream.filter.samples(is_object ? offset : offset / cut)) {
      for (std::uint64_t k = 0; k < touched.count; ++k) {
        stream.keys.push_back(touched.first + k);
        if (stream.keys.size() == kKeysAtOnce) MCSIM_RETURN_IF_ERROR(number_keys(tick));
      }
      stream.push_request(at, op);
      const std::uint64_t head = has_head ? offset % options_.block_bytes : 0;
      stream.push_optional(options_, chunk, i, piece, static_cast<std::uint32_t>(head));
    }
    if (piece == length) return absl::OkStatus();
    offset += piece;
    length -= piece;
  }
}

absl::Status AccessBuilder::discard(std::uint64_t offset, std::uint32_t length, Nanoseconds at,
                                    const Tick& tick) {
  ++discard_requests_;
  MCSIM_RETURN_IF_ERROR(number_keys(tick));
  const KeyRange all = discarded_keys(offset, length, options_);
  RequestStream& stream = streams_.back();
  const std::size_t before = stream.discards.size();
  stream.discard(at, all.first, all.count);
  // Discarded blocks take time but are not accesses.
  discards_since_tick_ += static_cast<Count>(stream.discards.size() - before) + 1;
  if (!tick || discards_since_tick_ < kTickEvery) return absl::OkStatus();
  discards_since_tick_ = 0;
  return tick(reported_);
}

absl::Status AccessBuilder::number_keys(const Tick& tick) {
  RequestStream& stream = streams_.back();
  unreported_ += static_cast<Count>(stream.keys.size());
  MCSIM_RETURN_IF_ERROR(stream.number_keys());
  if (to_file_ && bytes_before_last_ + stream.bytes_in_memory() > to_file_->most_in_memory) {
    MCSIM_RETURN_IF_ERROR(spill());
  }
  if (!tick || unreported_ < kTickEvery) return absl::OkStatus();
  reported_ += std::exchange(unreported_, 0);
  return tick(reported_);
}

absl::Status AccessBuilder::spill() {
  if (spill_ == nullptr) spill_ = std::make_unique<interning::Spill>();
  for (RequestStream& stream : streams_) {
    MCSIM_RETURN_IF_ERROR(spill_->take(stream, to_file_->path));
  }
  bytes_before_last_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<Accesses> AccessBuilder::finish() && {
  MCSIM_RETURN_IF_ERROR(sticky_error_);
  auto merged = guarded("interning", [&] {
    auto trace = merge();
    if (trace.ok()) sticky_error_ = absl::FailedPreconditionError("this trace was finished before");
    return trace;
  });
  if (!merged.ok()) sticky_error_ = merged.status();
  return merged;
}

// Returns the trace without columns; departures have no request number yet.
absl::StatusOr<Accesses> AccessBuilder::without_columns() const {
  Accesses trace;
  trace.time_base = time_base_;
  trace.block_bytes = options_.block_bytes;
  trace.line_blocks = options_.line_blocks;
  trace.keeps_responses = options_.responses;
  trace.keeps_classes = options_.classes;
  trace.keeps_bytes = options_.bytes;
  trace.keeps_addresses = options_.addresses;
  trace.given = given_;
  trace.discard_requests = discard_requests_;
  const interning::MergedTime merged{options_.whole_seconds, first_time_};
  std::uint64_t unique = 0;
  for (const RequestStream& stream : streams_) {
    const bool is_late = stream.arrival > first_time_;
    trace.vms.push_back({.name = stream.name,
                         .first_id = static_cast<BlockId>(unique),
                         .unique_blocks = static_cast<Count>(stream.id_count()),
                         .requests = static_cast<Count>(stream.requests - stream.warm_up),
                         .accesses = static_cast<Count>(stream.accesses - stream.warm_up_accesses),
                         .arrives = is_late ? merged.of(stream.arrival) : VmInfo().arrives});
    trace.warm_up += stream.warm_up;
    unique += stream.id_count();
    if (unique >= kNoBlock) return interning::too_many_blocks(stream.name);
  }
  return trace;
}

void AccessBuilder::push_addresses(AccessesSink& sink) const {
  const std::uint64_t unit = options_.key == BlockKey::kAligned ? options_.block_bytes : 1;
  for (const RequestStream& stream : streams_) {
    for (const std::uint64_t line : stream.line_keys) {
      for (std::uint32_t i = 0; i < stream.line_blocks; ++i) {
        sink.push_address((line * stream.line_blocks + i) * unit);
      }
    }
  }
}

absl::StatusOr<Accesses> AccessBuilder::merge() {
  MCSIM_RETURN_IF_ERROR(interning::check_warm_up(streams_));
  if (options_.responses) MCSIM_RETURN_IF_ERROR(interning::check_responses(streams_));
  if (!streams_.empty()) streams_.back().end_lines(options_.addresses);
  MCSIM_ASSIGN_OR_RETURN(Accesses trace, without_columns());
  std::size_t requests = 0;
  std::size_t accesses = 0;
  std::size_t discards = 0;
  std::vector<interning::Due> departures;
  for (std::size_t v = 0; v < streams_.size(); ++v) {
    requests += streams_[v].requests;
    accesses += streams_[v].accesses;
    discards += streams_[v].discards.size();
    const auto& departure = streams_[v].departure;
    if (departure) departures.push_back({*departure, static_cast<VmId>(v)});
  }
  std::ranges::stable_sort(departures, {}, &interning::Due::time);
  for (const interning::Due& departure : departures) trace.departures.push_back({0, departure.vm});
  trace.discards.resize(discards);
  if (spill_ != nullptr) {
    MCSIM_RETURN_IF_ERROR(spill());
    MCSIM_RETURN_IF_ERROR(spill_->map());
  }
  MCSIM_ASSIGN_OR_RETURN(
      AccessesSink sink,
      to_file_ ? AccessesSink::to_file(std::move(trace), requests, accesses, to_file_->path)
               : AccessesSink(std::move(trace), requests, accesses));
  if (options_.addresses) push_addresses(sink);  // the merge releases the streams
  MCSIM_RETURN_IF_ERROR(interning::merge(streams_, spill_.get(),
                                         {options_.whole_seconds, first_time_}, departures, sink));
  return std::move(sink).finish();
}

}  // namespace mcsim
