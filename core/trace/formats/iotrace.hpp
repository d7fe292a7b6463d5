#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/trace/formats/jsonl.hpp"

namespace mcsim {

// Events of Open CAS iotrace (iotrace -P --io) as JSON, one a line. Fields that are 0 are left out:
//
//   header.timestamp (ns), io.lba and io.len (sectors of 512 B), io.operation (Write, Discard; Read
//   if left out), io.flush (true), device.name
//
// Lines without io.len are filtered, or are flushes. The VM is the device. Parameters replace these
// fields by others.
class IotraceReader final : public JsonlReader {
 public:
  static constexpr ComponentInfo kInfo{
      "iotrace", "Open CAS iotrace JSON: header.timestamp in ns, io.lba and io.len in sectors",
      "github.com/Open-CAS: standalone-linux-io-tracer; trace.proto of its telemetry framework"};

  IotraceReader(Params params, ReaderContext context)
      : JsonlReader(std::move(params), std::move(context)) {}

  static Guess guess(const Head& head) {
    const std::string_view line = std::string_view(head.bytes).substr(0, head.bytes.find('\n'));
    if (line.find("\"header\"") == std::string_view::npos) {
      return {kInfo.name, Fit::kNo, "line 1: expected the field 'header.timestamp'"};
    }
    return guess_by_lines<IotraceReader>(Fit::kCertain, head);
  }

 private:
  void prepare(std::vector<std::string>& names) override {
    ColumnMapping& mapping = mapper_.mapping();
    const auto use = [&](std::string& column, const char* field) {
      if (!column.empty()) return;
      column = field;
      if (std::ranges::count(names, column) == 0) names.push_back(column);
    };
    use(mapping.time, "header.timestamp");
    use(mapping.vm, "device.name");
    use(mapping.op, "io.operation");
    use(mapping.offset, "io.lba");
    use(mapping.length, "io.len");
    if (mapping.time_unit == TimeUnit::kByName) mapping.time_unit = TimeUnit::kNanoseconds;
    for (LengthUnit* unit : {&mapping.offset_unit, &mapping.length_unit}) {
      if (*unit == LengthUnit::kByName) *unit = LengthUnit::kSectors;
    }
    set_flush_field("io.flush");
  }
};

}  // namespace mcsim
