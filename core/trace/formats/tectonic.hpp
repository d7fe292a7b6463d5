#pragma once

#include <string>

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// Traces of Meta's Tectonic from the Baleen paper. Lines that begin with # name the columns, which
// are separated by blanks: block_id io_offset io_size op_time op_name, and then
//
//   2019: pipeline user_namespace user_name
//   2021: user_namespace user_name host_name op_count
//   2023: user_namespace user_name rs_shard_id op_count host_name
//
// The time is in seconds. A block begins at the offset block_id * block_bytes. The VM is the host
// (2021) or the shard (2023), because Baleen caches a block separately for each. A row represents
// op_count requests, all at its time; Baleen spreads them over a second.
class TectonicReader final : public LayoutReader<TectonicReader> {
 public:
  struct Params {
    Count block_bytes = 8 << 20;
    static constexpr auto fields() {
      return std::tuple{Field{"block_bytes", &Params::block_bytes,
                              "bytes of a block, the distance of two block_id", 1 << 12, 1 << 30}};
    }
  };
  static constexpr ComponentInfo kInfo{
      "tectonic",
      "Meta Tectonic (Baleen): block_id * block_bytes + io_offset, io_size, op_time in s, op_name; "
      "a row stands for op_count requests",
      "Wong et al.: Baleen (FAST 2024); github.com/wonglkd/BCacheSim"};

  TectonicReader(Params params, ReaderContext context)
      : LayoutReader(NoParams(), std::move(context)),
        block_bytes_(static_cast<std::uint64_t>(params.block_bytes)) {}

  static Guess guess(const Head& head) {
    // Without column names, rows of numbers may also be of another format.
    const Fit fit = head.bytes.starts_with('#') ? Fit::kCertain : Fit::kPossible;
    return guess_by_lines<TectonicReader>(fit, head);
  }

  LineKind parse(std::string_view line, Requests& out) {
    if (line.front() == '#') return LineKind::kNothing;
    if (!mapper_.is_bound()) {
      if (const absl::Status status = begin(line); !status.ok()) return refuse(status);
    }
    FieldScanner scan(line, ' ');
    mapper_.begin_row();
    const std::uint64_t block = scan.number("a block_id", 0, kMaxOffset / block_bytes_ - 1);
    FieldScanner ahead = scan;
    const std::uint64_t offset = ahead.number("an io_offset", 0, block_bytes_);
    const std::uint64_t length = ahead.number("an io_size", 0, block_bytes_);
    if (!ahead.failed() && offset + length > block_bytes_) {
      ahead.complain_of(fmt::format("an io_size within block_bytes ({})", block_bytes_),
                        std::to_string(length));
    }
    if (!scan.failed() && ahead.failed()) return bad(ahead);
    for (std::size_t column = 1; column < columns_; ++column) mapper_.take(column, scan);
    scan.finish();
    const std::size_t before = out.size();
    const LineKind kind = finish_row(scan, out);
    for (std::size_t i = before; i < out.size(); ++i) out.offset[i] += block * block_bytes_;
    return kind;
  }

 private:
  absl::Status begin(std::string_view line) {
    FieldScanner scan(line, ' ');
    for (columns_ = 0; !scan.at_end(); ++columns_) scan.text("a column");
    if (columns_ < 8 || columns_ > 10) {
      return data_loss("expected 8, 9 or 10 columns, got {}", columns_);
    }
    const bool has_counts = columns_ > 8;
    return use({.delimiter = ' ',
                .columns = columns_,
                .mapping = {.time = "4",
                            .time_unit = TimeUnit::kSeconds,
                            .vm = has_counts ? "8" : "",
                            .op = "5",
                            .read = "1,2,5",
                            .write = "3,4,6",
                            .discard = "",
                            .flush = "",
                            .ignored = "100",
                            .offset = "2",
                            .length = "3",
                            .repeat = has_counts ? "9" : ""}});
  }

  std::uint64_t block_bytes_;
  std::size_t columns_ = 0;
};

}  // namespace mcsim
