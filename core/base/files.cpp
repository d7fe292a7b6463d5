#include "core/base/files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/base/guarded.hpp"

namespace mcsim {
namespace {

absl::Status failed(std::string_view path, std::string_view what) {
  const int number = errno;
  const std::string text = fmt::format("{}: cannot be {}: {}", path, what, std::strerror(number));
  if (number == ENOENT || number == ENOTDIR) return absl::NotFoundError(text);
  if (number == ENOMEM) return absl::ResourceExhaustedError(text);
  return absl::UnavailableError(text);
}

// All mappings of the process.
struct Mapped {
  std::mutex mutex;
  std::vector<const Mapping*> mappings;
};
Mapped& mapped() {
  static Mapped mapped;
  return mapped;
}

bool is_mapped(std::span<const std::byte> memory) {
  const std::lock_guard lock(mapped().mutex);
  return std::ranges::any_of(mapped().mappings, [&](const Mapping* mapping) {
    const std::span<const std::byte> bytes = mapping->bytes();
    return bytes.data() <= memory.data() &&
           memory.data() + memory.size() <= bytes.data() + bytes.size();
  });
}

}  // namespace

Mapping::Mapping() {
  const std::lock_guard lock(mapped().mutex);
  mapped().mappings.push_back(this);
}

Mapping::~Mapping() {
  {
    const std::lock_guard lock(mapped().mutex);
    std::erase(mapped().mappings, this);
  }
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void advise_dont_need(std::span<const std::byte> memory) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data()) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(memory.data() + memory.size()) / page * page;
  if (begin >= end || !is_mapped(memory)) return;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

absl::StatusOr<File> File::open(std::string path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failed(path, "read");
  return File(descriptor, std::move(path));
}

absl::StatusOr<File> File::create(std::string path) {
  struct stat old{};
  if (lstat(path.c_str(), &old) == 0 && S_ISREG(old.st_mode) && old.st_size > 0) {
    unlink(path.c_str());  // a mapping of it ends a process if the file shrinks
  }
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return failed(path, "written");
  return File(descriptor, std::move(path));
}

absl::StatusOr<File> File::create_unnamed(const std::string& path) {
  std::string name = path + ".XXXXXX";
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) return failed(name, "made");
  unlink(name.c_str());
  return File(descriptor, "temporary file for " + path);
}

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status File::write(std::span<const std::byte> bytes, std::uint64_t offset) const {
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(path_, "written");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return absl::OkStatus();
}

absl::Status File::extend(std::uint64_t bytes) const {
  struct stat info{};
  if (fstat(descriptor_, &info) < 0) return failed(path_, "written");
  if (static_cast<std::uint64_t>(info.st_size) >= bytes) return absl::OkStatus();
  if (ftruncate(descriptor_, static_cast<off_t>(bytes)) < 0) return failed(path_, "written");
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Mapping>> File::map() const {
  return guarded(path_, [&]() -> absl::StatusOr<std::shared_ptr<const Mapping>> {
    struct stat info{};
    if (fstat(descriptor_, &info) < 0) return failed(path_, "read");
    if (!S_ISREG(info.st_mode)) return invalid_argument("{}: not a regular file", path_);
    const auto size = static_cast<std::size_t>(info.st_size);
    const std::shared_ptr<Mapping> mapping(new Mapping());
    if (size == 0) return mapping;
    void* const memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor_, 0);
    if (memory == MAP_FAILED) return failed(path_, "mapped into memory");
    const std::lock_guard lock(mapped().mutex);
    mapping->bytes_ = {static_cast<const std::byte*>(memory), size};
    return mapping;
  });
}

absl::StatusOr<std::shared_ptr<const Mapping>> map_file(const std::string& path) {
  MCSIM_ASSIGN_OR_RETURN(const File file, File::open(path));
  return file.map();
}

}  // namespace mcsim
