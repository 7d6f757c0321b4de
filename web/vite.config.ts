import { defineConfig } from "vitest/config";

export default defineConfig({
  // Paths are relative, since a proxy may put a prefix before them.
  base: "./",
  build: {
    target: "es2022",
    // The content security policy allows no inline code: assets stay files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    sourcemap: false,
  },
  worker: { format: "es" },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  test: {
    include: ["src/**/*.test.{ts,tsx}", "tools/**/*.test.ts"],
    environment: "node",
    restoreMocks: true,
  },
});
