#include "core/trace/interning/request_streams.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace mcsim::interning {

absl::Status too_many_blocks(std::string_view vm) {
  return absl::ResourceExhaustedError(fmt::format(
      "{}: the trace touches more than {} distinct blocks; use a larger block size", vm, kNoBlock));
}

std::size_t RequestStream::bytes_in_memory() const {
  const auto size = [](const auto&... column) { return (std::span(column).size_bytes() + ...); };
  return size(time, op, end, ids, response, of_class, bytes, head, line_keys);
}

void RequestStream::end_warm_up() {
  warm_up = requests;
  warm_up_accesses = accesses;
  warm_up_end = last_time;
  warm_up_followed.reset();
}

void RequestStream::push_request(Nanoseconds at, std::uint8_t what) {
  assert(at >= last_time && "requests of a VM are in time order");
  time.push_back(at);
  op.push_back(what);
  end.push_back(accesses + keys.size());
  if (requests++ == warm_up) warm_up_followed = at;
  last_time = at;
}

void RequestStream::push_optional(const ExpandOptions& options, const RequestsView& chunk,
                                  std::size_t i, std::uint32_t piece, std::uint32_t at) {
  if (options.responses) {
    response.push_back(chunk.response[i]);
    responded += chunk.response[i] >= 0 ? 1 : 0;
  }
  if (options.classes) of_class.push_back(chunk.of_class[i]);
  if (options.bytes) bytes.push_back(piece), head.push_back(at);
}

void RequestStream::discard(Nanoseconds at, std::uint64_t first, std::uint64_t count) {
  constexpr std::uint64_t kFew = 64;
  assert(line_of && keys.empty());
  if (count == 0) return;
  if (count <= kFew) return look_up_discarded(at, first, count);
  index_lines();
  const std::uint64_t last = first + (count - 1);
  for (auto line = index->lower_bound(first / line_blocks);
       line != index->end() && line->first <= last / line_blocks; ++line) {
    const std::uint64_t begin = line->first * line_blocks;
    const std::uint64_t from = first > begin ? first - begin : 0;
    const std::uint64_t to = std::min<std::uint64_t>(last - begin, line_blocks - 1);
    for (std::uint64_t place = from; place <= to; ++place) {
      discards.push_back(
          {at, requests, line->second * line_blocks + static_cast<std::uint32_t>(place)});
    }
  }
}

void RequestStream::look_up_discarded(Nanoseconds at, std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> discarded(count);
  std::iota(discarded.begin(), discarded.end(), first);
  std::vector<std::uint32_t> found(count);
  std::as_const(*line_of).find(lines_of(discarded), found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == 0) continue;
    const auto place = static_cast<std::uint32_t>(discarded[i] % line_blocks);
    discards.push_back({at, requests, (found[i] - 1) * line_blocks + place});
  }
}

void RequestStream::index_lines() {
  if (!index) {
    index.emplace();
    line_of->for_each(
        [&](std::uint64_t key, std::uint32_t value) { not_indexed.emplace_back(key, value - 1); });
  }
  std::ranges::sort(not_indexed);
  index->insert(not_indexed.begin(), not_indexed.end());
  not_indexed.clear();
}

// Lines are numbered in the order of their first key.
void RequestStream::note_new_lines(std::span<const std::uint64_t> of_keys,
                                   std::span<const std::uint32_t> found) {
  for (std::size_t i = 0, next = lines; i < found.size(); ++i) {
    if (found[i] / line_blocks != next) continue;
    not_indexed.emplace_back(of_keys[i] / line_blocks, next++);
  }
}

std::optional<BlockTable> RequestStream::end_lines(bool keeps_keys) {
  if (keeps_keys && line_of) {
    line_keys.resize(lines);
    line_of->for_each([&](std::uint64_t key, std::uint32_t value) { line_keys[value - 1] = key; });
  }
  index.reset();
  not_indexed = {};
  return std::exchange(line_of, std::nullopt);
}

absl::Status RequestStream::number_keys() {
  assert(line_of && "the table of lines is gone once the next VM begins");
  if ((lines + keys.size()) * line_blocks >= kNoBlock) return too_many_blocks(name);
  const std::size_t numbered = ids.size();
  ids.resize(numbered + keys.size());
  const auto found = std::span(ids).subspan(numbered);
  if (line_blocks == 1) {
    line_of->number(keys, found);
  } else {
    number_lines(found);
  }
  if (index) note_new_lines(keys, found);
  lines = line_of->size();
  accesses += keys.size();
  keys.clear();
  return absl::OkStatus();
}

std::vector<std::uint64_t> RequestStream::lines_of(std::span<const std::uint64_t> of_keys) const {
  std::vector<std::uint64_t> line(of_keys.begin(), of_keys.end());
  for (std::uint64_t& of_key : line) of_key /= line_blocks;
  return line;
}

void RequestStream::number_lines(std::span<std::uint32_t> found) {
  line_of->number(lines_of(keys), found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = found[i] * line_blocks + static_cast<std::uint32_t>(keys[i] % line_blocks);
  }
}

template <class T>
absl::Status Spill::Column<T>::take(std::vector<T>& last, const std::string& path) {
  if (last.empty()) return absl::OkStatus();
  if (!file) {
    MCSIM_ASSIGN_OR_RETURN(file, File::create_unnamed(path));
  }
  const auto taken = std::as_bytes(std::span(last));
  MCSIM_RETURN_IF_ERROR(file->write(taken, bytes));
  bytes += taken.size();
  last.clear();
  return absl::OkStatus();
}

template <class T>
absl::Status Spill::Column<T>::map() {
  if (!file) return absl::OkStatus();
  MCSIM_ASSIGN_OR_RETURN(const auto mapping, file->map());
  const auto* const first = reinterpret_cast<const T*>(mapping->bytes().data());
  values = SharedArray<T>(mapping, std::span(first, bytes / sizeof(T)));
  return absl::OkStatus();
}

absl::Status Spill::take(RequestStream& stream, const std::string& path) {
  MCSIM_RETURN_IF_ERROR(time.take(stream.time, path));
  MCSIM_RETURN_IF_ERROR(op.take(stream.op, path));
  MCSIM_RETURN_IF_ERROR(end.take(stream.end, path));
  MCSIM_RETURN_IF_ERROR(ids.take(stream.ids, path));
  MCSIM_RETURN_IF_ERROR(response.take(stream.response, path));
  MCSIM_RETURN_IF_ERROR(of_class.take(stream.of_class, path));
  MCSIM_RETURN_IF_ERROR(bytes.take(stream.bytes, path));
  return head.take(stream.head, path);
}

absl::Status Spill::map() {
  MCSIM_RETURN_IF_ERROR(time.map());
  MCSIM_RETURN_IF_ERROR(op.map());
  MCSIM_RETURN_IF_ERROR(end.map());
  MCSIM_RETURN_IF_ERROR(ids.map());
  MCSIM_RETURN_IF_ERROR(response.map());
  MCSIM_RETURN_IF_ERROR(of_class.map());
  MCSIM_RETURN_IF_ERROR(bytes.map());
  return head.map();
}

}  // namespace mcsim::interning
