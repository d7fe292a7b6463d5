#include "tests/support/compress.hpp"

#include <boost/iostreams/filter/bzip2.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filter/zlib.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#include <boost/iostreams/operations.hpp>
#include <sstream>

namespace mcsim {

namespace io = boost::iostreams;

namespace {

// zlib writes gzip itself if 16 is added to the window's bits.
io::zlib_params gzip_by_zlib() {
  io::zlib_params params;
  params.window_bits += 16;
  return params;
}

}  // namespace

std::string compress(Codec codec, const std::string& text) {
  std::ostringstream out;
  io::filtering_streambuf<io::output> chain;
  switch (codec) {
    case Codec::kGzip:
      chain.push(io::zlib_compressor(gzip_by_zlib()));
      break;
    case Codec::kBzip2:
      chain.push(io::bzip2_compressor());
      break;
    case Codec::kXz:
      chain.push(io::lzma_compressor());
      break;
    case Codec::kZstd:
      chain.push(io::zstd_compressor());
      break;
    case Codec::kNone:
      return text;
  }
  chain.push(out);
  io::write(chain, text.data(), static_cast<std::streamsize>(text.size()));
  io::close(chain);
  return out.str();
}

}  // namespace mcsim
