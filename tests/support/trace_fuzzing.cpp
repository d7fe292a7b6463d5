#include "tests/support/trace_fuzzing.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/trace/reader.hpp"
#include "tests/support/compress.hpp"

namespace mcsim {
namespace {

std::string what_is_wrong(const RequestReader& reader, const Requests& chunk, bool may_go_back,
                          Nanoseconds& last_time) {
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    if (chunk.vm[i] >= reader.vms().size()) return "a VM without a name";
    if (chunk.op[i] > 1) return "an unknown operation";
    if (chunk.offset[i] + chunk.length[i] < chunk.offset[i]) return "a request beyond 64 bits";
    if (!may_go_back && chunk.time[i] < last_time) return "time went back unnoticed";
    last_time = chunk.time[i];
  }
  return "";
}

}  // namespace

std::string read_untrusted(std::span<const std::uint8_t> input) {
  if (input.empty()) return "";
  const auto& entries = formats().entries();
  const std::uint8_t choice = input.front();
  const auto& entry = entries[choice % entries.size()];
  const bool skip = (choice & 0x40) != 0;
  const bool keep = (choice & 0x80) != 0;

  auto source = open_bytes(std::string(input.begin() + 1, input.end()), "t");
  if (!source.ok()) return source.status().message().empty() ? "an error without a message" : "";
  auto reader =
      entry.make({}, ReaderContext{.source = *std::move(source),
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
    std::string wrong = status.ok() ? what_is_wrong(**reader, chunk, keep, last_time) : "";
    if (!wrong.empty()) return wrong;
  } while (status.ok() && chunk.size() > 0);
  if (!status.ok() && status.message().empty()) return "an error without a message";
  if (status.ok() && total == 0) return "neither an error nor requests";
  return "";
}

std::vector<std::vector<std::uint8_t>> fuzzing_seeds() {
  const std::map<std::string_view, std::string> files{
      {"msr",
       "128166372003061629,web,0,Read,7014609920,24576,41286\n"
       "128166372016382155,web,1,Write,1317441536,8192,1963\r\n"
       "128166372026382245,web,0,Read,18446744073709500000,4096,1835\n"},
      {"csv", "time_ms,vm,op,offset,length,response_us\n1.5,a,read,0,4096,7\n2,\"b\",W,512,0,-1\n"},
      {"arc", "1 1 0 0\n 3050771\t25 0 1\n4503599627370494 1 0 2\n"},
      {"keys", "5\n*\n7\n4503599627370494\n"},
      {"oracle-general",
       std::string("\x01\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\x05\0\0\0\0\0\0\0", 24) +
           std::string("\x02\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
                       24)},
  };
  std::vector<std::vector<std::uint8_t>> seeds;
  const auto& entries = formats().entries();
  for (std::size_t format = 0; format < entries.size(); ++format) {
    const auto file = files.find(entries[format].info.name);
    if (file == files.end()) continue;
    for (const Codec codec :
         {Codec::kNone, Codec::kGzip, Codec::kZstd, Codec::kXz, Codec::kBzip2}) {
      const std::string bytes = compress(codec, file->second);
      std::vector<std::uint8_t> seed{static_cast<std::uint8_t>(format)};
      seed.insert(seed.end(), bytes.begin(), bytes.end());
      seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

}  // namespace mcsim
