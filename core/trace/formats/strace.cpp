#include "core/trace/formats/strace.hpp"

#include <absl/strings/ascii.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace mcsim {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_read(std::string_view name) {
  return is_one_of(name, {"read", "readv", "pread", "pread64", "preadv", "preadv2"});
}

bool is_write(std::string_view name) {
  return is_one_of(name, {"write", "writev", "pwrite", "pwrite64", "pwritev", "pwritev2"});
}

bool is_flush(std::string_view name) {
  return is_one_of(name, {"fsync", "fdatasync", "sync_file_range", "sync", "syncfs"});
}

bool opens(std::string_view name) {
  return is_one_of(name, {"open", "openat", "openat2", "creat"});
}

bool copies(std::string_view name) {
  return is_one_of(name, {"copy_file_range", "sendfile", "sendfile64", "splice"});
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Whether a call may remove bytes of a file.
bool may_remove(const SystemCall& call) {
  if (opens(call.name)) {
    return call.name == "creat" ||
           std::ranges::any_of(call.arguments, [](auto text) { return contains(text, "O_TRUNC"); });
  }
  return is_one_of(call.name, {"truncate", "truncate64", "ftruncate", "ftruncate64", "fallocate"});
}

// The modes of fallocate, from their names or from a number.
struct AllocationMode {
  bool removes = false;  // makes a hole, or zeroes
  bool shifts = false;   // moves the bytes behind

  explicit AllocationMode(std::string_view text) {
    constexpr std::uint64_t kPunch = 0x02, kCollapse = 0x08, kZero = 0x10, kInsert = 0x20;
    std::uint64_t bits = 0;
    if (text.starts_with("0x")) {
      std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
    } else {
      bits = static_cast<std::uint64_t>(leading_number(text).value_or(0));
    }
    removes = contains(text, "PUNCH_HOLE") || contains(text, "ZERO_RANGE") ||
              (bits & (kPunch | kZero)) != 0;
    shifts = contains(text, "COLLAPSE_RANGE") || contains(text, "INSERT_RANGE") ||
             (bits & (kCollapse | kInsert)) != 0;
  }
};

std::optional<std::uint64_t> unsigned_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

// An asynchronous request as strace prints it: {aio_lio_opcode=IOCB_CMD_PREAD, aio_fildes=3,
// aio_nbytes=4096, aio_offset=0}, in old versions {pread, fildes=3, nbytes=4096, offset=0}.
class AsyncRequest {
 public:
  explicit AsyncRequest(std::string_view text) : fields_(elements_of(text)) {}

  // Returns the value of a field; empty without it.
  std::string_view value(std::string_view name) const {
    for (std::string_view field : fields_) {
      if (field.starts_with("aio_")) field.remove_prefix(4);
      if (field.starts_with(name) && field.substr(name.size()).starts_with('=')) {
        return field.substr(name.size() + 1);
      }
    }
    return {};
  }
  // "pread", "pwritev" or "fsync", in lower case.
  std::string operation() const {
    std::string name(value("lio_opcode"));
    if (name.empty()) {
      const auto word = std::ranges::find_if(fields_, [](auto f) { return !contains(f, "="); });
      if (word != fields_.end()) name = *word;
    }
    absl::AsciiStrToLower(&name);
    constexpr std::string_view kPrefix = "iocb_cmd_";
    return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
  }
  std::optional<std::uint64_t> bytes() const {
    if (const std::string_view stated = value("nbytes"); !stated.empty()) {
      return unsigned_number(stated);
    }
    const std::vector<std::string_view> buffers = elements_of(value("buf"));
    std::uint64_t sum = 0;
    for (const std::string_view buffer : buffers) {
      std::optional<std::uint64_t> length;
      for (const std::string_view field : elements_of(buffer)) {
        constexpr std::string_view kLength = "iov_len=";
        if (field.starts_with(kLength)) length = unsigned_number(field.substr(kLength.size()));
      }
      if (!length || *length > kMaxLength) return std::nullopt;
      sum += *length;
    }
    return buffers.empty() ? std::nullopt : std::optional(sum);
  }

 private:
  std::vector<std::string_view> fields_;
};

bool is_clone(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('('));
  return is_one_of(name, {"clone", "clone2", "clone3", "fork", "vfork"});
}

bool shares_descriptors(std::string_view clone) { return contains(clone, "CLONE_FILES"); }

// Whether the path is that of a file or a block device with data.
bool has_data(std::string_view path) {
  if (path.find(":[") != std::string_view::npos || path.starts_with("anon_inode:")) return false;
  constexpr std::array kOthers{"/dev/pts/",    "/dev/tty", "/dev/null", "/dev/zero",
                               "/dev/urandom", "/proc/",   "/sys/"};
  return std::ranges::none_of(kOthers, [&](const char* p) { return path.starts_with(p); });
}

// Returns "/data/a.db" without its quotes.
std::string_view unquoted(std::string_view text) {
  const bool is_quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return is_quoted ? text.substr(1, text.size() - 2) : std::string_view();
}

}  // namespace

LineKind StraceReader::parse(std::string_view line, Requests& out) {
  const std::size_t notice =
      line.ends_with("tached") ? line.find("strace: Process ") : std::string_view::npos;
  if (notice != std::string_view::npos) {
    interrupted_ += line.substr(0, notice);
    return LineKind::kFiltered;
  }
  if (interrupted_.empty()) return parse_line(line, out);
  std::string whole = std::exchange(interrupted_, {});
  whole += line;
  const std::size_t size = whole.size();
  whole.append(LineReader::kPadding, '\0');
  return parse_line(std::string_view(whole).substr(0, size), out);
}

LineKind StraceReader::parse_line(std::string_view line, Requests& out) {
  if (line.starts_with("strace: ")) return LineKind::kFiltered;
  FieldScanner scan(line, ' ');
  take_process(scan);
  const std::string_view time = scan.peek();
  time_ = scan.time("a time of strace -ttt in s", kSecond);
  if (!scan.failed() && scan.at_end()) scan.text("a call");
  if (scan.failed()) return bad(scan);
  std::string_view text = line.substr(static_cast<std::size_t>(time.end() - line.begin()));
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (text.starts_with("+++")) processes_.erase(process_);
  if (text.starts_with("+++") || text.starts_with("---")) return LineKind::kFiltered;
  constexpr std::string_view kUnfinished = "<unfinished ...>";
  if (text.ends_with(kUnfinished)) {
    text.remove_suffix(kUnfinished.size());
    unfinished_[process_] = {time_, std::string(text)};
    return LineKind::kNothing;
  }
  constexpr std::string_view kResumed = " resumed>";
  const std::size_t resumed = text.find(kResumed);
  if (!text.starts_with("<... ") || resumed == std::string_view::npos) {
    return parse_call(text, scan, out);
  }
  auto begun = unfinished_.extract(process_);
  if (begun.empty()) return LineKind::kFiltered;  // the log begins during the call
  time_ = begun.mapped().time;
  begun.mapped().call += text.substr(resumed + kResumed.size());
  return parse_call(begun.mapped().call, scan, out);
}

void StraceReader::take_process(FieldScanner& scan) {
  process_ = 0;
  const bool is_bracketed = scan.peek() == "[pid";
  if (is_bracketed) scan.text("[pid");
  if (!is_bracketed && scan.peek().find('.') != std::string_view::npos) return;
  const std::string_view process = scan.text("a process, or a time of strace -ttt");
  const auto number = leading_number(process);
  if (!number || *number <= 0) scan.complain_of("a process, or a time of strace -ttt", process);
  process_ = static_cast<std::uint64_t>(number.value_or(0));
}

LineKind StraceReader::parse_call(std::string_view text, FieldScanner& scan, Requests& out) {
  const std::optional<SystemCall> call = parse_system_call(text);
  if (!call) {
    scan.text("a call");
    scan.complain_of("a call, as read(3, ...) = 4096,", text);
    return bad(scan);
  }
  if (!call->result || *call->result < 0) return LineKind::kFiltered;
  if (is_read(call->name) || is_write(call->name)) return transfer(*call, scan, out);
  if (is_flush(call->name)) {
    count_flush();
    return LineKind::kNothing;
  }
  if (copies(call->name) || call->name == "io_submit") return transfer_several(*call, scan, out);
  follow(*call);
  if (may_remove(*call)) return remove(*call, out);
  return has_unknown_requests(*call) ? leave_out(call->name) : LineKind::kFiltered;
}

LineKind StraceReader::transfer(const SystemCall& call, FieldScanner& scan, Requests& out) {
  const std::string_view descriptor = call.argument(0);
  const auto bytes = static_cast<std::uint64_t>(*call.result);
  const std::shared_ptr<OpenFile> file = file_of(descriptor);
  const bool is_standard = !file && is_one_of(descriptor, {"0", "1", "2"});
  if (bytes == 0 || is_standard || (file && !has_data(file->path))) return LineKind::kFiltered;
  scan.text("a call");
  if (!file) {
    scan.complain_of("a descriptor with a path (strace -y), or one that openat returned,",
                     descriptor);
    return bad(scan);
  }
  const bool is_at_position = !call.name.starts_with('p') || call.argument(3) == "-1";
  if (is_write(call.name) && (file->appends || contains(call.argument(4), "RWF_APPEND"))) {
    if (is_at_position) file->position.reset();
    return leave_out(fmt::format("{} with O_APPEND", call.name));
  }
  if (is_at_position && !file->position) {
    scan.complain_of("a descriptor with a known position (strace -e trace=%desc,%process)",
                     descriptor);
  }
  const auto offset = is_at_position ? std::nullopt : stated_offset(call, scan);
  return push({.op = is_read(call.name) ? Op::kRead : Op::kWrite,
               .descriptor = descriptor,
               .offset = offset,
               .bytes = bytes,
               .duration = call.duration},
              *file, scan, out);
}

std::optional<std::uint64_t> StraceReader::stated_offset(const SystemCall& call,
                                                         FieldScanner& scan) {
  const auto stated = leading_number(call.argument(3));
  if (stated && *stated >= 0) return static_cast<std::uint64_t>(*stated);
  scan.complain_of("an offset as the fourth argument", call.argument(3));
  return std::nullopt;
}

LineKind StraceReader::push(const Transfer& transfer, OpenFile& file, FieldScanner& scan,
                            Requests& out) {
  if (scan.failed()) return bad(scan);
  const std::uint64_t offset =
      transfer.offset ? *transfer.offset : static_cast<std::uint64_t>(*file.position);
  if (transfer.bytes > kMaxLength || offset > kMaxOffset / 2 - transfer.bytes) {
    scan.complain_of("a result of at most 4 GiB", std::to_string(transfer.bytes));
  }
  check_vm_name(scan, "a path", file.path);
  if (scan.failed()) return bad(scan);
  const auto vm = vm_of(file.path);
  if (!vm.ok()) return refuse(vm.status());
  out.push(time_, *vm, transfer.op, offset, static_cast<std::uint32_t>(transfer.bytes),
           transfer.duration);
  std::uint64_t& end = ends_[file.path];
  end = std::max(end, offset + transfer.bytes);
  if (!transfer.offset) file.position = static_cast<std::int64_t>(offset + transfer.bytes);
  return LineKind::kRequest;
}

LineKind StraceReader::transfer_several(const SystemCall& call, FieldScanner& scan, Requests& out) {
  scan.text("a call");
  LineKind kind = LineKind::kFiltered;
  for (const Transfer& transfer : call.name == "io_submit" ? submitted_by(call) : halves_of(call)) {
    const LineKind next = push_known(call.name, transfer, scan, out);
    if (next == LineKind::kBad || next == LineKind::kRefused) return next;
    if (next == LineKind::kRequest) kind = next;
  }
  return kind;
}

LineKind StraceReader::push_known(std::string_view call, const Transfer& transfer,
                                  FieldScanner& scan, Requests& out) {
  const std::shared_ptr<OpenFile> file = file_of(transfer.descriptor);
  if (transfer.bytes == 0 || (file && !has_data(file->path))) return LineKind::kFiltered;
  const bool appends = file && transfer.op == Op::kWrite && file->appends;
  if (appends) {
    if (!transfer.offset) file->position.reset();
    return leave_out(fmt::format("{} with O_APPEND", call));
  }
  const bool is_known = transfer.is_known && file && (transfer.offset || file->position);
  return is_known ? push(transfer, *file, scan, out) : leave_out(call);
}

std::vector<StraceReader::Transfer> StraceReader::halves_of(const SystemCall& call) {
  const auto half = [&](Op op, std::string_view descriptor, std::string_view position) {
    Transfer transfer{.op = op,
                      .descriptor = descriptor,
                      .offset = std::nullopt,
                      .bytes = static_cast<std::uint64_t>(*call.result),
                      .duration = call.duration};
    if (position.empty() || position == "NULL") return transfer;
    transfer.is_known = position.starts_with('[');  // [4096], or an address
    if (transfer.is_known) transfer.offset = unsigned_number(position.substr(1));
    return transfer;
  };
  if (call.name.starts_with("sendfile")) {
    return {half(Op::kRead, call.argument(1), call.argument(2)),
            half(Op::kWrite, call.argument(0), "")};
  }
  return {half(Op::kRead, call.argument(0), call.argument(1)),
          half(Op::kWrite, call.argument(2), call.argument(3))};
}

std::vector<StraceReader::Transfer> StraceReader::submitted_by(const SystemCall& call) {
  constexpr std::uint64_t kMost = 1 << 20;
  std::vector<std::string_view> elements = elements_of(call.argument(2));
  const std::uint64_t accepted = std::min(static_cast<std::uint64_t>(*call.result), kMost);
  if (accepted < elements.size()) elements.resize(accepted);
  leave_out(call.name, static_cast<Count>(accepted - elements.size()));  // abbreviated
  std::vector<Transfer> transfers;
  for (const std::string_view element : elements) {
    const AsyncRequest request(element);
    const std::string operation = request.operation();
    if (operation == "fsync" || operation == "fdsync") count_flush();
    if (is_one_of(operation, {"fsync", "fdsync", "poll", "noop"})) continue;
    const auto bytes = request.bytes();
    const auto offset = unsigned_number(request.value("offset"));
    const bool is_known = (is_read(operation) || is_write(operation)) && bytes && offset;
    transfers.push_back({.op = is_read(operation) ? Op::kRead : Op::kWrite,
                         .descriptor = request.value("fildes"),
                         .offset = offset,
                         .bytes = bytes.value_or(1),
                         .is_known = is_known});
  }
  return transfers;
}

LineKind StraceReader::remove(const SystemCall& call, Requests& out) {
  if (opens(call.name)) {
    const std::shared_ptr<OpenFile> file = (*descriptors())[*call.result];
    return file ? discard(file->path, 0, kMaxOffset, out) : LineKind::kFiltered;
  }
  if (call.name.starts_with("truncate")) {
    const std::string_view path = unquoted(call.argument(0));
    const auto size = unsigned_number(call.argument(1));
    // A relative path may be a file that is known by its absolute path.
    if (!size || (!path.starts_with('/') && !ends_.contains(path))) return leave_out(call.name);
    return discard(path, *size, kMaxOffset, out);
  }
  const std::shared_ptr<OpenFile> file = file_of(call.argument(0));
  if (!file) return leave_out(call.name);
  if (call.name.starts_with("ftruncate")) {
    const auto size = unsigned_number(call.argument(1));
    if (!size) return leave_out(call.name);
    return discard(file->path, *size, kMaxOffset, out);
  }
  const AllocationMode mode(call.argument(1));
  const auto begin = unsigned_number(call.argument(2));
  const auto length = unsigned_number(call.argument(3));
  if (mode.shifts || (mode.removes && (!begin || !length))) return leave_out(call.name);
  if (!mode.removes || *length > kMaxOffset - *begin) return LineKind::kFiltered;
  return discard(file->path, *begin, *begin + *length, out);
}

LineKind StraceReader::discard(std::string_view path, std::uint64_t begin, std::uint64_t end,
                               Requests& out) {
  // The last block ends behind the last byte, so that a truncation discards it too.
  constexpr std::uint64_t kLargestBlock = std::uint64_t{1} << 20;
  const auto known = ends_.find(path);
  if (known == ends_.end() || known->second <= begin) return LineKind::kFiltered;
  const std::uint64_t last = (known->second / kLargestBlock + 1) * kLargestBlock;
  if (end == kMaxOffset) known->second = begin;
  end = std::min(end, last);
  const auto vm = vm_of(path);
  if (!vm.ok()) return refuse(vm.status());
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 31;
  while (begin < end) {
    const std::uint64_t next = std::min(end, begin - begin % kPiece + kPiece);
    out.push(time_, *vm, Op::kDiscard, begin, static_cast<std::uint32_t>(next - begin));
    begin = next;
  }
  return LineKind::kRequest;
}

LineKind StraceReader::leave_out(std::string_view what, Count count) {
  if (count > 0) left_out_[std::string(what)] += count;
  return LineKind::kFiltered;
}

bool StraceReader::has_unknown_requests(const SystemCall& call) {
  const auto is_file = [&](std::string_view descriptor) {
    const std::shared_ptr<OpenFile> file = file_of(descriptor);
    return file && has_data(file->path);
  };
  if (call.name == "io_uring_enter") return *call.result > 0;
  if (call.name == "io_uring_setup") return contains(call.argument(1), "IORING_SETUP_SQPOLL");
  if (call.name == "mmap" || call.name == "mmap2") return is_file(call.argument(4));
  if (call.name == "readahead") return is_file(call.argument(0));
  return call.name == "ioctl" &&
         is_one_of(call.argument(1), {"BLKDISCARD", "BLKSECDISCARD", "BLKZEROOUT"});
}

std::vector<std::string> StraceReader::notes() const {
  if (left_out_.empty()) return {};
  Count sum = 0;
  std::vector<std::string> names;
  for (const auto& [name, count] : left_out_) {
    sum += count;
    names.push_back(fmt::format("{} {}", count, name));
  }
  return {fmt::format("{} {} with file I/O left out, for offset or length {} not known: {}", sum,
                      sum == 1 ? "call" : "calls", sum == 1 ? "is" : "are",
                      fmt::join(names, ", "))};
}

void StraceReader::follow(const SystemCall& call) {
  Descriptors& files = *descriptors();
  const auto file = [&] { return file_of(call.argument(0)); };
  if (opens(call.name)) {
    files[*call.result] = opened_by(call);
  } else if (call.name == "lseek" && file()) {
    file()->position = *call.result;
  } else if (call.name == "_llseek" && file()) {  // [position] is an argument
    const std::string_view position = call.argument(2);
    file()->position = position.empty() ? std::nullopt : leading_number(position.substr(1));
  } else if (call.argument(1) == "F_SETFL" && file()) {
    file()->appends = contains(call.argument(2), "O_APPEND");
  } else if (call.name == "close") {
    files.erase(leading_number(call.argument(0)).value_or(-1));
  } else if (call.name.starts_with("dup") || call.argument(1).starts_with("F_DUPFD")) {
    files[*call.result] = file();
  } else if (is_clone(call.name) && *call.result > 0) {
    const bool shares = std::ranges::any_of(call.arguments, shares_descriptors);
    start_child(process_, static_cast<std::uint64_t>(*call.result), shares);
  }
}

std::shared_ptr<StraceReader::OpenFile> StraceReader::opened_by(const SystemCall& call) {
  const std::size_t path = call.name.starts_with("openat") ? 1 : 0;
  const std::string_view resolved = path_of_descriptor(call.result_text);
  const bool appends = contains(call.argument(path + 1), "O_APPEND");
  return std::make_shared<OpenFile>(
      OpenFile{.path = std::string(resolved.empty() ? unquoted(call.argument(path)) : resolved),
               .position = 0,
               .appends = appends});
}

std::shared_ptr<StraceReader::Descriptors>& StraceReader::descriptors() {
  std::shared_ptr<Descriptors>& own = processes_[process_];
  if (own) return own;
  // A child may run before the clone call of its parent ends.
  for (const auto& [parent, begun] : unfinished_) {
    if (parent == process_ || !is_clone(begun.call)) continue;
    start_child(parent, process_, shares_descriptors(begun.call));
    return own;
  }
  // strace does not print process ids while there is only one process.
  own = processes_[0];
  if (!own) own = std::make_shared<Descriptors>();
  return own;
}

void StraceReader::start_child(std::uint64_t parent, std::uint64_t child, bool shares) {
  std::shared_ptr<Descriptors>& own = processes_[child];
  std::shared_ptr<Descriptors>& of_parent = processes_[parent];
  if (!of_parent) of_parent = std::make_shared<Descriptors>();
  if (!own) own = shares ? of_parent : std::make_shared<Descriptors>(*of_parent);
}

std::shared_ptr<StraceReader::OpenFile> StraceReader::file_of(std::string_view descriptor) {
  const auto number = leading_number(descriptor);
  if (!number) return nullptr;
  const std::string_view path = path_of_descriptor(descriptor);
  Descriptors& files = *descriptors();
  const auto known = files.find(*number);
  const bool is_known = known != files.end() && known->second;
  if (is_known && (path.empty() || known->second->path == path)) return known->second;
  if (path.empty()) return nullptr;
  return files[*number] = std::make_shared<OpenFile>(OpenFile{.path = std::string(path)});
}

}  // namespace mcsim
