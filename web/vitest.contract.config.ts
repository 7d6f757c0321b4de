// Runs the contract of the data layer; python/tests/test_visualizer_contract.py gives it a backend.

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["src/**/*.contract.ts"], environment: "node", testTimeout: 60_000, hookTimeout: 60_000 },
});
