#include "core/trace/reading/decompress.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <boost/iostreams/filter/bzip2.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#include <cerrno>
#include <cstring>
#include <exception>
#include <ios>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/guarded.hpp"

namespace mcsim {
namespace {

namespace io = boost::iostreams;

constexpr std::streamsize kFilterBuffer = 256 * 1024;

// The data needs more memory than the decoder's limit: ZSTD's own limit on windows, or the limit
// that Boost sets for LZMA.
struct WindowTooLarge : std::runtime_error {
  using std::runtime_error::runtime_error;
};
constexpr const char* kZstdLimit = "a window of more than 128 MiB; compress it without --long";
constexpr const char* kXzLimit = "more than 100 MiB; compress it with xz -9 at most";
constexpr int kLzmaMemoryLimitError = 6;  // LZMA_MEMLIMIT_ERROR, which Boost does not name

// The file as on disk. Boost.Iostreams reports errors by exceptions, and so does this class; read()
// below catches them.
class RawBytes {
 public:
  virtual ~RawBytes() = default;
  std::size_t read(char* to, std::size_t size) {
    const std::size_t got = do_read(to, size);
    consumed_ += got;
    return got;
  }
  // Reads until the buffer is full or the source ends.
  std::size_t fill(char* to, std::size_t size) {
    std::size_t filled = 0;
    std::size_t got = 0;
    do {
      got = read(to + filled, size - filled);
      filled += got;
    } while (got > 0 && filled < size);
    return filled;
  }
  std::uint64_t consumed() const { return consumed_; }
  virtual bool is_ready(std::chrono::milliseconds) const { return true; }

 private:
  virtual std::size_t do_read(char* to, std::size_t size) = 0;
  std::uint64_t consumed_ = 0;
};

class FileBytes final : public RawBytes {
 public:
  explicit FileBytes(int descriptor) : descriptor_(descriptor) {}
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes() override { ::close(descriptor_); }

  bool is_ready(std::chrono::milliseconds patience) const override {
    pollfd wanted{.fd = descriptor_, .events = POLLIN, .revents = 0};
    return ::poll(&wanted, 1, static_cast<int>(patience.count())) != 0;
  }

 private:
  std::size_t do_read(char* to, std::size_t size) override {
    while (true) {
      const ssize_t got = ::read(descriptor_, to, size);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) throw std::system_error(errno, std::generic_category());
    }
  }

  int descriptor_;
};

class MemoryBytes final : public RawBytes {
 public:
  explicit MemoryBytes(std::string bytes) : bytes_(std::move(bytes)) {}

 private:
  std::size_t do_read(char* to, std::size_t size) override {
    const std::size_t got = std::min(size, bytes_.size() - at_);
    std::memcpy(to, bytes_.data() + at_, got);
    at_ += got;
    return got;
  }

  std::string bytes_;
  std::size_t at_ = 0;
};

// The end of a Boost.Iostreams chain: first the bytes read to detect the codec, then the others.
class ChainEnd {
 public:
  using char_type = char;
  using category = io::source_tag;

  ChainEnd(RawBytes* raw, std::string_view head) : raw_(raw), head_(head) {}

  std::streamsize read(char* to, std::streamsize size) {
    const auto wanted = static_cast<std::size_t>(size);
    if (!head_.empty()) {
      const std::size_t got = head_.copy(to, wanted);
      head_.remove_prefix(got);
      return static_cast<std::streamsize>(got);
    }
    const std::size_t got = raw_->read(to, wanted);
    return got == 0 ? -1 : static_cast<std::streamsize>(got);
  }

 private:
  RawBytes* raw_;
  std::string_view head_;
};

// Replaces Boost's own zstd filter, which accepts a truncated frame as complete.
class ZstdDecompressor {
 public:
  using char_type = char;
  struct category : io::multichar_input_filter_tag, io::closable_tag {};

  ZstdDecompressor() : state_(std::make_shared<State>()) {}

  template <class Source>
  std::streamsize read(Source& source, char* to, std::streamsize size) {
    ZSTD_outBuffer out{to, static_cast<std::size_t>(size), 0};
    while (out.pos < out.size) {
      if (state_->in.pos == state_->in.size && !state_->may_hold_output && !refill(source)) break;
      const std::size_t wanted = ZSTD_decompressStream(state_->stream.get(), &out, &state_->in);
      if (ZSTD_getErrorCode(wanted) == ZSTD_error_frameParameter_windowTooLarge) {
        throw WindowTooLarge(kZstdLimit);
      }
      if (ZSTD_isError(wanted)) throw std::runtime_error(ZSTD_getErrorName(wanted));
      state_->frame_open = wanted != 0;
      state_->may_hold_output = wanted != 0 && out.pos == out.size;
    }
    return out.pos == 0 ? -1 : static_cast<std::streamsize>(out.pos);
  }

  template <class Source>
  void close(Source&) {}

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  struct State {
    std::unique_ptr<ZSTD_DStream, Free> stream{ZSTD_createDStream()};
    std::vector<char> input = std::vector<char>(kFilterBuffer);
    ZSTD_inBuffer in{input.data(), 0, 0};
    bool frame_open = false;
    bool may_hold_output = false;
  };

  template <class Source>
  bool refill(Source& source) {
    const std::streamsize got = io::read(source, state_->input.data(), kFilterBuffer);
    if (got <= 0) {
      if (state_->frame_open) throw std::runtime_error("unexpected end of file");
      return false;
    }
    state_->in = {state_->input.data(), static_cast<std::size_t>(got), 0};
    return true;
  }

  std::shared_ptr<State> state_;  // filters are copied into their chain
};

class PlainSource final : public ByteSource {
 public:
  PlainSource(std::unique_ptr<RawBytes> raw, std::string head, std::string name)
      : raw_(std::move(raw)), head_(std::move(head)), name_(std::move(name)) {}

  absl::StatusOr<std::size_t> read(std::span<char> buffer) override {
    const std::size_t filled = take_head(buffer);
    try {
      return filled + raw_->fill(buffer.data() + filled, buffer.size() - filled);
    } catch (const std::exception& error) {
      return absl::UnavailableError(fmt::format("{}: {}", name_, error.what()));
    }
  }

  absl::StatusOr<std::size_t> read_some(std::span<char> buffer) override {
    if (const std::size_t filled = take_head(buffer); filled > 0) return filled;
    try {
      return raw_->read(buffer.data(), buffer.size());
    } catch (const std::exception& error) {
      return absl::UnavailableError(fmt::format("{}: {}", name_, error.what()));
    }
  }

  bool is_ready(std::chrono::milliseconds patience) const override {
    return !head_.empty() || raw_->is_ready(patience);
  }

  std::uint64_t consumed() const override { return raw_->consumed() - head_.size(); }

 private:
  std::size_t take_head(std::span<char> buffer) {
    const std::size_t filled = head_.copy(buffer.data(), buffer.size());
    head_.erase(0, filled);
    return filled;
  }

  std::unique_ptr<RawBytes> raw_;
  std::string head_;
  std::string name_;
};

class DecompressedSource final : public ByteSource {
 public:
  DecompressedSource(std::unique_ptr<RawBytes> raw, Codec codec, std::string head, std::string name)
      : raw_(std::move(raw)), head_(std::move(head)), name_(std::move(name)) {
    switch (codec) {
      case Codec::kGzip:
        push(io::gzip_decompressor(io::zlib::default_window_bits, kFilterBuffer), "gzip");
        break;
      case Codec::kBzip2:
        push(io::bzip2_decompressor(false, kFilterBuffer), "bzip2");
        break;
      case Codec::kXz:
        push(io::lzma_decompressor(kFilterBuffer), "xz");
        break;
      case Codec::kZstd:
        push(ZstdDecompressor(), "zstd");
        break;
      case Codec::kNone:
        break;
    }
    chain_.push(ChainEnd(raw_.get(), head_), kFilterBuffer);
  }

  absl::StatusOr<std::size_t> read(std::span<char> buffer) override {
    try {
      const std::streamsize got =
          chain_.sgetn(buffer.data(), static_cast<std::streamsize>(buffer.size()));
      const auto size = static_cast<std::size_t>(std::max<std::streamsize>(got, 0));
      produced_ += size;
      return size;
    } catch (const io::lzma_error& error) {
      if (error.error() == kLzmaMemoryLimitError) return takes_too_much(kXzLimit);
    } catch (const std::system_error& error) {
      // Boost's own failures are system errors too, but of another category.
      if (error.code().category() == std::generic_category()) {
        return absl::UnavailableError(fmt::format("{}: {}", name_, error.what()));
      }
    } catch (const WindowTooLarge& error) {
      return takes_too_much(error.what());
    } catch (const std::bad_alloc&) {
      return out_of_memory(fmt::format("{}: decompressing the {} data", name_, codec_));
    } catch (const std::exception&) {
      // The message below is clearer than those of the codecs.
    }
    return data_loss(
        "{}: the {} data is damaged or cut short, before byte {} of the file and behind byte {} of "
        "its content",
        name_, codec_, raw_->consumed() + 1, produced_);
  }

  // Does not count bytes that are already decompressed.
  bool is_ready(std::chrono::milliseconds patience) const override {
    return raw_->is_ready(patience);
  }

  std::uint64_t consumed() const override { return raw_->consumed(); }

 private:
  absl::Status takes_too_much(const char* what) const {
    return data_loss("{}: decompressing the {} data takes {}", name_, codec_, what);
  }

  template <class Filter>
  void push(Filter filter, const char* codec) {
    chain_.push(std::move(filter), kFilterBuffer);
    codec_ = codec;
  }

  std::unique_ptr<RawBytes> raw_;
  std::string head_;
  std::string name_;
  const char* codec_ = "";
  std::uint64_t produced_ = 0;
  io::filtering_streambuf<io::input> chain_;
};

absl::StatusOr<std::unique_ptr<ByteSource>> decoded(std::unique_ptr<RawBytes> raw,
                                                    std::string name) {
  std::string head(8, '\0');
  try {
    head.resize(raw->fill(head.data(), head.size()));
    const Codec codec = codec_of(head);
    if (codec == Codec::kNone) {
      return std::make_unique<PlainSource>(std::move(raw), std::move(head), std::move(name));
    }
    return std::make_unique<DecompressedSource>(std::move(raw), codec, std::move(head),
                                                std::move(name));
  } catch (const std::bad_alloc&) {
    return out_of_memory(name);
  } catch (const std::exception& error) {
    return absl::UnavailableError(fmt::format("{}: {}", name, error.what()));
  }
}

// Whether bytes are the header of gzip (RFC 1952), of which one of the first three may be damaged.
bool is_gzip_header(std::string_view head) {
  constexpr std::size_t kBytes = 10;
  if (head.size() < kBytes) return false;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
  const int right = (byte(0) == 0x1f) + (byte(1) == 0x8b) + (byte(2) == 8);
  constexpr unsigned kFlags = 0x1f, kLastSystem = 13, kUnknownSystem = 255;
  const bool has_level = byte(8) == 0 || byte(8) == 2 || byte(8) == 4;
  const bool has_system = byte(9) <= kLastSystem || byte(9) == kUnknownSystem;
  return right >= 2 && byte(3) <= kFlags && has_level && has_system;
}

// Returns the codec or archive that bytes begin as, "" if none. One byte of the magic number may be
// damaged.
std::string_view packed_format(std::string_view head) {
  using namespace std::string_view_literals;
  // A dot is any byte.
  static constexpr std::array kMagic{
      std::pair{"\x28\xb5\x2f\xfd"sv, "zstd"sv},
      std::pair{"\xfd"
                "7zXZ\0"sv,
                "xz"sv},
      std::pair{"BZh.1AY&SY"sv, "bzip2"sv},
      std::pair{"BZh.\x17rE8P\x90"sv, "bzip2"sv},  // of no bytes
      std::pair{"\x04\x22\x4d\x18"sv, "lz4"sv},
      std::pair{"\x02\x21\x4c\x18"sv, "lz4"sv},
      std::pair{"PK\x03\x04"sv, "zip"sv},
      std::pair{"7z\xbc\xaf\x27\x1c"sv, "7z"sv},
      std::pair{"LZIP"sv, "lzip"sv},
      std::pair{"\x89LZO\0"sv, "lzop"sv},
      std::pair{"\xff\x06\0\0sNaPpY"sv, "snappy"sv},
      std::pair{"Rar!\x1a\x07"sv, "rar"sv},
  };
  for (const auto& [magic, name] : kMagic) {
    if (head.size() < magic.size()) continue;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < magic.size(); ++i) wrong += magic[i] != '.' && magic[i] != head[i];
    if (wrong <= 1) return name;
  }
  return is_gzip_header(head) ? "gzip" : "";
}

}  // namespace

Codec codec_of(std::string_view head) {
  using namespace std::string_view_literals;
  static constexpr std::array kMagic{
      std::pair{"\x1f\x8b"sv, Codec::kGzip},
      std::pair{"\x28\xb5\x2f\xfd"sv, Codec::kZstd},
      std::pair{"\xfd"
                "7zXZ\0"sv,
                Codec::kXz},
      std::pair{"BZh"sv, Codec::kBzip2},
  };
  for (const auto& [magic, codec] : kMagic) {
    // A file that ends within its magic number is truncated.
    if (head.starts_with(magic) || (head.size() > 1 && magic.starts_with(head))) return codec;
  }
  // A zstd file may begin with a skippable frame: 0x184D2A5? little-endian.
  if (head.size() >= 4 && (head[0] & '\xf0') == '\x50' && head.substr(1, 3) == "\x2a\x4d\x18"sv) {
    return Codec::kZstd;
  }
  return Codec::kNone;
}

std::string objection_to_packed(std::string_view head) {
  const std::string_view packed = packed_format(head);
  if (packed.empty()) return "";
  return fmt::format(
      "expected requests, got {} data: decompress it; if that was done, the data is damaged or was "
      "compressed twice",
      packed);
}

absl::StatusOr<std::unique_ptr<ByteSource>> open_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return not_found("{}: no such file", path);
    if (errno == EACCES) return absl::PermissionDeniedError(fmt::format("{}: not readable", path));
    return absl::UnavailableError(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  return open_descriptor(descriptor, path);
}

absl::StatusOr<std::unique_ptr<ByteSource>> open_descriptor(int descriptor, std::string name) {
  std::unique_ptr<FileBytes> raw(new (std::nothrow) FileBytes(descriptor));
  if (raw == nullptr) {
    ::close(descriptor);
    return out_of_memory(name);
  }
  struct stat info{};
  if (::fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode)) {
    return invalid_argument("{}: is a directory, expected a trace file", name);
  }
  return decoded(std::move(raw), std::move(name));
}

absl::StatusOr<std::unique_ptr<ByteSource>> open_bytes(std::string bytes, std::string name) {
  return guarded("decompress", [&] {
    return decoded(std::make_unique<MemoryBytes>(std::move(bytes)), std::move(name));
  });
}

}  // namespace mcsim
