#pragma once

#include "core/trace/formats/blkparse.hpp"

namespace mcsim {

// Block events in the output of perf script (perf record -e 'block:*'). Columns separated by
// blanks:
//
//   process  pid  [cpu]  time (s):  block:EVENT:  major,minor  RWBS  …  sector + sectors  …
//
// Reads one event for each request: block_bio_queue (Q), block_rq_issue (D) or block_rq_complete
// (C). Other events, and requests without data (N), are filtered. An F in front is a flush. The VM
// is the device, such as 8,0.
class PerfReader final : public LayoutReader<PerfReader> {
 public:
  struct Params {
    BlockEvent event = BlockEvent::kIssue;
    static constexpr auto fields() {
      return std::tuple{Field{"event", &Params::event,
                              "what a request is: its queueing (Q), issue (D) or completion (C)"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      "perf", "block events of perf script: time in s, event, device, RWBS, sectors",
      "perf-script(1); include/trace/events/block.h of Linux"};

  PerfReader(Params params, ReaderContext context)
      : LayoutReader(NoParams(), std::move(context)), event_(static_cast<char>(params.event)) {}

  static Guess guess(const Head& head) {
    Guess guess = guess_by_lines<PerfReader>(Fit::kCertain, head);
    for (const BlockEvent event : {BlockEvent::kQueue, BlockEvent::kComplete}) {
      if (guess.fit > Fit::kUnopposed) break;
      Guess other = guess_by_lines<PerfReader>(Fit::kCertain, head, {.event = event});
      if (other.fit > guess.fit) guess = std::move(other);
    }
    return guess;
  }

  LineKind parse(std::string_view line, Requests& out) {
    if (!mapper_.is_bound()) {
      if (const absl::Status status = use(block_event_layout()); !status.ok())
        return refuse(status);
    }
    FieldScanner scan(line, ' ');
    mapper_.begin_row();
    std::string_view time;
    std::string_view event = scan.text("a process");
    while (!event.starts_with("block:") && !scan.at_end()) {
      time = std::exchange(event, scan.text("a column"));
    }
    if (!event.starts_with("block:") || !event.ends_with(':') || !time.ends_with(':')) {
      scan.complain("expected an event such as block:block_rq_issue: behind a time");
      return bad(scan);
    }
    const char kind = kind_of(event.substr(6, event.size() - 7));
    if (kind != event_) return note_other_event(kind), LineKind::kFiltered;
    return parse_request(time.substr(0, time.size() - 1), scan, out);
  }

 private:
  enum Column : std::size_t { kDevice, kTime, kRwbs, kSector, kSectors };

  static char kind_of(std::string_view event) {
    if (event == "block_bio_queue") return 'Q';
    if (event == "block_rq_issue") return 'D';
    return event == "block_rq_complete" ? 'C' : ' ';
  }

  LineKind parse_request(std::string_view time, FieldScanner& scan, Requests& out) {
    mapper_.take(kDevice, scan);
    const std::string_view rwbs = scan.peek();
    mapper_.take(kRwbs, scan);
    check_rwbs(scan, rwbs);
    if (scan.failed()) return bad(scan);
    if (mapper_.operation() == Operation::kIgnored) return LineKind::kFiltered;
    // Bytes and the command in parentheses may come before the sector.
    FieldScanner ahead = scan;
    std::size_t before = 0;
    ahead.text("a sector");
    for (; !ahead.at_end() && ahead.peek() != "+"; ++before) ahead.text("a sector");
    ahead.text("+");
    if (scan.failed() || ahead.failed()) return bad(ahead);
    const bool is_flushed = rwbs.starts_with('F');
    if (ahead.peek() == "0") {
      if (!is_flushed) return LineKind::kFiltered;
      return count_flush(), LineKind::kNothing;
    }
    for (; before > 0; --before) scan.text("a column");
    mapper_.take(kSector, scan);
    scan.text("+");
    mapper_.take(kSectors, scan);
    time_.assign(time).append(LineReader::kPadding, '\0');
    scan.next_field({time_.data(), time.size()}, kTime);
    mapper_.take(kTime, scan);
    const LineKind kind = finish_row(scan, out);
    if (is_flushed && kind == LineKind::kRequest) count_flush();
    return kind;
  }

  char event_;
  std::string time_;
};

}  // namespace mcsim
