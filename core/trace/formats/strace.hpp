#pragma once

#include <map>
#include <memory>

#include "core/trace/formats/system_call.hpp"
#include "core/trace/reading/text.hpp"

namespace mcsim {

// File I/O of programs, as logged by strace -f -ttt -y -T:
//
//   [process] time (s) call(arguments) = result [<duration>]
//
// The VM is the path of the file, from -y or from openat. A request has the start time of its call,
// and its length is the result. pread64 and its variants state an offset. read and write continue
// at the position of the open file, which is tracked through openat, lseek, dup, clone and close.
// copy_file_range, sendfile and splice read one file and write another. io_submit has requests with
// stated offsets and lengths. Holes and truncation are discards up to the end of earlier requests.
// fsync and its variants are flushes.
//
// Lines without a known path or position are unreadable. Calls with file I/O but without known
// requests are left out, and notes() has their names: mmap, io_uring_enter, writes that append.
//
// Failed calls, other calls and signals are filtered, as are calls on pipes, sockets, terminals and
// /proc.
class StraceReader final : public TextReader<StraceReader> {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{"strace",
                                       "strace -f -ttt -y -T: reads, writes and flushes of files, "
                                       "at stated offsets, or at positions "
                                       "known from openat and lseek; without mmap, io_uring and "
                                       "writes that append, which a line counts",
                                       "strace(1)"};

  StraceReader(NoParams, ReaderContext context) : TextReader(std::move(context)) {}

  static Guess guess(const Head& head) { return guess_by_lines<StraceReader>(Fit::kCertain, head); }

  TimeBase time_base() const override { return TimeBase::kClock; }

  std::vector<std::string> notes() const override;

  LineKind parse(std::string_view line, Requests& out);

 private:
  // An open file, possibly shared by descriptors of several processes.
  struct OpenFile {
    std::string path;
    std::optional<std::int64_t> position = {};
    bool appends = false;
  };
  using Descriptors = std::map<std::int64_t, std::shared_ptr<OpenFile>>;

  LineKind parse_line(std::string_view line, Requests& out);
  void take_process(FieldScanner& scan);
  LineKind parse_call(std::string_view text, FieldScanner& scan, Requests& out);
  // Bytes between a file and memory or another file.
  struct Transfer {
    Op op = Op::kRead;
    std::string_view descriptor;
    std::optional<std::uint64_t> offset;  // nullopt: at the position of the file
    std::uint64_t bytes = 0;
    Nanoseconds duration = -1;
    bool is_known = true;  // whether bytes and offset are
  };
  LineKind transfer(const SystemCall& call, FieldScanner& scan, Requests& out);
  static std::optional<std::uint64_t> stated_offset(const SystemCall& call, FieldScanner& scan);
  LineKind push(const Transfer& transfer, OpenFile& file, FieldScanner& scan, Requests& out);

  // Requests of calls with several transfers. Transfers without a known file or offset are left
  // out.
  LineKind transfer_several(const SystemCall& call, FieldScanner& scan, Requests& out);
  static std::vector<Transfer> halves_of(const SystemCall& call);
  std::vector<Transfer> submitted_by(const SystemCall& call);
  LineKind push_known(std::string_view call, const Transfer& transfer, FieldScanner& scan,
                      Requests& out);

  // Discards the bytes of a file that a call removes.
  LineKind remove(const SystemCall& call, Requests& out);
  LineKind discard(std::string_view path, std::uint64_t begin, std::uint64_t end, Requests& out);

  LineKind leave_out(std::string_view what, Count count = 1);
  bool has_unknown_requests(const SystemCall& call);

  // Applies a call to the descriptors of its process.
  void follow(const SystemCall& call);
  static std::shared_ptr<OpenFile> opened_by(const SystemCall& call);
  std::shared_ptr<Descriptors>& descriptors();
  // The file of a descriptor such as "3" or "3</data/a.db>"; null if its path is unknown.
  std::shared_ptr<OpenFile> file_of(std::string_view descriptor);
  void start_child(std::uint64_t parent, std::uint64_t child, bool shares);

  std::uint64_t process_ = 0;  // of the line; 0 if it has none
  Nanoseconds time_ = 0;       // of the line
  std::map<std::uint64_t, std::shared_ptr<Descriptors>> processes_;
  std::map<std::string, std::uint64_t, std::less<>> ends_;  // of the requests of a path
  std::map<std::string, Count> left_out_;                   // calls with file I/O, by name
  struct Unfinished {
    Nanoseconds time = 0;
    std::string call;
  };
  std::map<std::uint64_t, Unfinished> unfinished_;  // by process
  std::string interrupted_;  // a line interrupted by a message about an attached process
};

}  // namespace mcsim
