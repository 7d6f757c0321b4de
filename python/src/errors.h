// Failures of the core as Python exceptions.
#pragma once

#include <pybind11/pybind11.h>

#include <stdexcept>
#include <string>

#include "deeplake.h"

namespace deeplake {

namespace py = pybind11;

// A failure on its way to Python, where it becomes the class of deeplake._errors that belongs to its status.
class Failure : public std::exception {
  public:
    Failure(dl_status status, std::string message) : status_(status), message_(std::move(message)) {}
    dl_status status() const { return status_; }
    const char* what() const noexcept override { return message_.c_str(); }

  private:
    dl_status status_;
    std::string message_;
};

// Throws what a call of the core left in err, if it failed.
inline void check(dl_status status, const dl_error& err) {
    if (status != DL_OK) throw Failure(status, err.message);
}

// Teaches pybind11 to translate Failure.
void register_errors();

}  // namespace deeplake
