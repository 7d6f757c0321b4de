// Functions of the user's, and the calls of them that run now, so that Ctrl-C ends them.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "objects.h"

namespace deeplake {

namespace py = pybind11;

// A call of a function that runs in this thread. Everything here needs the GIL, or to be attached
// where there is none.
class Running {
  public:
    explicit Running(const void* owner);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    // The innermost of this thread, or nullptr.
    static Running* here();
    // The number of an interruption: each is told once to each call.
    static std::uint64_t press();
    // Raises KeyboardInterrupt in the functions of owner, and stops what these wait for. A function
    // that is in C code notices when that returns. One that begins meanwhile is missed: call it
    // again until none can.
    static void interrupt(const void* owner, std::uint64_t press);

    // Says what stops the call of the core that the function waits for; nothing while it waits for
    // none.
    void wait_for(std::function<void(std::uint64_t press)> stop);

  private:
    const void* owner_;
    Running* outer_;
    unsigned long thread_;
    std::uint64_t told_ = 0;
    std::function<void(std::uint64_t press)> waits_for_;
    bool telling_ = false;  // a function may read what it is part of itself
};

// A visit of a thread of the core to Python. Before the interpreter exits, visits are refused and
// those that have begun are waited for: Python frees objects then, and ends threads that wait for
// the GIL.
class Visit {
  public:
    Visit();
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    // Whether Python may be touched.
    explicit operator bool() const { return open_; }

    // Makes the interpreter call `last` when it begins to exit.
    static void register_exit();

  private:
    static void last();
    bool open_;
};

// Functions as queries call them: deeplake.tql.Function, each called with a list of columns and the
// number of rows. They live as long as the views of the query.
class Functions {
  public:
    explicit Functions(const py::object& functions);
    Functions(const Functions&) = delete;
    Functions& operator=(const Functions&) = delete;

    const dl_function* data() const { return all_.data(); }
    std::int64_t size() const { return static_cast<std::int64_t>(all_.size()); }

  private:
    struct Callee {
        const Functions* owner;
        py::object call;
    };

    static dl_status invoke(void* self, dl_array_in* args, std::int64_t args_n, std::int64_t rows,
                            dl_rows* out, void** kept, dl_error* err);
    static std::string said(py::handle callee, const py::object& raised);
    static void done(void*, void* kept);

    std::deque<std::string> names_;
    std::deque<std::vector<std::int64_t>> shapes_;
    std::deque<Callee> callees_;
    std::vector<dl_function> all_;
};

// Whether reading a view may call functions.
bool calls_functions(const ViewHandle& view);

// Interrupts the functions that reading a view calls.
void interrupt_functions(const ViewHandle& view, std::uint64_t press);

}  // namespace deeplake
