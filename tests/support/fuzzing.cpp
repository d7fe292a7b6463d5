#include "tests/support/fuzzing.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "core/base/random.hpp"
#include "core/locality/distances/partial_distances.hpp"
#include "core/locality/profile/profile_file.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/formats/all.hpp"
#include "core/trace/interning/access_builder.hpp"
#include "core/trace/interning/accesses_file.hpp"
#include "core/trace/summary.hpp"
#include "tests/support/accesses_bytes.hpp"
#include "tests/support/compress.hpp"
#include "tests/support/format_seeds.hpp"
#include "tests/support/profile_words.hpp"

namespace mcsim {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr const char* kSilent = "an error without a message";

std::string what_is_wrong(const RequestsView& rows, TraceKind kind, std::size_t vms,
                          bool may_go_back, Nanoseconds& last_time) {
  const bool half = !rows.of_class.empty() && rows.of_class.size() != rows.size();
  if (half) return "classes of some of the requests";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.vm[i] >= vms) return "a VM without a name";
    if (rows.op[i] > static_cast<std::uint8_t>(Op::kDiscard)) return "an unknown operation";
    const bool wraps = rows.offset[i] + rows.length[i] < rows.offset[i];
    if (wraps && kind == TraceKind::kBlocks) return "a request beyond 64 bits";
    if (!rows.of_class.empty() && rows.of_class[i] >= kMostClasses) return "an unknown class";
    if (!may_go_back && rows.time[i] < last_time) return "time went back unnoticed";
    last_time = rows.time[i];
  }
  return "";
}

// --- Trace files -----------------------------------------------------------------

std::string check_guesses(const Head& head) {
  for (const Guess& guess : guess_all(head)) {
    if (guess.fit == Fit::kNo && guess.objection.empty()) return "a format without an objection";
  }
  return "";
}

std::string read_file(std::size_t format, bool skip, bool keep, Bytes input) {
  const std::string bytes(input.begin(), input.end());
  auto source = open_bytes(bytes, "t");
  if (!source.ok()) return source.status().message().empty() ? kSilent : "";
  const auto& entry = formats().entries()[format];
  auto reader =
      entry.make(testing::seed_params(entry.info.name),
                 ReaderContext{.source = *std::move(source),
                               .name = "t",
                               .vm_name = "t",
                               .on_bad_line = skip ? OnBadLine::kSkip : OnBadLine::kError,
                               .on_unsorted = keep ? OnUnsorted::kKeep : OnUnsorted::kError});
  if (!reader.ok()) return "a reader that could not be made";

  Requests chunk;
  Nanoseconds last_time = std::numeric_limits<Nanoseconds>::min();
  absl::Status status;
  Count total = 0;
  do {
    status = (*reader)->next(chunk);
    total += static_cast<Count>(chunk.size());
    const std::size_t vms = (*reader)->vms().size();
    const bool has_keys = (*reader)->has_text_keys();
    if (has_keys && std::ranges::any_of(chunk.offset, [&](std::uint64_t key) {
          return key >= (*reader)->keys().size();
        })) {
      return "a key without text";
    }
    const TraceKind kind = (*reader)->kind();
    const std::string wrong =
        status.ok() ? what_is_wrong(chunk.view(), kind, vms, keep, last_time) : "";
    if (!wrong.empty()) return wrong;
  } while (status.ok() && chunk.size() > 0);
  if (!std::ranges::all_of((*reader)->vms(), is_vm_name)) return "a name that cannot be shown";
  if (!status.ok() && status.message().empty()) return kSilent;
  if (status.ok() && total == 0) return "neither an error nor requests";
  return skip ? check_guesses({.bytes = bytes, .whole = keep}) : "";
}

// --- Stores ------------------------------------------------------------------------

// The requested number of values, or all that are left.
template <class T>
std::vector<T> take_column(Bytes& input, std::size_t rows) {
  std::vector<T> column(std::min(rows, input.size() / sizeof(T)));
  const std::size_t bytes = column.size() * sizeof(T);
  if (bytes > 0) std::memcpy(column.data(), input.data(), bytes);
  input = input.subspan(bytes);
  return column;
}

// Head of a store: VMs, rows, and the block size as a power of two; 16 more with classes, 32 more
// for objects.
constexpr std::size_t kStoreHead = 3;

Requests take_columns(Bytes input, std::size_t rows, bool classes) {
  Requests requests;
  requests.time = take_column<Nanoseconds>(input, rows);
  requests.offset = take_column<std::uint64_t>(input, rows);
  requests.response = take_column<Nanoseconds>(input, rows);
  requests.length = take_column<std::uint32_t>(input, rows);
  requests.vm = take_column<VmId>(input, rows);
  requests.op = take_column<std::uint8_t>(input, rows);
  if (classes) requests.of_class = take_column<std::uint8_t>(input, rows);
  return requests;
}

std::string count_anew(const RequestsView& rows, TraceKind kind, std::uint32_t block_bytes) {
  constexpr std::uint64_t kMostBlocks = 1U << 16;
  std::uint64_t blocks = 0;
  for (const std::uint64_t length : rows.length) blocks += length / block_bytes + 2;
  if (blocks > kMostBlocks) return "";  // takes long
  TraceSummary summary(block_bytes, kind);
  summary.add(rows);
  const bool are_objects = kind == TraceKind::kObjects;
  AccessBuilder builder({.block_bytes = block_bytes,
                         .ops = OpFilter::kAll,
                         .key = are_objects ? BlockKey::kObject : BlockKey::kAligned,
                         .classes = !rows.of_class.empty()},
                        TimeBase::kClock);
  if (!builder.begin_vm("vm").ok() || !builder.add(rows).ok()) return "rows that are not interned";
  const auto accesses = std::move(builder).finish();
  if (!accesses.ok()) return "accesses that are not merged";
  if (accesses->access_count() != summary.total().blocks) return "as many accesses as blocks";
  std::set<std::uint64_t> unique;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows.op[i] == static_cast<std::uint8_t>(Op::kDiscard)) continue;
    if (are_objects) {
      unique.insert(rows.offset[i]);
      continue;
    }
    for (std::uint64_t byte = 0; byte < rows.length[i]; byte += block_bytes) {
      unique.insert((rows.offset[i] + byte) / block_bytes);
    }
    if (rows.length[i] > 0) unique.insert((rows.offset[i] + rows.length[i] - 1) / block_bytes);
  }
  return accesses->id_count() == unique.size() ? "" : "an id for every block";
}

std::string read_store(Bytes input) {
  if (input.size() < kStoreHead) return "";
  const std::size_t vms = input[0];
  const std::uint32_t block_bytes = 1U << input[2] % 16;
  const Requests requests =
      take_columns(input.subspan(kStoreHead), input[1], (input[2] & 16U) != 0);
  const RequestsView rows = requests.view();
  constexpr Nanoseconds kEarliest = std::numeric_limits<Nanoseconds>::min();
  const TraceKind kind = (input[2] & 32U) != 0 ? TraceKind::kObjects : TraceKind::kBlocks;
  const absl::Status status = check_requests(rows, kind, vms, 0, kEarliest);
  checksum_of(rows, 0);
  if (!status.ok()) return status.message().empty() ? kSilent : "";
  Nanoseconds last_time = kEarliest;
  const std::string wrong = what_is_wrong(rows, kind, vms, false, last_time);
  return wrong.empty() ? count_anew(rows, kind, block_bytes) : wrong;
}

// --- Partial distances -------------------------------------------------------------

std::string with_checksum(Bytes input) {
  std::string bytes(input.begin(), input.end());
  bytes.resize(bytes.size() / 8 * 8);
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    for (std::size_t i = 8; i-- > 0;) word = word << 8 | static_cast<unsigned char>(bytes[at + i]);
    sum = mix64(sum ^ word);
  }
  for (unsigned shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(sum >> shift));
  return bytes;
}

std::string read_partial(Bytes input) {
  const std::string bytes = with_checksum(input);
  const auto partial = PartialDistances::from_bytes(bytes);
  if (!partial.ok()) return partial.status().message().empty() ? kSilent : "";
  if (partial->to_bytes() != bytes) return "other bytes than those it was read from";
  const auto merged = merge(*partial, *partial);
  if (absl::IsOutOfRange(merged.status())) return "";  // too many to count
  if (!merged.ok()) return "a partial that cannot be merged with itself";
  if (!PartialDistances::from_bytes(merged->to_bytes()).ok()) return "a merged one that is refused";
  return "";
}

// --- Interned traces -----------------------------------------------------------------

// Indices of replays must be within bounds.
std::string what_is_wrong(const Accesses& trace) {
  if (trace.request_begin.front() != 0) return "a first block before the first request";
  if (trace.request_begin.back() != trace.ids.size()) return "blocks after the last request";
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    if (trace.request_begin[r] > trace.request_begin[r + 1]) return "blocks that end first";
    if (trace.request_vm[r] >= trace.vms.size()) return "a request of no VM";
    if (trace.request_op[r] > 1) return "an unknown operation";
    if (trace.keeps_responses && trace.request_response[r] < -1) return "a time below nothing";
    if (trace.keeps_classes && trace.request_class[r] >= kMostClasses) return "an unknown class";
    const VmInfo& vm = trace.vms[trace.request_vm[r]];
    for (const BlockId id : trace.blocks_of(r)) {
      if (id < vm.first_id || id - vm.first_id >= vm.unique_blocks) return "a block of no VM";
    }
  }
  if (!std::ranges::is_sorted(trace.request_time)) return "times that go back";
  for (const Departure& departure : trace.departures) {
    if (departure.request > trace.request_count()) return "a departure after the end";
    if (departure.vm >= trace.vms.size()) return "a departure of no VM";
  }
  return trace.warm_up <= trace.request_count() ? "" : "a warm-up after the end";
}

std::string read_accesses(Bytes input) {
  const std::string bytes = testing::with_checksums({input.begin(), input.end()});
  auto words = std::make_shared<std::vector<std::uint64_t>>(bytes.size() / 8 + 1);
  std::memcpy(words->data(), bytes.data(), bytes.size());
  const auto trace = accesses_in(std::as_bytes(std::span(*words)).first(bytes.size()), words, "t");
  if (!trace.ok()) return trace.status().message().empty() ? kSilent : "";
  return what_is_wrong(*trace);
}

// --- Profiles ------------------------------------------------------------------------

// A trace of two VMs and a few periods of 10 ns.
Accesses profiled_trace() {
  AccessBuilder builder({.ops = OpFilter::kAll, .responses = true, .bytes = true},
                        TimeBase::kClock);
  Requests rows;
  for (const Nanoseconds time : {0, 3, 9, 14, 21, 40}) {
    const auto offset = static_cast<std::uint64_t>(time) % 7 * 4096;
    rows.push(time, 0, time % 2 == 0 ? Op::kRead : Op::kWrite, offset, 16'384, 5);
  }
  bool added = true;
  for (const char* vm : {"a", "b"}) {
    added &= builder.begin_vm(vm).ok() && builder.add(rows.view()).ok();
  }
  return added ? *std::move(builder).finish() : Accesses{};
}

// By number; none is of the whole curves.
std::optional<MeterSpec> profiled_meter(std::size_t number) {
  const std::vector<MeterSpec> meters = testing::meters_of_every_kind(10);
  number %= meters.size() + 1;
  return number < meters.size() ? std::optional(meters[number]) : std::nullopt;
}

std::string read_profile_words(Bytes input) {
  if (input.empty()) return "";
  static const Accesses trace = profiled_trace();
  const auto meter = profiled_meter(input.front());
  std::vector<std::uint64_t> words((input.size() - 1) / 8);
  if (!words.empty()) std::memcpy(words.data(), input.data() + 1, words.size() * 8);
  const auto found = profile_in(testing::with_checksum(std::move(words)), trace, meter, "t");
  if (!found.ok()) return found.status().message().empty() ? kSilent : "";
  return testing::what_is_wrong(*found, trace);
}

}  // namespace

std::size_t fuzzing_subjects() { return formats().entries().size() + 4; }

std::string read_untrusted(std::span<const std::uint8_t> input) {
  if (input.empty()) return "";
  const std::uint8_t choice = input.front();
  const std::size_t subject = (choice & 0x3f) % fuzzing_subjects();
  const std::size_t files = formats().entries().size();
  if (subject == files) return read_store(input.subspan(1));
  if (subject == files + 1) return read_partial(input.subspan(1));
  if (subject == files + 2) return read_accesses(input.subspan(1));
  if (subject == files + 3) return read_profile_words(input.subspan(1));
  return read_file(subject, (choice & 0x40) != 0, (choice & 0x80) != 0, input.subspan(1));
}

// Contents that `write` writes to a given path.
template <class Write>
std::string bytes_of_file(Write write) {
  std::string path = (std::filesystem::temp_directory_path() / "mcsim_XXXXXX").string();
  close(mkstemp(path.data()));
  const bool written = write(path).ok();
  std::ifstream file(path, std::ios::binary);
  std::filesystem::remove(path);
  return written ? std::string(std::istreambuf_iterator<char>(file), {}) : "";
}

// A trace of two VMs, one of which departs.
std::string interned_file(const std::array<bool, 3>& kept, bool packed = false) {
  Requests rows;
  rows.push(5, 0, Op::kRead, 0, 8192, 3, 0);
  rows.push(7, 0, Op::kWrite, 4096, 1, -1, 7);
  AccessBuilder builder(
      {.ops = OpFilter::kAll, .responses = kept[0], .classes = kept[1], .bytes = kept[2]},
      TimeBase::kClock);
  bool added = true;
  for (const char* vm : {"a", "b"}) {
    added &= builder.begin_vm(vm).ok() && builder.add(rows.view()).ok();
  }
  added &= builder.depart(8).ok();
  if (!added) return "";
  const Accesses trace = *std::move(builder).finish();
  return bytes_of_file([&](const std::string& path) {
    return packed ? write_packed_accesses(trace, path) : write_accesses(trace, path);
  });
}

std::string profile_file(const std::optional<MeterSpec>& meter) {
  const std::vector<MeterSpec> meters = meter ? std::vector{*meter} : std::vector<MeterSpec>{};
  const Characterised found = *characterise(profiled_trace(), meters);
  return bytes_of_file([&](const std::string& path) { return write_profile(found, meter, path); });
}

std::vector<std::vector<std::uint8_t>> fuzzing_seeds() {
  std::vector<std::vector<std::uint8_t>> seeds;
  const auto add = [&](std::size_t subject, std::string_view bytes) {
    std::vector<std::uint8_t>& seed = seeds.emplace_back();
    seed.push_back(static_cast<std::uint8_t>(subject));
    seed.insert(seed.end(), bytes.begin(), bytes.end());
  };
  const auto& entries = formats().entries();
  for (std::size_t format = 0; format < entries.size(); ++format) {
    const auto file = testing::format_seeds().find(entries[format].info.name);
    if (file == testing::format_seeds().end()) continue;
    for (const Codec codec :
         {Codec::kNone, Codec::kGzip, Codec::kZstd, Codec::kXz, Codec::kBzip2}) {
      add(format, compress(codec, file->second));
    }
  }

  // VMs, rows and the block size as a power of two; times, offsets, responses, lengths, VMs,
  // operations.
  std::string store;
  const auto column = [&](std::initializer_list<std::uint64_t> values, std::size_t bytes) {
    for (const std::uint64_t value : values) {
      for (std::size_t i = 0; i < bytes; ++i) store += static_cast<char>(value >> (8 * i));
    }
  };
  constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  column({2, 3, 12}, 1), column({1, 1, 9}, 8), column({0, 4096, 8191}, 8);
  column({5, 6, kUnknown}, 8), column({512, 0, 8192}, 4), column({0, 1, 0}, 2);
  column({0, 1, 1}, 1);
  add(entries.size(), store);
  store[2] = 12 + 16;
  column({7, 0, 3}, 1);
  add(entries.size(), store);
  store[2] = 12 + 16 + 32;
  add(entries.size(), store);

  // The longest request there is, in blocks of one byte.
  store.clear();
  column({1, 1, 0}, 1), column({1}, 8), column({0}, 8), column({kUnknown}, 8);
  column({0xffff'ffff}, 4), column({0}, 2), column({0}, 1);
  add(entries.size(), store);

  for (const Count limit : {0, 2}) {
    const std::string partial =
        analyse(std::vector<std::uint64_t>{7, 8, 7, 9, 9, 8, 7, 1}, limit).to_bytes();
    add(entries.size() + 1, std::string_view(partial).substr(0, partial.size() - 8));
  }
  for (unsigned kept = 0; kept < 8; ++kept) {
    for (const bool packed : {false, true}) {
      add(entries.size() + 2,
          interned_file({(kept & 1) != 0, (kept & 2) != 0, (kept & 4) != 0}, packed));
    }
  }
  for (std::size_t number = 0;; ++number) {
    const auto meter = profiled_meter(number);
    add(entries.size() + 3, std::string(1, static_cast<char>(number)) + profile_file(meter));
    if (!meter) break;
  }
  return seeds;
}

}  // namespace mcsim
