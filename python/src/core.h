// The loaded core: a copy of libdeeplake and its functions. Loads it on first use, and again in a
// forked child.
#pragma once

#include <cstdint>
#include <string>

#include "deeplake.h"

namespace deeplake {

// One loaded copy. It is never unloaded and never freed: a Go runtime cannot stop, and references
// to batch memory may be dropped at any later time, also in a forked child.
struct Core {
    std::uint64_t generation = 0;
#define DEEPLAKE_MEMBER(name) decltype(&dl_##name) name = nullptr;
    DL_FUNCTIONS(DEEPLAKE_MEMBER)
#undef DEEPLAKE_MEMBER
};

// Returns the core of this process, and loads it if need be. Throws Failure if it cannot be loaded.
const Core& core();

// Returns the core of this process, or nullptr if none is loaded. After a fork the child has none.
const Core* loaded_core();

// Returns the generation that core() has, or would have.
std::uint64_t generation();

// Sets the path of libdeeplake, beside the extension. Called once, at import.
void set_library_path(std::string path);

}  // namespace deeplake
