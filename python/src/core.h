// The loaded core: a copy of libdeeplake and its functions. Loads it on first use, and again in a
// forked child.
#pragma once

#include <cstdint>
#include <string>

#include "deeplake.h"

namespace deeplake {

// Every function of deeplake.h that the extension calls.
// clang-format off
#define DEEPLAKE_FUNCTIONS(X) \
    X(abi_version) X(version) X(error_table) X(configure) X(memory_references) X(context_new) \
    X(context_cancel) X(context_close) X(dataset_create) X(dataset_open) X(dataset_exists) \
    X(dataset_delete) X(dataset_list) X(dataset_describe) X(dataset_create_tensor) \
    X(dataset_append) X(dataset_update) X(dataset_delete_rows) X(dataset_set_info) \
    X(dataset_commit) X(dataset_discard) X(dataset_refresh) X(dataset_log) X(dataset_at) \
    X(dataset_view) X(dataset_close) X(dataset_branches) X(dataset_create_branch) \
    X(dataset_delete_branch) X(dataset_checkout) X(dataset_tags) X(dataset_create_tag) \
    X(dataset_delete_tag) X(dataset_graph) X(dataset_diff) X(dataset_merge) \
    X(dataset_rename_tensor) X(dataset_delete_tensor) X(dataset_views) X(dataset_delete_view) \
    X(dataset_rechunk) X(dataset_gc) X(dataset_fsck) X(dataset_progress) X(dataset_copy_to) \
    X(dataset_copy) X(view_len) X(view_describe) X(view_select) X(view_slice) X(view_rows) \
    X(view_read) X(view_with_weights) X(view_close) X(query) X(query_explain) \
    X(dataset_save_view) X(dataset_load_view) X(view_materialize) X(query_sources) X(query_functions) \
    X(column_open) X(column_sizes) X(column_stored) X(column_stored_one) X(column_close) \
    X(loader_open) X(loader_mix) X(loader_len) X(loader_start) X(loader_state) \
    X(loader_resume) X(loader_stats) X(loader_trace) X(loader_close) X(epoch_next) \
    X(epoch_close) X(batch_export_free) X(memory_retain) X(memory_release) X(memory_tensor) \
    X(sample_inspect) X(sample_decode) X(ingest_start) X(ingest_poll) X(ingest_cancel) \
    X(ingest_close) X(test_panic)
// clang-format on

// One loaded copy. It is never unloaded and never freed: a Go runtime cannot stop, and references
// to batch memory may be dropped at any later time, also in a forked child.
struct Core {
    std::uint64_t generation = 0;
#define DEEPLAKE_MEMBER(name) decltype(&dl_##name) name = nullptr;
    DEEPLAKE_FUNCTIONS(DEEPLAKE_MEMBER)
#undef DEEPLAKE_MEMBER
};

// The core of this process, loaded now if need be. Throws Failure when it cannot be loaded.
const Core& core();

// The core of this process, or nullptr if none is loaded. After a fork the child has none.
const Core* loaded_core();

// The generation that core() has, or would have.
std::uint64_t generation();

// Says where libdeeplake lies: beside the extension. Called once, at import.
void set_library_path(std::string path);

}  // namespace deeplake
