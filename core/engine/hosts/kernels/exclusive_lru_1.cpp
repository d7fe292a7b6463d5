#include "core/engine/hosts/kernels/exclusive_lru_make.inl"

namespace mcsim {

template absl::StatusOr<std::unique_ptr<Host>> make_exclusive_lru<1>(const Machine&,
                                                                     const Accesses&, Sharing,
                                                                     DivisionRules,
                                                                     const Allocation&, WriteRules);

}  // namespace mcsim
