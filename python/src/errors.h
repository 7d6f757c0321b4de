// Failures of the core as Python exceptions.
#pragma once

#include <pybind11/pybind11.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "deeplake.h"

namespace deeplake {

namespace py = pybind11;

// A failure on its way to Python, where it becomes the class of deeplake._errors that belongs to
// its status.
class Failure : public std::exception {
  public:
    Failure(dl_status status, std::string message, std::string details = {})
        : status_(status), message_(std::move(message)), details_(std::move(details)) {}
    dl_status status() const { return status_; }
    // JSON; "" if the message says it all.
    const std::string& details() const { return details_; }
    const char* what() const noexcept override { return message_.c_str(); }

  private:
    dl_status status_;
    std::string message_;
    std::string details_;
};

// Throws what a call of the core left in err, if it failed.
inline void check(dl_status status, const dl_error& err) {
    if (status == DL_OK) return;
    const char* more =
        (err.flags & DL_ERROR_DETAILS) != 0 ? err.message + std::strlen(err.message) + 1 : "";
    throw Failure(status, err.message, more);
}

// Keeps what a function of the user's raised until the failure that it causes is raised, and
// returns its number.
std::string remember(py::object raised);

// Drops what is kept for a failure that will not be raised.
void forget(const dl_error& err);

// Teaches pybind11 to translate Failure.
void register_errors();

}  // namespace deeplake
