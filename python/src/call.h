// Ways to call the core: without the GIL, and so that Ctrl-C is answered.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "core.h"
#include "errors.h"

namespace deeplake {

// Whether the interpreter began to exit: nothing of Python may be touched, handles are leaked.
bool finalizing();

// Whether this thread is in a function of the user's that the core calls.
bool inside_function();

// Runs close in a thread of its own, without the GIL; the main thread drops owners after it. For
// closes that wait for functions of the user's where a function itself is the caller: the wait
// would never end.
void close_elsewhere(std::function<void()> close, std::shared_ptr<void> owners);

// Runs f without the GIL; f touches nothing of Python and does not throw. Not a guard object: a
// thread that wants the GIL back while the interpreter exits is ended here, by unwinding, and
// destructors do not let that pass.
template <class F>
auto without_gil(F&& f) {
    PyThreadState* saved = PyEval_SaveThread();
    auto result = f();
    PyEval_RestoreThread(saved);
    return result;
}

// Calls f, which cannot take long, and throws what it failed with.
template <class F>
void call(F&& f) {
    dl_error err;
    check(without_gil([&] { return f(&err); }), err);
}

// What stops f besides its context, called with the GIL and the number of the signal, again and
// again until f returns.
using Interrupt = std::function<void(std::uint64_t press)>;

// Calls f, which may take long, and throws what it failed with. On the main thread signals are
// looked after at least ten times a second; if one raises, the context that f was given is
// canceled, f is waited for, and that is thrown. In a function that a query calls, f is stopped
// with that query.
void call_long(const Core& core, const std::function<dl_status(dl_context, dl_error*)>& f,
               const Interrupt& interrupt = {});

}  // namespace deeplake
