// The loop of SpatialFilter; included once for each instruction set, inside namespace
// mcsim::MCSIM_ISA. The sets differ in how 64 keys are hashed and compared; all compute the same
// mask.

constexpr std::size_t kMaskKeys = 64;
// Far enough ahead to hide memory latency, and the size of one page.
constexpr std::size_t kAheadBytes = 4096;

#if MCSIM_ISA_NUMBER(MCSIM_ISA) == 512
constexpr std::size_t kLanes = 8;
#elif MCSIM_ISA_NUMBER(MCSIM_ISA) == 2
constexpr std::size_t kLanes = 4;
#endif

#if MCSIM_ISA_NUMBER(MCSIM_ISA) != 0

using Lanes __attribute__((vector_size(8 * kLanes))) = std::uint64_t;

template <class Key>
inline Lanes load_lanes(const Key* keys) {
  Key loaded __attribute__((vector_size(kLanes * sizeof(Key))));
  std::memcpy(&loaded, keys, sizeof loaded);
  return __builtin_convertvector(loaded, Lanes);
}

// mix64 of core/base/random.hpp, lane by lane.
inline Lanes mix_lanes(Lanes x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// One bit per lane: whether a <= limit.
inline std::uint64_t at_most(Lanes a, Lanes limit) {
#if MCSIM_ISA_NUMBER(MCSIM_ISA) == 512
  const __mmask8 mask =
      _mm512_cmple_epu64_mask(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(limit));
  // By hand, since GCC 12 may spill a mask register as a byte and load four.
  std::uint32_t bits;
  asm("kmovb %1, %0" : "=r"(bits) : "k"(mask));
  return bits;
#else
  return static_cast<std::uint64_t>(_mm256_movemask_pd(reinterpret_cast<__m256d>(a <= limit)));
#endif
}

template <class Key>
inline std::uint64_t sampled_mask(const Key* keys, std::uint64_t salt, std::uint64_t limit) {
  const Lanes limits = Lanes{} + limit;
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kMaskKeys; i += kLanes) {
    mask |= at_most(mix_lanes(load_lanes(keys + i) ^ salt), limits) << i;
  }
  return mask;
}

#else

template <class Key>
inline std::uint64_t sampled_mask(const Key* keys, std::uint64_t salt, std::uint64_t limit) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kMaskKeys; ++i) {
    mask |= static_cast<std::uint64_t>(mix64(keys[i] ^ salt) <= limit) << i;
  }
  return mask;
}

#endif

template <class Key>
std::size_t select_sampled(const Key* keys, std::size_t count, std::uint64_t salt,
                           std::uint64_t limit, Key* out) {
  std::size_t selected = 0;
  std::size_t i = 0;
  for (; i + kMaskKeys <= count; i += kMaskKeys) {
    for (std::size_t byte = 0; byte < kMaskKeys * sizeof(Key); byte += 64) {
      __builtin_prefetch(reinterpret_cast<const char*>(keys + i) + kAheadBytes + byte);
    }
    for (std::uint64_t mask = sampled_mask(keys + i, salt, limit); mask != 0; mask &= mask - 1) {
      out[selected++] = keys[i + static_cast<std::size_t>(__builtin_ctzll(mask))];
    }
  }
  for (; i < count; ++i) {
    if (mix64(keys[i] ^ salt) <= limit) out[selected++] = keys[i];
  }
  return selected;
}
