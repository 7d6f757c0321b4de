// Failures of the core as Python exceptions.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "deeplake.h"

namespace deeplake {

namespace py = pybind11;

// A failure on its way to Python, where it becomes the class of deeplake._errors that belongs to
// its status.
class Failure : public std::exception {
  public:
    Failure(dl_status status, std::string message)
        : status_(status), message_(std::move(message)) {}
    Failure(dl_status status, const dl_error& err)
        : status_(status), message_(err.message), fields_(std::make_shared<dl_error>(err)) {}
    dl_status status() const { return status_; }
    // The error of the core; nullptr if the extension failed.
    const dl_error* fields() const { return fields_.get(); }
    const char* what() const noexcept override { return message_.c_str(); }

  private:
    dl_status status_;
    std::string message_;
    std::shared_ptr<const dl_error> fields_;
};

// Throws the failure of a call of the core, if there is one.
inline void check(dl_status status, const dl_error& err) {
    if (status != DL_OK) throw Failure(status, err);
}

// Raises a failure that another exception has caused.
[[noreturn]] void raise_from(const Failure& failure, const py::object& cause);

// Keeps an exception of a Python function until the failure that it causes is raised. Returns its
// number, which is never 0.
std::uint64_t remember(py::object raised);

// Drops the exception behind a failure that is never raised.
void forget(const dl_error& err);

// Teaches pybind11 to translate Failure.
void register_errors();

}  // namespace deeplake
