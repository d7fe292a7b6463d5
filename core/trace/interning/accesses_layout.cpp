#include "core/trace/interning/accesses_layout.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "core/base/checksum.hpp"
#include "core/base/files.hpp"
#include "core/base/word_reader.hpp"

namespace mcsim::interning {
namespace {

constexpr std::uint64_t kMagic = 0x3146434341434d2eULL;  // ".MCACCF1"
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kSizeAt = 2;      // index of the word with the number of words in the head
constexpr std::size_t kChecksumAt = 3;  // index of the word with the checksum of the other words

std::array<bool, kOptional> kept(const Accesses& trace) {
  return {trace.keeps_responses, trace.keeps_classes, trace.keeps_bytes, trace.keeps_bytes,
          trace.keeps_addresses};
}

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

// Bytes of one checksum update.
constexpr std::size_t kPiece = std::size_t{1} << 20;

template <class T>
std::uint64_t checksum_of(const SharedArray<T>& column) {
  constexpr std::size_t kValues = kPiece / sizeof(T);
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < column.size(); at += kValues) {
    const std::span piece(column.data() + at, std::min(kValues, column.size() - at));
    sum = checksum(std::as_bytes(piece), sum);
    advise_dont_need(piece);
  }
  return sum;
}

// Reads the list of optional columns at the end of a head; returns false if it is invalid.
bool read_optional(WordReader& words, Sums& sums, Accesses& trace) {
  std::array<bool, kOptional> keeps{};
  std::uint64_t next = 0;
  if (words.left() % 2 == 1) {
    keeps[next] = true;
    sums[kRequired + next] = words.take();
  }
  while (words.left() > 0) {
    const std::uint64_t number = words.take();
    if (number <= next || number >= kOptional) return false;
    next = number;
    keeps[next] = true;
    sums[kRequired + next] = words.take();
  }
  trace.keeps_responses = keeps[0];
  trace.keeps_classes = keeps[1];
  trace.keeps_bytes = keeps[2];
  trace.keeps_addresses = keeps[4];
  return words.over() && keeps == kept(trace);
}

// Reads the discards of blocks below `blocks`.
void read_discards(WordReader& words, std::size_t requests, std::uint64_t blocks, Accesses& trace) {
  trace.discard_requests = words.take_as<Count>();
  const auto discards = words.take_up_to<std::size_t>(words.left() / 2);
  if (!words.whole()) return;
  trace.discards.reserve(discards);
  for (std::size_t d = 0; d < discards && words.whole(); ++d) {
    const auto request = words.take_up_to<std::size_t>(requests);
    trace.discards.push_back({request, words.take_up_to<BlockId>(blocks - 1)});
  }
}

// Reads the VMs, their departures and their discards; returns the error in the VMs, or "".
std::string read_vms(WordReader& words, std::size_t requests, Accesses& trace) {
  const auto vms = words.take_up_to<std::size_t>(kMostVms);
  const auto departures = words.take_up_to<std::size_t>(vms);
  if (!words.whole()) return "";
  if (trace.block_bytes == 0 || trace.line_blocks == 0) return "a block or line size of 0";
  std::uint64_t unique = 0;
  for (std::size_t v = 0; v < vms; ++v) {
    VmInfo vm{.name = "", .first_id = static_cast<BlockId>(unique)};
    vm.unique_blocks = words.take_up_to<Count>(kNoBlock - 1 - unique);
    vm.requests = words.take_as<Count>();
    vm.accesses = words.take_as<Count>();
    vm.arrives = static_cast<Nanoseconds>(words.take());
    vm.name = words.take_text();
    unique += static_cast<std::uint64_t>(vm.unique_blocks);
    if (!words.whole()) return "";
    if (vm.unique_blocks % trace.line_blocks != 0) return "a VM with half a line";
    if (!is_vm_name(vm.name)) return "a VM with no name";
    trace.vms.push_back(std::move(vm));
  }
  for (std::size_t d = 0; d < departures && words.whole(); ++d) {
    const auto request = words.take_up_to<std::size_t>(requests);
    trace.departures.push_back({request, words.take_up_to<VmId>(vms - 1)});
  }
  read_discards(words, requests, unique, trace);
  return "";
}

// Reads a head; returns the error in it, or "".
std::string read_head(WordReader words, FileHead& head) {
  Accesses& trace = head.trace;
  // An upper limit that keeps sizes of files below 2^64.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 56;
  head.requests = words.take_up_to<std::size_t>(kMost);
  head.accesses = words.take_up_to<std::size_t>(kMost);
  for (std::uint64_t& sum : std::span(head.sums).first<kRequired>()) sum = words.take();
  trace.time_base = words.take_up_to<TimeBase>(Choices<TimeBase>::names.size() - 1);
  trace.block_bytes = words.take_as<std::uint32_t>();
  trace.line_blocks = words.take_as<std::uint32_t>();
  trace.warm_up = words.take_up_to<std::size_t>(head.requests);
  for (Count& count : trace.given.requests) count = words.take_as<Count>();
  for (Count& count : trace.given.accesses) count = words.take_as<Count>();
  if (std::string wrong = read_vms(words, head.requests, trace); !wrong.empty()) return wrong;
  const bool is_valid = words.whole() && read_optional(words, head.sums, trace);
  return is_valid ? "" : "missing or invalid values in its head";
}

}  // namespace

Layout layout_of(const Accesses& trace, std::size_t requests, std::size_t accesses) {
  const std::array<std::uint64_t, kColumns> bytes{
      accesses * sizeof(BlockId),       (requests + 1) * sizeof(std::uint64_t),
      requests * sizeof(Nanoseconds),   requests * sizeof(VmId),
      requests * sizeof(std::uint8_t),  requests * sizeof(Nanoseconds),
      requests * sizeof(std::uint8_t),  requests * sizeof(std::uint32_t),
      requests * sizeof(std::uint32_t), trace.id_count() * sizeof(std::uint64_t)};
  Layout layout{.end = head_of(trace, 0, 0, {}).size() * kWord};
  for (std::size_t i = 0; i < kColumns; ++i) {
    if (i >= kRequired && !kept(trace)[i - kRequired]) continue;
    layout.begin[i] = (layout.end + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
    layout.bytes[i] = bytes[i];
    layout.end = layout.begin[i] + bytes[i];
  }
  return layout;
}

std::vector<std::uint64_t> head_of(const Accesses& trace, std::size_t requests,
                                   std::size_t accesses, const Sums& sums) {
  std::vector<std::uint64_t> head{kMagic, kAccessesVersion, 0, 0};
  const auto put = [&](auto value) { head.push_back(static_cast<std::uint64_t>(value)); };
  put(requests), put(accesses);
  for (const std::uint64_t sum : std::span(sums).first<kRequired>()) put(sum);
  put(trace.time_base), put(trace.block_bytes), put(trace.line_blocks), put(trace.warm_up);
  for (const Count count : trace.given.requests) put(count);
  for (const Count count : trace.given.accesses) put(count);
  put(trace.vms.size()), put(trace.departures.size());
  for (const VmInfo& vm : trace.vms) {
    put(vm.unique_blocks), put(vm.requests), put(vm.accesses), put(vm.arrives);
    put_text(vm.name, head);
  }
  for (const Departure& departure : trace.departures) put(departure.request), put(departure.vm);
  put(trace.discard_requests), put(trace.discards.size());
  for (const Discard& discard : trace.discards) put(discard.request), put(discard.block);
  for (std::size_t i = 0; i < kOptional; ++i) {
    if (!kept(trace)[i]) continue;
    if (i > 0) put(i);
    put(sums[kRequired + i]);
  }
  head[kSizeAt] = head.size();
  head[kChecksumAt] = sum_of(head);
  return head;
}

Sums sums_of(const Accesses& trace) {
  return std::apply([](const auto&... column) { return Sums{checksum_of(column)...}; },
                    columns_of(trace));
}

absl::Status not_of_this_version(std::string_view name, std::string_view why) {
  return data_loss(
      "{}: not an interned trace of this version of mcsim ({}); remove it and mcsim "
      "will rebuild it",
      name, why);
}

absl::StatusOr<FileHead> head_in(std::span<const std::byte> bytes, std::string_view name) {
  const auto wrong = [&](std::string_view why) { return not_of_this_version(name, why); };
  const std::span all(reinterpret_cast<const std::uint64_t*>(bytes.data()), bytes.size() / kWord);
  if (all.size() <= kChecksumAt || all[0] != kMagic) return wrong("another kind of file");
  if (all[1] != kAccessesVersion) return wrong(fmt::format("version {}", all[1]));
  FileHead head{.trace = {}, .words = all[kSizeAt]};
  if (head.words <= kChecksumAt || head.words > all.size()) return wrong("its head is cut short");
  const auto words = all.first(head.words);
  if (words[kChecksumAt] != sum_of(words)) return wrong("its head is damaged");
  const std::string why = read_head(WordReader(words.subspan(kChecksumAt + 1)), head);
  if (!why.empty()) return wrong(why);
  return head;
}

absl::StatusOr<Accesses> view_of(std::span<const std::byte> bytes,
                                 const std::shared_ptr<const void>& owner, std::string_view name,
                                 Sums& sums) {
  MCSIM_ASSIGN_OR_RETURN(FileHead head, head_in(bytes, name));
  sums = head.sums;
  Accesses trace = std::move(head.trace);
  const Layout layout = layout_of(trace, head.requests, head.accesses);
  if (layout.end != bytes.size()) {
    return not_of_this_version(name,
                               fmt::format("{} bytes instead of {}", bytes.size(), layout.end));
  }
  std::size_t next = 0;
  const auto set_column = [&]<class T>(SharedArray<T>& values) {
    const std::size_t column = next++;
    if (layout.begin[column] == 0) return;  // it is not kept
    const auto* const first = reinterpret_cast<const T*>(bytes.data() + layout.begin[column]);
    values = SharedArray<T>(owner, std::span(first, layout.bytes[column] / sizeof(T)));
  };
  std::apply([&](auto&... column) { (set_column(column), ...); }, columns_of(trace));
  return trace;
}

}  // namespace mcsim::interning
