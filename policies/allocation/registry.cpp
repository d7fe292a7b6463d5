#include "core/engine/system.hpp"
