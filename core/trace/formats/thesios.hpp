#pragma once

#include "core/trace/formats/csv.hpp"

namespace mcsim {

// Synthesized traces of Google's storage servers (Phothilimthana et al., ASPLOS'24). The first line
// names the columns. The VM is the filename. start_time is the arrival time of a request and
// simulated_latency its response time, both in seconds.
class ThesiosReader final : public CsvReader {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      "thesios",
      "Google Thesios: filename, file_offset, op_type, request_io_size_bytes, start_time",
      "Phothilimthana et al.: Thesios (ASPLOS 2024); github.com/google-research-datasets/thesios"};

  ThesiosReader(NoParams, ReaderContext context) : CsvReader(columns(), std::move(context)) {}

  static Guess guess(const Head& head) {
    return guess_by_lines<ThesiosReader>(Fit::kCertain, head);
  }

 private:
  static CsvReader::Params columns() {
    return {{.time = "start_time",
             .time_unit = TimeUnit::kSeconds,
             .vm = "filename",
             .op = "op_type",
             .read = "READ",
             .write = "WRITE",
             .discard = "",
             .flush = "",
             .offset = "file_offset",
             .offset_unit = LengthUnit::kBytes,
             .length = "request_io_size_bytes",
             .length_unit = LengthUnit::kBytes,
             .response = "simulated_latency",
             .response_unit = TimeUnit::kSeconds,
             .has_own_names = false}};
  }
};

}  // namespace mcsim
