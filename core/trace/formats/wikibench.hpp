#pragma once

#include "core/trace/formats/layout.hpp"
#include "core/trace/iso_time.hpp"

namespace mcsim {

// Wikipedia traces of WikiBench, from 2007. Four columns separated by blanks:
//
//   counter, time (s, or from 2009 as 2010-05-27T09:31:55.63), URL, - or save
//
// The key is the URL. A request with save is a write, all others are reads. There are no sizes.
class WikibenchReader final : public LayoutReader<WikibenchReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "wikibench", "WikiBench: counter, time in s or ISO 8601, URL, - or save",
      "Urdaneta, Pierre, van Steen: Wikipedia Workload Analysis (2009); wikibench.eu"};

  using LayoutReader::LayoutReader;

  LineKind parse(std::string_view line, Requests& out) {
    if (!mapper_.is_bound()) {
      FieldScanner scan(line, ' ');
      scan.text("a counter");
      const bool is_iso = parse_iso_time(scan.peek()).has_value();
      const absl::Status status = use(layout(is_iso ? TimeUnit::kIso : TimeUnit::kSeconds));
      if (!status.ok()) return refuse(status);
    }
    return parse_row(line, out);
  }

 private:
  static TextLayout layout(TimeUnit time_unit) {
    return {.delimiter = ' ',
            .columns = 4,
            .mapping = {.time = "2",
                        .time_unit = time_unit,
                        .op = "4",
                        .read = "-",
                        .write = "save",
                        .discard = "",
                        .flush = "",
                        .key = "3"}};
  }
};

}  // namespace mcsim
