// Ownership of a handle of the core.
#pragma once

#include <atomic>
#include <string>

#include "call.h"

namespace deeplake {

// What is to be known of each kind of handle.
template <class H>
struct Kind;

#define DEEPLAKE_KIND(H, function, text)                                                               \
    template <>                                                                                        \
    struct Kind<H> {                                                                                   \
        static constexpr const char* name = text;                                                      \
        static dl_status close(const Core& core, H h, dl_error* err) { return core.function(h, err); } \
    };
DEEPLAKE_KIND(dl_dataset, dataset_close, "dataset")
DEEPLAKE_KIND(dl_view, view_close, "view")
DEEPLAKE_KIND(dl_column, column_close, "column")
DEEPLAKE_KIND(dl_loader, loader_close, "loader")
DEEPLAKE_KIND(dl_epoch, epoch_close, "epoch")
DEEPLAKE_KIND(dl_ingest, ingest_close, "import")
#undef DEEPLAKE_KIND

// A handle and the core that it belongs to. In a forked child, and while the interpreter exits, it is forgotten instead
// of closed. Threads may use and close it at the same time.
template <class H>
class Handle {
  public:
    explicit Handle(const Core& core) : core_(&core) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    ~Handle() {
        if (finalizing() || !current()) return;
        if (const std::uint64_t id = id_.exchange(0)) {
            without_gil([&] { return Kind<H>::close(*core_, H{id}, nullptr); });
        }
    }

    // Takes over h, which the core has just handed out.
    void set(H h) { id_ = h.id; }

    // The handle, to be passed to the core at once.
    H get() const {
        if (!current()) {
            throw Failure(DL_FORKED, std::string("use ") + Kind<H>::name +
                                         ": it was opened before the process forked; open it again");
        }
        const std::uint64_t id = id_;
        if (id == 0) throw Failure(DL_CLOSED, std::string("use ") + Kind<H>::name + ": it is closed; open it again");
        return H{id};
    }

    const Core& core() const { return *core_; }
    bool current() const { return loaded_core() == core_; }
    bool alive() const { return current() && id_ != 0; }
    std::uint64_t generation() const { return core_->generation; }

    // Closing twice does nothing, nor does closing what went with its loader.
    void close() {
        if (!current()) return;
        if (const std::uint64_t id = id_.exchange(0)) {
            dl_error err;
            const dl_status status = without_gil([&] { return Kind<H>::close(*core_, H{id}, &err); });
            if (status != DL_CLOSED) check(status, err);
        }
    }

  private:
    const Core* core_;
    std::atomic<std::uint64_t> id_{0};
};

}  // namespace deeplake
