// Python functions that queries call, and their running calls, which Ctrl-C ends.
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

// A call of a Python function that runs in this thread. Every use needs the GIL, or an attached
// thread where there is none.
class Running {
  public:
    explicit Running(const void* owner);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    // Returns the innermost call of this thread, or nullptr.
    static Running* here();
    // Returns the number of a new interruption. Each call is told of it once.
    static std::uint64_t press();
    // Raises KeyboardInterrupt in the functions of owner, and stops the calls that these wait for.
    // A function in C code notices when that returns. A function that begins meanwhile is missed:
    // call it again until none can begin.
    static void interrupt(const void* owner, std::uint64_t press);

    // Sets how to stop the call of the core that the function waits for; nothing while it waits for
    // none.
    void wait_for(std::function<void(std::uint64_t press)> stop);

  private:
    const void* owner_;
    Running* outer_;
    unsigned long thread_;
    std::uint64_t told_ = 0;
    std::function<void(std::uint64_t press)> waits_for_;
    bool telling_ = false;  // set during interrupt(), which may reach this call again
};

// A visit of a thread of the core to Python. Before the interpreter exits, it refuses new visits
// and waits for running ones, because Python then frees objects and ends threads that wait for the
// GIL.
class Visit {
  public:
    Visit();
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    // True if Python may be touched.
    explicit operator bool() const { return open_; }

    // Makes the interpreter call `last` when it begins to exit.
    static void register_exit();

  private:
    static void last();
    bool open_;
};

// Functions in the form of the C interface. Each is a deeplake.tql.Function, called with a list of
// columns and the number of rows. They live as long as the views of the query.
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

// Returns whether reading a view may call functions.
bool calls_functions(const ViewHandle& view);

// Interrupts the functions that reading a view calls.
void interrupt_functions(const ViewHandle& view, std::uint64_t press);

}  // namespace deeplake
