#include "core/trace/interning/merge.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/base/files.hpp"
#include "core/base/wraps.hpp"

namespace mcsim::interning {
namespace {

// Requests between two checks of the sink.
constexpr std::size_t kRequestsAtOnce = std::size_t{1} << 18;

template <class T>
std::span<const T> part(const SharedArray<T>& values, std::size_t begin, std::size_t count) {
  if (values.empty()) return {};
  return std::span(values.data(), values.size()).subspan(begin, count);
}

// The columns of one stream, and its position in the merge. Optional columns may be empty.
struct StreamReader {
  std::span<const Nanoseconds> time = {};
  std::span<const std::uint8_t> op = {};
  std::span<const std::uint64_t> end = {};
  std::span<const std::uint32_t> ids = {};
  std::span<const Nanoseconds> response = {};
  std::span<const std::uint8_t> of_class = {};
  std::span<const std::uint32_t> bytes = {};
  std::span<const std::uint32_t> head = {};
  BlockId first_id = 0;
  std::size_t next = 0;      // request
  std::size_t released = 0;  // requests

  std::uint64_t begin_of(std::size_t request) const { return request == 0 ? 0 : end[request - 1]; }
  bool is_over() const { return next == time.size(); }

  void push_next(VmId vm, Nanoseconds at, AccessesSink& sink) {
    assert(!is_over());
    for (std::uint64_t i = begin_of(next); i < end[next]; ++i) sink.push_block(first_id + ids[i]);
    if (!response.empty()) sink.push_response(response[next]);
    if (!of_class.empty()) sink.push_class(of_class[next]);
    if (!bytes.empty()) sink.push_bytes(bytes[next], head[next]);
    sink.push_request(at, vm, op[next++]);
  }

  // Releases the memory of the merged requests.
  void release() {
    const auto release_part = [this](const auto& column) {
      if (!column.empty()) advise_dont_need(column.subspan(released, next - released));
    };
    release_part(time), release_part(op), release_part(end);
    release_part(response), release_part(of_class), release_part(bytes);
    release_part(head);
    advise_dont_need(ids.subspan(begin_of(released), begin_of(next) - begin_of(released)));
    released = next;
  }
};

std::vector<StreamReader> readers_of(std::span<const RequestStream> streams, const Spill* spill) {
  std::vector<StreamReader> readers;
  std::size_t begin = 0;
  std::size_t accesses = 0;
  BlockId first_id = 0;
  for (const RequestStream& stream : streams) {
    if (spill == nullptr) {
      readers.push_back({stream.time, stream.op, stream.end, stream.ids, stream.response,
                         stream.of_class, stream.bytes, stream.head, first_id});
    } else {
      const std::size_t count = stream.requests;
      readers.push_back(
          {part(spill->time.values, begin, count), part(spill->op.values, begin, count),
           part(spill->end.values, begin, count),
           part(spill->ids.values, accesses, stream.accesses),
           part(spill->response.values, begin, count), part(spill->of_class.values, begin, count),
           part(spill->bytes.values, begin, count), part(spill->head.values, begin, count),
           first_id});
    }
    begin += stream.requests;
    accesses += stream.accesses;
    first_id += stream.id_count();
  }
  return readers;
}

// The order of the requests of many streams. A heap of all streams would switch streams for every
// request, with a cache miss each. Instead, the requests of a time span are listed stream by stream
// and sorted. The span has enough requests of each stream to make the switch worthwhile, and few
// enough that they stay in the cache.
class MergeOrder {
 public:
  explicit MergeOrder(std::span<const StreamReader> streams)
      : streams_(streams), usual_(std::max(kFewest, kOfStream * streams.size())) {
    Nanoseconds last = std::numeric_limits<Nanoseconds>::min();
    for (const StreamReader& stream : streams) {
      if (stream.is_over()) continue;
      first_ = std::min(first_, stream.time[stream.next]);
      last = std::max(last, stream.time.back());
      left_ += stream.time.size() - stream.next;
    }
    span_ = left_ <= usual_ ? distance(first_, last) : distance(first_, last) / left_ * usual_;
  }

  bool empty() const { return left_ == 0; }

  // Calls push(due) for the next requests; push() advances the stream by one request.
  absl::Status push(auto&& push) {
    assert(!empty());
    while (!list()) {
      if (span_ == 0) return push_instant(push);
      span_ /= 2;
    }
    sort();
    for (const Due& due : sorted_) MCSIM_RETURN_IF_ERROR(push(due));
    if (listed_.size() < usual_ / 2) span_ = span_ < kLongest / 2 ? span_ * 2 + 1 : kLongest;
    left_ -= listed_.size();
    first_ = then_;
    return absl::OkStatus();
  }

 private:
  static constexpr std::size_t kFewest = std::size_t{1} << 13;
  static constexpr std::size_t kOfStream = 8;
  static constexpr std::uint64_t kLongest = std::uint64_t{1} << 62;

  MCSIM_WRAPS static std::uint64_t distance(Nanoseconds from, Nanoseconds to) {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  }

  // Lists the requests of the span, stream by stream; returns false if there are too many.
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

  // Pushes all requests of one time, of which there may be any number. They are already in order.
  absl::Status push_instant(auto&& push) {
    then_ = std::numeric_limits<Nanoseconds>::max();
    for (std::size_t v = 0; v < streams_.size(); ++v) {
      const StreamReader& stream = streams_[v];
      for (; !stream.is_over() && stream.time[stream.next] == first_; --left_) {
        MCSIM_RETURN_IF_ERROR(push(Due{first_, static_cast<VmId>(v)}));
      }
      if (!stream.is_over()) then_ = std::min(then_, stream.time[stream.next]);
    }
    first_ = then_;
    return absl::OkStatus();
  }

  // Splits the span into about one part a request, then sorts each part.
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

  std::span<const StreamReader> streams_;
  std::size_t usual_;  // requests of a span
  std::size_t left_ = 0;
  Nanoseconds first_ = std::numeric_limits<Nanoseconds>::max();  // time of the next request
  Nanoseconds then_ = 0;                                         // time of the first after the span
  std::uint64_t span_ = 0;                                       // length from first_, inclusive
  std::vector<Due> listed_;
  std::vector<Due> sorted_;
  std::vector<std::uint32_t> ends_;
};

// A discard in the merged order of all streams; it comes before a request.
struct DueDiscard {
  Due due;
  std::size_t position;  // requests of its VM before it
  BlockId block;

  bool is_before(Due request, std::size_t at) const {
    return std::tie(due, position) <= std::tie(request, at);
  }
};

std::vector<DueDiscard> discards_of(std::span<RequestStream> streams,
                                    std::span<const StreamReader> readers) {
  std::vector<DueDiscard> all;
  for (std::size_t v = 0; v < streams.size(); ++v) {
    for (const auto& [time, position, id] : streams[v].discards) {
      all.push_back({{time, static_cast<VmId>(v)}, position, readers[v].first_id + id});
    }
    streams[v].discards = {};
  }
  std::ranges::stable_sort(all, {}, &DueDiscard::due);
  return all;
}

}  // namespace

absl::Status merge(std::vector<RequestStream>& streams, const Spill* spill, MergedTime merged_time,
                   std::span<const Due> departures, AccessesSink& sink) {
  assert(std::ranges::is_sorted(departures, {}, &Due::time));
  std::vector<StreamReader> readers = readers_of(streams, spill);
  const std::vector<DueDiscard> discards = discards_of(streams, readers);
  std::size_t merged = 0;
  std::size_t departed = 0;
  std::size_t discarded = 0;
  const auto push_next = [&](Due due) -> absl::Status {
    StreamReader& reader = readers[due.vm];
    while (departed < departures.size() && departures[departed].time <= due.time) {
      sink.depart(departed++, merged);
    }
    for (; discarded < discards.size() && discards[discarded].is_before(due, reader.next);
         ++discarded) {
      sink.discard(discarded, {merged, discards[discarded].block});
    }
    reader.push_next(due.vm, merged_time.of(due.time), sink);
    if (reader.is_over()) {
      reader.release();
      streams[due.vm] = {};
    }
    if (merged++ % kRequestsAtOnce > 0) return absl::OkStatus();
    for (StreamReader& other : readers) {
      if (!other.is_over()) other.release();
    }
    return sink.status();
  };
  MergeOrder order(readers);
  while (!order.empty()) MCSIM_RETURN_IF_ERROR(order.push(push_next));
  while (departed < departures.size()) sink.depart(departed++, merged);
  for (; discarded < discards.size(); ++discarded) {
    sink.discard(discarded, {merged, discards[discarded].block});
  }
  return absl::OkStatus();
}

}  // namespace mcsim::interning
