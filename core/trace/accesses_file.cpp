#include "core/trace/accesses_file.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/checksum.hpp"
#include "core/base/guarded.hpp"
#include "core/base/words.hpp"
#include "core/trace/requests.hpp"

namespace mcsim {
namespace {

using accesses_file::kAlways;
using accesses_file::kColumnAlignment;
using accesses_file::kColumns;
using accesses_file::kOnDemand;

constexpr std::uint64_t kMagic = 0x3146434341434d2eULL;  // ".MCACCF1"
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kChecksumAt = 3;  // the word of the head that is of all others
// Columns are looked through so many bytes, or requests, at a time.
constexpr std::size_t kPiece = std::size_t{1} << 20;

using Sums = std::array<std::uint64_t, kColumns>;

// Where the columns that are there begin, and the last one ends.
struct Layout {
  std::array<std::uint64_t, kColumns> begin;
  std::uint64_t end;
};

bool is_there(std::size_t column, const Accesses& trace) {
  return column < kAlways || trace.kept()[column - kAlways];
}

Layout layout_of(const Accesses& trace, std::size_t head_words, std::size_t requests,
                 std::size_t accesses) {
  const std::array<std::uint64_t, kColumns> bytes{
      accesses * sizeof(BlockId),      (requests + 1) * sizeof(std::uint64_t),
      requests * sizeof(Nanoseconds),  requests * sizeof(VmId),
      requests * sizeof(std::uint8_t), requests * sizeof(Nanoseconds),
      requests * sizeof(std::uint8_t), requests * sizeof(std::uint32_t)};
  Layout layout{.begin = {}, .end = head_words * kWord};
  for (std::size_t i = 0; i < kColumns; ++i) {
    if (!is_there(i, trace)) continue;
    layout.begin[i] = (layout.end + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
    layout.end = layout.begin[i] + bytes[i];
  }
  return layout;
}

// --- The head ----------------------------------------------------------------------

std::uint64_t sum_of(std::span<const std::uint64_t> head) {
  const std::uint64_t before = checksum(std::as_bytes(head.first(kChecksumAt)), 0);
  return checksum(std::as_bytes(head.subspan(kChecksumAt + 1)), before);
}

void put_text(std::string_view text, std::vector<std::uint64_t>& head) {
  head.push_back(text.size());
  for (; !text.empty(); text.remove_prefix(std::min(kWord, text.size()))) {
    std::array<char, kWord> word{};
    text.copy(word.data(), kWord);
    head.push_back(std::bit_cast<std::uint64_t>(word));
  }
}

std::vector<std::uint64_t> head_of(const Accesses& trace, std::size_t requests,
                                   std::size_t accesses, const Sums& sums) {
  std::vector<std::uint64_t> head{kMagic, kAccessesVersion, 0, 0};
  const auto put = [&](auto value) { head.push_back(static_cast<std::uint64_t>(value)); };
  put(requests), put(accesses);
  for (const std::uint64_t sum : std::span(sums).first<kAlways>()) put(sum);
  put(trace.time_base), put(trace.block_bytes), put(trace.line_blocks), put(trace.warm_up);
  for (const Count count : trace.given.requests) put(count);
  for (const Count count : trace.given.accesses) put(count);
  put(trace.vms.size()), put(trace.departures.size());
  for (const VmInfo& vm : trace.vms) {
    put(vm.unique_blocks), put(vm.requests), put(vm.accesses), put(vm.arrives);
    put_text(vm.name, head);
  }
  for (const Departure& departure : trace.departures) put(departure.request), put(departure.vm);
  const Kept kept = trace.kept();
  for (std::size_t i = 0; i < kOnDemand; ++i) {
    if (kept[i] && i > 0) put(i);
    if (kept[i]) put(sums[kAlways + i]);
  }
  head[2] = head.size();
  head[kChecksumAt] = sum_of(head);
  return head;
}

struct Sizes {
  std::size_t requests = 0;
  std::size_t accesses = 0;
  Sums sums = {};
};

// Which of the columns on demand there are, at the end of a head; false if there can be none such.
bool read_kept(Words& words, Sizes& sizes, Accesses& trace) {
  const std::array kept{&trace.keeps_responses, &trace.keeps_classes, &trace.keeps_bytes};
  std::uint64_t next = 0;
  if (words.left() % 2 == 1) {
    *kept[next] = true;
    sizes.sums[kAlways + next] = words.take();
  }
  while (words.left() > 0) {
    const std::uint64_t number = words.take();
    if (number <= next || number >= kOnDemand) return false;
    next = number;
    *kept[next] = true;
    sizes.sums[kAlways + next] = words.take();
  }
  return words.over();
}

// Reads what stands in a head into `trace`; an empty text, or what is wrong.
std::string read_head(Words words, Sizes& sizes, Accesses& trace) {
  // Fewer than would make a file larger than can be.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 56;
  constexpr const char* kWrongHead = "its head does not say all, or what cannot be";
  sizes.requests = words.take_up_to<std::size_t>(kMost);
  sizes.accesses = words.take_up_to<std::size_t>(kMost);
  for (std::uint64_t& sum : std::span(sizes.sums).first<kAlways>()) sum = words.take();
  trace.time_base = words.take_up_to<TimeBase>(Choices<TimeBase>::names.size() - 1);
  trace.block_bytes = words.take_as<std::uint32_t>();
  trace.line_blocks = words.take_as<std::uint32_t>();
  trace.warm_up = words.take_up_to<std::size_t>(sizes.requests);
  for (Count& count : trace.given.requests) count = words.take_as<Count>();
  for (Count& count : trace.given.accesses) count = words.take_as<Count>();
  const auto vms = words.take_up_to<std::size_t>(kMostVms);
  const auto departures = words.take_up_to<std::size_t>(vms);
  const bool of_nothing = trace.block_bytes == 0 || trace.line_blocks == 0;
  if (words.whole() && of_nothing) return "blocks, or lines, of nothing";
  std::uint64_t unique = 0;
  for (std::size_t v = 0; v < vms; ++v) {
    VmInfo vm{.name = "", .first_id = static_cast<BlockId>(unique)};
    vm.unique_blocks = words.take_up_to<Count>(kNoBlock - 1 - unique);
    vm.requests = words.take_as<Count>();
    vm.accesses = words.take_as<Count>();
    vm.arrives = static_cast<Nanoseconds>(words.take());
    vm.name = words.take_text();
    unique += static_cast<std::uint64_t>(vm.unique_blocks);
    if (!words.whole()) break;
    if (vm.unique_blocks % trace.line_blocks != 0) return "a VM with half a line";
    if (!is_vm_name(vm.name)) return "a VM with no name";
    trace.vms.push_back(std::move(vm));
  }
  for (std::size_t d = 0; d < departures && words.whole(); ++d) {
    const auto request = words.take_up_to<std::size_t>(sizes.requests);
    trace.departures.push_back({request, words.take_up_to<VmId>(vms - 1)});
  }
  if (!words.whole()) return kWrongHead;
  return read_kept(words, sizes, trace) ? "" : kWrongHead;
}

// --- What replays rely on ----------------------------------------------------------

// Whether requests are so many that memory need not hold them all.
bool is_piece(const Accesses& trace, RequestRange range) {
  return range.end - range.begin >= kPiece ||
         trace.request_begin[range.end] - trace.request_begin[range.begin] >= kPiece;
}

template <class T>
std::uint64_t checksum_of(const SharedArray<T>& column) {
  constexpr std::size_t kValues = kPiece / sizeof(T);
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < column.size(); at += kValues) {
    const std::span piece(column.data() + at, std::min(kValues, column.size() - at));
    sum = checksum(std::as_bytes(piece), sum);
    let_go(piece);
  }
  return sum;
}

std::string wrong_in_departures(const Accesses& trace, std::vector<std::size_t>& gone) {
  std::size_t last = trace.warm_up;
  for (const auto& [request, vm] : trace.departures) {
    if (request < last) return "departures that are not in order";
    if (gone[vm] != trace.request_count()) return "a VM that departs twice";
    gone[vm] = last = request;
  }
  return "";
}

// What is found in the columns of a VM, and what its head says of it.
struct Found {
  Count requests = 0;
  Count accesses = 0;
  std::size_t gone = 0;  // before this request
};

std::string_view wrong_in_request(const Accesses& trace, std::size_t r, std::vector<Found>& found) {
  const std::uint64_t begin = trace.request_begin[r];
  const std::uint64_t end = trace.request_begin[r + 1];
  if (begin > end || end > trace.ids.size()) return "has blocks that are not there";
  if (r > 0 && trace.request_time[r] < trace.request_time[r - 1]) return "is before the last one";
  if (trace.request_op[r] > 1) return "is neither a read nor a write";
  if (trace.request_vm[r] >= trace.vms.size()) return "is of no VM";
  if (trace.keeps_responses && trace.request_response[r] < -1) return "took less than no time";
  if (trace.keeps_classes && trace.request_class[r] >= kMostClasses) return "is of no class";
  Found& of_vm = found[trace.request_vm[r]];
  if (r >= of_vm.gone) return "is of a VM that is gone";
  const VmInfo& vm = trace.vms[trace.request_vm[r]];
  if (trace.request_time[r] < vm.arrives) return "is of a VM that has not arrived";
  bool outside = false;
  for (std::uint64_t i = begin; i < end; ++i) {
    outside |= trace.ids[i] - vm.first_id >= static_cast<std::uint64_t>(vm.unique_blocks);
  }
  if (outside) return "has blocks of another VM, or of none";
  if (r >= trace.warm_up) {
    ++of_vm.requests;
    of_vm.accesses += static_cast<Count>(end - begin);
  }
  return "";
}

std::string wrong_in_columns(const Accesses& trace) {
  std::vector<std::size_t> gone(trace.vms.size(), trace.request_count());
  if (const std::string wrong = wrong_in_departures(trace, gone); !wrong.empty()) return wrong;
  std::vector<Found> found(trace.vms.size());
  for (std::size_t v = 0; v < gone.size(); ++v) found[v].gone = gone[v];
  if (trace.request_begin[0] != 0) return "blocks of no request";
  std::size_t passed = 0;
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    const std::string_view wrong = wrong_in_request(trace, r, found);
    if (!wrong.empty()) return fmt::format("request {} {}", r, wrong);
    if (is_piece(trace, {passed, r})) trace.passed({std::exchange(passed, r), r});
  }
  if (trace.request_begin[trace.request_count()] != trace.ids.size()) return "blocks of no request";
  trace.passed({passed, trace.request_count()});
  for (std::size_t v = 0; v < gone.size(); ++v) {
    const VmInfo& vm = trace.vms[v];
    if (vm.requests != found[v].requests || vm.accesses != found[v].accesses) {
      return fmt::format("{} has other counts than its head says", vm.name);
    }
  }
  return "";
}

absl::Status check(const Accesses& trace, const Sums& sums, std::string_view name) {
  const auto& [response, of_class, request_bytes] = trace.on_demand();
  const Sums found{checksum_of(trace.ids),          checksum_of(trace.request_begin),
                   checksum_of(trace.request_time), checksum_of(trace.request_vm),
                   checksum_of(trace.request_op),   checksum_of(response),
                   checksum_of(of_class),           checksum_of(request_bytes)};
  const std::string wrong =
      found == sums ? wrong_in_columns(trace) : "a checksum does not match what it is of";
  if (wrong.empty()) return absl::OkStatus();
  return data_loss("{}: a damaged interned trace ({}); remove it: it is made anew", name, wrong);
}

// --- From bytes to accesses --------------------------------------------------------

// What bytes say that they are, of which the columns are still to be checked.
absl::StatusOr<Accesses> view_of(std::span<const std::byte> bytes,
                                 const std::shared_ptr<const void>& owner, std::string_view name,
                                 Sums& sums) {
  const auto wrong = [&](std::string_view what) {
    return data_loss(
        "{}: no interned trace of this version of mcsim ({}); remove it: it is made "
        "anew",
        name, what);
  };
  const std::span all(reinterpret_cast<const std::uint64_t*>(bytes.data()), bytes.size() / kWord);
  if (all.size() <= kChecksumAt || all[0] != kMagic) return wrong("another kind of file");
  if (all[1] != kAccessesVersion) return wrong(fmt::format("version {}", all[1]));
  if (all[2] <= kChecksumAt || all[2] > all.size()) return wrong("its head is cut short");
  const auto head = all.first(all[2]);
  if (head[kChecksumAt] != sum_of(head)) return wrong("its head is damaged");
  Accesses trace;
  Sizes sizes;
  const std::string said = read_head(Words(head.subspan(kChecksumAt + 1)), sizes, trace);
  if (!said.empty()) return wrong(said);
  const Layout layout = layout_of(trace, head.size(), sizes.requests, sizes.accesses);
  if (layout.end != bytes.size()) {
    return wrong(fmt::format("{} bytes instead of {}", bytes.size(), layout.end));
  }
  const auto column = [&]<class T>(std::size_t i, std::size_t size, SharedArray<T>& values) {
    const auto* const first = reinterpret_cast<const T*>(bytes.data() + layout.begin[i]);
    values = SharedArray<T>(owner, std::span(first, size));
  };
  column(0, sizes.accesses, trace.ids);
  column(1, sizes.requests + 1, trace.request_begin);
  column(2, sizes.requests, trace.request_time);
  column(3, sizes.requests, trace.request_vm);
  column(4, sizes.requests, trace.request_op);
  std::size_t next = kAlways;
  const auto if_kept = [&](auto& values, bool kept) {
    if (kept) column(next, sizes.requests, values);
    ++next;
  };
  for_each_column(if_kept, trace.on_demand(), trace.kept());
  sums = sizes.sums;
  return trace;
}

}  // namespace

AccessesSink::AccessesSink(Accesses trace, std::size_t requests, std::size_t accesses,
                           std::unique_ptr<const File> file,
                           const std::array<std::uint64_t, kColumns>& at)
    : trace_(std::move(trace)),
      requests_(requests),
      file_(std::move(file)),
      ids_(accesses, file_.get(), at[0]),
      begin_(requests + 1, file_.get(), at[1]),
      time_(requests, file_.get(), at[2]),
      vm_(requests, file_.get(), at[3]),
      op_(requests, file_.get(), at[4]),
      on_demand_{{trace_.keeps_responses ? requests : 0, file_.get(), at[kAlways]},
                 {trace_.keeps_classes ? requests : 0, file_.get(), at[kAlways + 1]},
                 {trace_.keeps_bytes ? requests : 0, file_.get(), at[kAlways + 2]}} {
  begin_.push(0);
}

absl::StatusOr<AccessesSink> AccessesSink::to_file(Accesses trace, std::size_t requests,
                                                   std::size_t accesses, const std::string& path) {
  MCSIM_ASSIGN_OR_RETURN(File file, File::create(path));
  const Layout layout = layout_of(trace, head_of(trace, 0, 0, {}).size(), requests, accesses);
  return AccessesSink(std::move(trace), requests, accesses,
                      std::make_unique<const File>(std::move(file)), layout.begin);
}

absl::Status AccessesSink::status() const {
  absl::Status first = ids_.status();
  for (const absl::Status& of : {begin_.status(), time_.status(), vm_.status(), op_.status()}) {
    first.Update(of);
  }
  for_each_column([&](const auto& of) { first.Update(of.status()); }, on_demand_.all());
  return first;
}

absl::StatusOr<Accesses> AccessesSink::finish() && {
  if (file_ == nullptr) {
    trace_.ids = ids_.take();
    trace_.request_begin = begin_.take();
    trace_.request_time = time_.take();
    trace_.request_vm = vm_.take();
    trace_.request_op = op_.take();
    for_each_column([](auto& column, auto& made) { column = made.take(); }, trace_.on_demand(),
                    on_demand_.all());
    return std::move(trace_);
  }
  ids_.flush(), begin_.flush(), time_.flush(), vm_.flush(), op_.flush();
  const auto flush = [](auto& column, bool kept) {
    if (kept) column.flush();
  };
  for_each_column(flush, on_demand_.all(), trace_.kept());
  MCSIM_RETURN_IF_ERROR(status());
  const auto& [response, of_class, request_bytes] = on_demand_;
  const Sums sums{ids_.checksum(),     begin_.checksum(),       time_.checksum(),
                  vm_.checksum(),      op_.checksum(),          response.checksum(),
                  of_class.checksum(), request_bytes.checksum()};
  const std::vector<std::uint64_t> head = head_of(trace_, requests_, accesses_, sums);
  const std::uint64_t end = layout_of(trace_, head.size(), requests_, accesses_).end;
  MCSIM_RETURN_IF_ERROR(file_->extend(end));
  MCSIM_RETURN_IF_ERROR(file_->write(std::as_bytes(std::span(head)), 0));
  MCSIM_ASSIGN_OR_RETURN(const auto mapping, file_->map());
  Sums read;
  return view_of(mapping->bytes(), mapping, "what was just written", read);
}

absl::Status write_accesses(const Accesses& trace, const std::string& path) {
  return guarded(path, [&]() -> absl::Status {
    Accesses head = trace;
    MCSIM_ASSIGN_OR_RETURN(
        AccessesSink sink,
        AccessesSink::to_file(std::move(head), trace.request_count(), trace.ids.size(), path));
    std::size_t passed = 0;
    for (std::size_t r = 0; r < trace.request_count(); ++r) {
      for (const BlockId id : trace.blocks_of(r)) sink.push_block(id);
      const auto push_kept = [r](const auto& column, auto& made, bool kept) {
        if (kept) made.push(column[r]);
      };
      for_each_column(push_kept, trace.on_demand(), sink.on_demand().all(), trace.kept());
      sink.push_request(trace.request_time[r], trace.request_vm[r], trace.request_op[r]);
      if (!is_piece(trace, {passed, r})) continue;
      trace.passed({std::exchange(passed, r), r});
      MCSIM_RETURN_IF_ERROR(sink.status());
    }
    return std::move(sink).finish().status();
  });
}

absl::StatusOr<Accesses> accesses_in(std::span<const std::byte> bytes,
                                     std::shared_ptr<const void> owner, std::string_view name) {
  return guarded(name, [&]() -> absl::StatusOr<Accesses> {
    Sums sums;
    MCSIM_ASSIGN_OR_RETURN(Accesses trace, view_of(bytes, owner, name, sums));
    MCSIM_RETURN_IF_ERROR(check(trace, sums, name));
    return trace;
  });
}

absl::StatusOr<Accesses> open_checked_accesses(const std::string& path) {
  return guarded(path, [&]() -> absl::StatusOr<Accesses> {
    MCSIM_ASSIGN_OR_RETURN(const auto mapping, map_file(path));
    Sums sums;
    return view_of(mapping->bytes(), mapping, path, sums);
  });
}

absl::StatusOr<Accesses> open_accesses(const std::string& path) {
  return guarded(path, [&]() -> absl::StatusOr<Accesses> {
    MCSIM_ASSIGN_OR_RETURN(const auto mapping, map_file(path));
    return accesses_in(mapping->bytes(), mapping, path);
  });
}

}  // namespace mcsim
