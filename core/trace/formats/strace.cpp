#include "core/trace/formats/strace.hpp"

#include <algorithm>

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

bool is_clone(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('('));
  return is_one_of(name, {"clone", "clone2", "clone3", "fork", "vfork"});
}

bool shares_descriptors(std::string_view clone) {
  return clone.find("CLONE_FILES") != std::string_view::npos;
}

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
  follow(*call);
  return LineKind::kFiltered;
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
  const std::uint64_t offset = offset_of(call, is_at_position, *file, scan);
  if (bytes > kMaxLength || offset > kMaxOffset / 2 - bytes) {
    scan.complain_of("a result of at most 4 GiB", std::to_string(bytes));
  }
  check_vm_name(scan, "a path", file->path);
  if (scan.failed()) return bad(scan);
  const auto vm = vm_of(file->path);
  if (!vm.ok()) return refuse(vm.status());
  out.push(time_, *vm, is_read(call.name) ? Op::kRead : Op::kWrite, offset,
           static_cast<std::uint32_t>(bytes), call.duration);
  if (is_at_position) file->position = static_cast<std::int64_t>(offset + bytes);
  return LineKind::kRequest;
}

std::uint64_t StraceReader::offset_of(const SystemCall& call, bool is_at_position,
                                      const OpenFile& file, FieldScanner& scan) {
  if (is_write(call.name) && file.appends) {
    scan.complain_of("a write at a known position, but with O_APPEND it has none,", file.path);
  } else if (is_at_position && !file.position) {
    scan.complain_of("a descriptor with a known position (strace -e trace=%desc,%process)",
                     call.argument(0));
  } else if (is_at_position) {
    return static_cast<std::uint64_t>(*file.position);
  } else if (const auto stated = leading_number(call.argument(3)); stated && *stated >= 0) {
    return static_cast<std::uint64_t>(*stated);
  } else {
    scan.complain_of("an offset as the fourth argument", call.argument(3));
  }
  return 0;
}

void StraceReader::follow(const SystemCall& call) {
  Descriptors& files = *descriptors();
  const auto file = [&] { return file_of(call.argument(0)); };
  if (is_one_of(call.name, {"open", "openat", "openat2", "creat"})) {
    files[*call.result] = opened_by(call);
  } else if (call.name == "lseek" && file()) {
    file()->position = *call.result;
  } else if (call.name == "_llseek" && file()) {  // [position] is an argument
    const std::string_view position = call.argument(2);
    file()->position = position.empty() ? std::nullopt : leading_number(position.substr(1));
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
  const bool appends = call.argument(path + 1).find("O_APPEND") != std::string_view::npos;
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
