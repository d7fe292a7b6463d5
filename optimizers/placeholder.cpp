#include "core/engine/allocation.hpp"
