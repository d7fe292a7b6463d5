#pragma once

#include <absl/strings/ascii.h>

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// Block traces of Microsoft servers in the SNIA IOTTA repository (Production 2008, Enterprise),
// text of Event Tracing for Windows. A header from BeginHeader to EndHeader describes the events,
// which have columns separated by commas:
//
//   DiskRead|DiskWrite, time (us), process, thread, IRP, offset (hexadecimal bytes),
//   size (hexadecimal bytes), elapsed time (us), disk, ...
//
// The VM is the disk. DiskFlush is a flush. Other events are filtered.
class EtwReader final : public LayoutReader<EtwReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "etw", "Microsoft servers (ETW): DiskRead or DiskWrite, time in us, ..., offset, size, disk",
      "Kavalanekar et al.: Characterization of Storage Workload Traces from Production Windows "
      "Servers (IISWC 2008); SNIA IOTTA 130, 158"};

  using LayoutReader::LayoutReader;

  LineKind parse(std::string_view line, Requests& out) {
    const std::string_view whole = FieldScanner(line).text("an event");
    if (!mapper_.is_bound()) {
      if (whole != "BeginHeader") {
        return refuse(
            data_loss("expected BeginHeader in column 1, got '{}'", quoted_for_message(whole)));
      }
      const absl::Status status = use(layout());
      return status.ok() ? LineKind::kNothing : refuse(status);
    }
    if (is_header_) {
      is_header_ = whole != "EndHeader";
      return LineKind::kNothing;
    }
    if (whole.starts_with("OS Version:")) return LineKind::kFiltered;
    FieldScanner scan(line, ',');
    const std::string_view event = scan.text("an event");
    if (event == "DiskRead" || event == "DiskWrite") return parse_row(line, out);
    if (event.empty() || !std::ranges::all_of(event, absl::ascii_isalpha)) {
      scan.complain_of("an event (such as DiskRead)", event);
    }
    scan.time("a time", kSecond / 1'000'000);
    if (scan.failed()) return bad(scan);
    if (event != "DiskFlush") return LineKind::kFiltered;
    count_flush();
    return LineKind::kNothing;
  }

 private:
  static TextLayout layout() {
    return {.columns = 9,
            .allows_more = true,
            .mapping = {.time = "2",
                        .time_unit = TimeUnit::kMicroseconds,
                        .vm = "9",
                        .op = "1",
                        .read = "DiskRead",
                        .write = "DiskWrite",
                        .discard = "",
                        .flush = "",
                        .offset = "6",
                        .length = "7",
                        .response = "8",
                        .response_unit = TimeUnit::kMicroseconds}};
  }

  bool is_header_ = true;
};

}  // namespace mcsim
