#pragma once

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// The log of fio (write_iolog), versions 2 and 3. The first line is "fio version 2 iolog". Columns
// separated by blanks, the first only in version 3:
//
//   time, file, action, offset (bytes), length (bytes)
//
// The VM is the file. add, open, close and wait are filtered; sync, datasync and sync_file_range
// are flushes; trim is a discard. fio writes times in microseconds, but other tools write
// nanoseconds or milliseconds.
class FioReader final : public LayoutReader<FioReader> {
 public:
  struct Params {
    TimeUnit time_unit = TimeUnit::kByName;
    static constexpr auto fields() {
      return std::tuple{
          Field{"time_unit", &Params::time_unit,
                "what the time counts in version 3: us as fio writes it, ns, ms or s"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      "fio", "fio write_iolog, version 2 or 3: time, file, action, offset, length",
      "fio.readthedocs.io: Trace file format v2, v3"};

  FioReader(Params params, ReaderContext context)
      : LayoutReader(NoParams(), std::move(context)), time_unit_(params.time_unit) {}

  static Guess guess(const Head& head) {
    return guess_by_lines<FioReader>(Fit::kCertain, head, {.time_unit = TimeUnit::kMicroseconds});
  }

  LineKind parse(std::string_view line, Requests& out) {
    if (mapper_.is_bound()) return parse_row(line, out);
    const bool has_times = line == "fio version 3 iolog";
    if (!has_times && line != "fio version 2 iolog") {
      return refuse(
          data_loss("expected 'fio version 2 iolog' or 'fio version 3 iolog' in column 1, "
                    "got '{}'",
                    quoted_for_message(line)));
    }
    if (has_times && time_unit_ == TimeUnit::kByName) {
      return refuse(
          invalid_argument("time_unit: state it (us as fio writes it, ns, ms or s; in commands "
                           "--option time_unit=us); version 3 of the log has no fixed unit"));
    }
    const absl::Status status = use(layout(has_times));
    return status.ok() ? LineKind::kNothing : refuse(status);
  }

 private:
  TextLayout layout(bool has_times) const {
    const auto column = [&](int number) { return std::to_string(number + (has_times ? 1 : 0)); };
    return {.delimiter = ' ',
            .columns = has_times ? 5u : 4u,
            .optional = 2,
            .mapping = {.time = has_times ? "1" : "",
                        .time_unit = time_unit_,
                        .vm = column(1),
                        .op = column(2),
                        .read = "read",
                        .write = "write",
                        .discard = "trim",
                        .flush = "sync,datasync,sync_file_range",
                        .ignored = "add,open,close,wait",
                        .offset = column(3),
                        .length = column(4)}};
  }

  TimeUnit time_unit_;
};

}  // namespace mcsim
