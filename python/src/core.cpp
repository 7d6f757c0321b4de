#include "core.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "errors.h"

namespace deeplake {
namespace {

// A Go runtime does not survive fork(2), and the dynamic loader never loads a file twice. So a
// process with a loaded core leaves its children a copy of the file in anonymous memory. No
// ancestor has loaded its inode. Descendants inherit the descriptor and load it through /proc. See
// docs/design/slabs.md.
struct State {
    // locked during a load and a fork: the child finds neither half done
    std::mutex mutex;
    std::atomic<const Core*> current{nullptr};
    std::atomic<std::uint64_t> generation{1};
    std::string library;    // path of the library of this process
    int copy = -1;          // descriptor of the copy for children
    dev_t copy_device = 0;  // to notice that the number was closed and reused
    ino_t copy_inode = 0;
    pid_t copy_owner = 0;      // process that made it
    std::string copy_failure;  // why there is none
    bool watching = false;
};

// Never destroyed: threads may still call while the process exits.
State& state() {
    static State* s = new State;
    return *s;
}

bool is_copy(const State& s, const char* path) {
    struct stat st;
    return stat(path, &st) == 0 && st.st_dev == s.copy_device && st.st_ino == s.copy_inode;
}

#ifdef __linux__
// Copies the loaded file into memory. Returns the reason of a failure, or "".
std::string write_copy(State& s) {
    int in = open(s.library.c_str(), O_RDONLY | O_CLOEXEC);
    if (in < 0) return "open " + s.library + ": " + std::strerror(errno);
    int out = memfd_create("libdeeplake", MFD_CLOEXEC);
    std::string failure = out < 0 ? std::string("memfd_create: ") + std::strerror(errno) : "";
    // static: a fork handler may run on a small stack; the mutex is locked
    static char block[1 << 16];
    while (failure.empty()) {
        ssize_t n = read(in, block, sizeof block);
        if (n == 0) break;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 || write(out, block, static_cast<size_t>(n)) != n)
            failure = std::string("copy: ") + std::strerror(errno);
    }
    close(in);
    struct stat st;
    if (failure.empty() && fstat(out, &st) == 0) {
        s.copy = out;
        s.copy_device = st.st_dev;
        s.copy_inode = st.st_ino;
        s.copy_owner = getpid();
        return "";
    }
    if (out >= 0) close(out);
    return failure;
}
#else
std::string write_copy(State&) { return "this system has no memfd_create"; }
#endif

void before_fork() {
    State& s = state();
    s.mutex.lock();
    if (s.current.load() != nullptr && (s.copy < 0 || s.copy_owner != getpid())) {
        // the children need a copy of this process: it has loaded the ancestor's itself
        s.copy = -1;
        s.copy_failure = write_copy(s);
    }
}

void in_parent() { state().mutex.unlock(); }

void in_child() {
    State& s = state();
    if (s.current.load() != nullptr) {
        s.current = nullptr;
        s.generation++;
        s.library.clear();
    }
    s.mutex.unlock();
}

// Finds the copy of the nearest ancestor with a core, by the inherited descriptor. If that was
// closed, as daemons do, it takes the ancestor's own descriptor.
std::string path_of_copy(const State& s) {
    const std::string tail = "/fd/" + std::to_string(s.copy);
    for (pid_t pid : {getpid(), s.copy_owner}) {
        std::string path = "/proc/" + std::to_string(pid) + tail;
        if (s.copy >= 0 && is_copy(s, path.c_str())) return path;
    }
    throw Failure(DL_FORKED,
                  "load the core in a forked child: the copy that the parent process leaves its "
                  "children is gone" +
                      (s.copy_failure.empty() ? "" : " (" + s.copy_failure + ")") +
                      "; start the process by spawn or forkserver");
}

const Core* load(State& s) {
    const bool forked = s.library.empty();
    std::string path = forked ? path_of_copy(s) : s.library;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* why = dlerror();
        throw Failure(DL_UNSUPPORTED,
                      "load the core: " + std::string(why ? why : "dlopen says nothing"));
    }
    Core* c = new Core;
    c->generation = s.generation;
#define DEEPLAKE_FIND(name)                                                     \
    c->name = reinterpret_cast<decltype(c->name)>(dlsym(library, "dl_" #name)); \
    if (c->name == nullptr)                                                     \
        throw Failure(DL_UNSUPPORTED, "load the core: " + path + " lacks dl_" #name);
    DL_FUNCTIONS(DEEPLAKE_FIND)
#undef DEEPLAKE_FIND
    const int major = c->abi_version() >> 16;
    if (major != DL_ABI_MAJOR) {
        throw Failure(DL_UNSUPPORTED, "load the core: " + path + " has ABI version " +
                                          std::to_string(major) + ", want " +
                                          std::to_string(DL_ABI_MAJOR));
    }
    s.library = path;
    if (!s.watching) {
        s.watching = pthread_atfork(before_fork, in_parent, in_child) == 0;
    }
    return c;
}

}  // namespace

const Core& core() {
    State& s = state();
    if (const Core* c = s.current.load(std::memory_order_acquire)) return *c;
    std::lock_guard<std::mutex> lock(s.mutex);
    if (const Core* c = s.current.load()) return *c;
    s.current = load(s);
    return *s.current.load();
}

const Core* loaded_core() { return state().current.load(std::memory_order_acquire); }

std::uint64_t generation() { return state().generation.load(); }

void set_library_path(std::string path) { state().library = std::move(path); }

}  // namespace deeplake
