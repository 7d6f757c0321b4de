// Ownership of a handle of the core.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "call.h"

namespace deeplake {

// The traits of each kind of handle.
template <class H>
struct Kind;

#define DEEPLAKE_KIND(H, function, text, waits)                        \
    template <>                                                        \
    struct Kind<H> {                                                   \
        static constexpr const char* name = text;                      \
        static constexpr bool waits_for_functions = waits;             \
        static dl_status close(const Core& core, H h, dl_error* err) { \
            return core.function(h, err);                              \
        }                                                              \
    };
DEEPLAKE_KIND(dl_dataset, dataset_close, "dataset", false)
DEEPLAKE_KIND(dl_view, view_close, "view", true)
DEEPLAKE_KIND(dl_column, column_close, "column", true)
DEEPLAKE_KIND(dl_videos, videos_close, "videos", true)
DEEPLAKE_KIND(dl_batches, batches_close, "batches", true)
DEEPLAKE_KIND(dl_loader, loader_close, "loader", true)
DEEPLAKE_KIND(dl_epoch, epoch_close, "epoch", true)
DEEPLAKE_KIND(dl_job, job_close, "job", true)
DEEPLAKE_KIND(dl_visualizer, visualizer_close, "visualizer", true)
#undef DEEPLAKE_KIND

struct NoOwners {};

// A handle, its core, and the owners of all memory that the core may use until the handle is
// closed. A forked child and an exiting interpreter forget the handle instead of closing it.
// Thread-safe.
//
// The owners are a base, not members of a derived class: bases are destroyed after the destructor's
// body. The core calls Python functions until the handle is closed, so their memory must outlive
// the close.
template <class H, class Owners = NoOwners>
class Handle final : public Owners {
  public:
    explicit Handle(const Core& core, Owners owners = {})
        : Owners(std::move(owners)), core_(&core) {}
    template <class T>
    explicit Handle(const std::shared_ptr<T>& of) : Owners(of), core_(&of->core()) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    ~Handle() {
        if (finalizing() || !current()) return;
        const std::uint64_t id = id_.exchange(0);
        if (id == 0) return;
        const Core* const core = core_;
        if (inside_function()) {
            close_elsewhere([core, id] { Kind<H>::close(*core, H{id}, nullptr); },
                            std::make_shared<Owners>(std::move(static_cast<Owners&>(*this))));
            return;
        }
        without_gil([&] { return Kind<H>::close(*core, H{id}, nullptr); });
    }

    // Takes over h, a new handle of the core.
    void set(H h) { id_ = h.id; }

    // Returns the handle, for a call at once.
    H get() const {
        if (!current()) {
            throw Failure(DL_FORKED,
                          std::string("use ") + Kind<H>::name +
                              ": it was opened before the process forked; open it again");
        }
        const std::uint64_t id = id_;
        if (id == 0)
            throw Failure(DL_CLOSED,
                          std::string("use ") + Kind<H>::name + ": it is closed; open it again");
        return H{id};
    }

    const Core& core() const { return *core_; }
    bool current() const { return loaded_core() == core_; }
    bool alive() const { return current() && id_ != 0; }
    std::uint64_t generation() const { return core_->generation; }

    // Closes the handle. A second close does nothing, as does the close of an epoch after its
    // loader's. Inside a Python function it returns at once, because the close waits for functions,
    // perhaps for this one.
    void close() {
        if (!current()) return;
        if (const std::uint64_t id = id_.exchange(0)) {
            if (Kind<H>::waits_for_functions && inside_function()) {
                const Core* const core = core_;
                close_elsewhere([core, id] { Kind<H>::close(*core, H{id}, nullptr); },
                                std::make_shared<Owners>(static_cast<const Owners&>(*this)));
                return;
            }
            dl_error err;
            const dl_status status =
                without_gil([&] { return Kind<H>::close(*core_, H{id}, &err); });
            if (status != DL_CLOSED) check(status, err);
        }
    }

  private:
    const Core* core_;
    std::atomic<std::uint64_t> id_{0};
};

}  // namespace deeplake
