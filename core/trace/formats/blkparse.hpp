#pragma once

#include <algorithm>

#include "core/trace/formats/layout.hpp"
#include "core/trace/formats/rwbs.hpp"
#include "core/trace/formats/stacked_devices.hpp"

namespace mcsim {

// The event that counts as the request in the output of blkparse.
enum class BlockEvent : char { kQueue = 'Q', kIssue = 'D', kComplete = 'C' };

template <>
struct Choices<BlockEvent> {
  static constexpr std::array names{std::pair{"Q", BlockEvent::kQueue},
                                    std::pair{"D", BlockEvent::kIssue},
                                    std::pair{"C", BlockEvent::kComplete}};
};

// The columns of an event, in the order of blkparse.
inline TextLayout block_event_layout() {
  return {.columns = 5,
          .mapping = {.time = "2",
                      .time_unit = TimeUnit::kSeconds,
                      .vm = "1",
                      .op = "3",
                      .read = kRwbsRead,
                      .write = kRwbsWrite,
                      .discard = kRwbsDiscard,
                      .flush = kRwbsFlush,
                      .ignored = kRwbsIgnored,
                      .offset = "4",
                      .offset_unit = LengthUnit::kSectors,
                      .length = "5",
                      .length_unit = LengthUnit::kSectors}};
}

// The text that blkparse prints for a blktrace in its default format. Columns separated by blanks:
//
//   major,minor  cpu  sequence  time (s)  pid  event  RWBS  sector + sectors  [process]
//
// Reads one event for each request. Other events, the summary at the end and requests without data
// (N) are filtered. Remaps (A) show stacked devices, of which notes() warns. An F in front is a
// flush: alone, or before the data of the request. The VM is the device, such as 8,0.
class BlkparseReader final : public LayoutReader<BlkparseReader> {
 public:
  struct Params {
    BlockEvent event = BlockEvent::kQueue;
    static constexpr auto fields() {
      return std::tuple{Field{"event", &Params::event,
                              "what a request is: its queueing (Q), issue (D) or completion (C)"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      "blkparse",
      "text of blkparse: device, cpu, sequence, time in s, pid, event, RWBS, sectors; with "
      "stacked devices, such as a partition and its disk, one I/O appears on each",
      "blkparse(1), the default format"};

  BlkparseReader(Params params, ReaderContext context)
      : LayoutReader(NoParams(), std::move(context)), event_(static_cast<char>(params.event)) {}

  // The events of a recording may be of one kind (blktrace -a).
  static Guess guess(const Head& head) {
    Guess guess = guess_by_lines<BlkparseReader>(Fit::kCertain, head);
    for (const BlockEvent event : {BlockEvent::kIssue, BlockEvent::kComplete}) {
      if (guess.fit > Fit::kUnopposed) break;
      Guess other = guess_by_lines<BlkparseReader>(Fit::kCertain, head, {.event = event});
      if (other.fit > guess.fit) guess = std::move(other);
    }
    return guess;
  }

  std::vector<std::string> notes() const override { return stacked_.notes(*this); }

  LineKind parse(std::string_view line, Requests& out) {
    if (!mapper_.is_bound()) {
      if (const absl::Status status = use(block_event_layout()); !status.ok())
        return refuse(status);
    }
    if (is_summary(line)) return LineKind::kFiltered;
    FieldScanner scan(line, ' ');
    mapper_.begin_row();
    take_head(scan);
    const std::string_view event = scan.text("an event");
    const bool is_event = event == "UT" || (event.size() == 1 && absl::ascii_isalpha(event[0]));
    if (!is_event) scan.complain_of("an event (such as Q)", event);
    const std::string_view rwbs = scan.peek();
    mapper_.take(kRwbs, scan);
    check_rwbs(scan, rwbs);
    if (scan.failed()) return bad(scan);
    if (event == "A") note_remap(line);
    if (event[0] != event_) return note_other_event(event[0]), LineKind::kFiltered;
    return parse_request(line, rwbs, scan, out);
  }

 private:
  enum Column : std::size_t { kDevice, kTime, kRwbs, kSector, kSectors };

  // Whether a line is before the events or in the summaries of devices after them.
  bool is_summary(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos ||
        absl::ascii_isdigit(static_cast<unsigned char>(line[begin]))) {
      return false;
    }
    is_summary_ |= line.starts_with("CPU") || line.starts_with("Total (");
    return is_summary_ || line.starts_with("Input file ");
  }

  void take_head(FieldScanner& scan) {
    const std::string_view device = scan.peek();
    const std::size_t comma = device.find(',');
    const auto is_number = [](std::string_view text) {
      return !text.empty() && std::ranges::all_of(text, absl::ascii_isdigit);
    };
    const bool is_device = comma != std::string_view::npos && is_number(device.substr(0, comma)) &&
                           is_number(device.substr(comma + 1));
    mapper_.take(kDevice, scan);
    if (!is_device) scan.complain_of("a device (such as 8,0)", device);
    scan.number("a processor");
    scan.number("a sequence number");
    mapper_.take(kTime, scan);
    scan.number("a process id");
  }

  LineKind parse_request(std::string_view line, std::string_view rwbs, FieldScanner& scan,
                         Requests& out) {
    if (mapper_.operation() == Operation::kIgnored) return LineKind::kFiltered;
    // The next field is "[process]", or "0 [error]" after a completion.
    FieldScanner ahead = scan;
    const bool has_sector = !scan.peek().starts_with('[');
    if (has_sector) ahead.text("a sector");
    const bool is_flushed = rwbs.starts_with('F');
    if (is_flushed && (!has_sector || ahead.peek().starts_with('['))) {
      count_flush();
      return LineKind::kNothing;
    }
    mapper_.take(kSector, scan);
    const std::string_view plus = scan.text("+");
    if (plus != "+") scan.complain_of("+", plus);
    mapper_.take(kSectors, scan);
    if (scan.peek().starts_with('(')) skip_elapsed(scan);
    const std::string_view process = scan.text("a process in brackets");
    if (!process.starts_with('[') || !line.ends_with(']')) {
      scan.complain_of("a process in brackets at the end", process);
    }
    const LineKind kind = finish_row(scan, out);
    if (is_flushed && kind == LineKind::kRequest) count_flush();
    return kind;
  }

  // Records the devices of "8,0 ... A W 2048 + 8 <- (8,1) 0".
  void note_remap(std::string_view line) {
    constexpr std::string_view kFrom = "<- (";
    const std::size_t from = line.find(kFrom);
    const std::size_t end = line.find(')', from);
    if (end == std::string_view::npos) return;
    const std::size_t begin = from + kFrom.size();
    FieldScanner scan(line, ' ');
    stacked_.add(line.substr(begin, end - begin), scan.text("a device"));
  }

  // Skips "(     123)", the time since an earlier event.
  static void skip_elapsed(FieldScanner& scan) {
    while (!scan.at_end() && !scan.text("a time").ends_with(')')) {
    }
  }

  char event_;
  StackedDevices stacked_;
  bool is_summary_ = false;
};

}  // namespace mcsim
