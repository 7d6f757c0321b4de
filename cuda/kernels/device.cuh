// What kernels share.
#pragma once

#include "tasks.h"

namespace {

// Returns the task that owns number n of the units that `first` counts.
template <typename Task, uint32_t Task::* first>
__device__ const Task& task_of(const Task* tasks, uint32_t count, uint32_t n) {
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (tasks[middle].*first <= n)
            low = middle;
        else
            high = middle;
    }
    return tasks[low];
}

__device__ int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }

}  // namespace
