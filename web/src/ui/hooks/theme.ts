// Dark or light, by the choice of the system or the user.

import { useEffect } from "preact/hooks";
import type { Theme } from "../model/state";
import { useApp, useModel } from "./app";

const next: Record<Theme, Theme> = { auto: "dark", dark: "light", light: "auto" };

export function nextTheme(theme: Theme): Theme {
  return next[theme];
}

export function useTheme(): void {
  const model = useModel();
  const theme = useApp((s) => s.theme);
  useEffect(() => {
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    const apply = (): void => {
      const dark = theme === "dark" || (theme === "auto" && system.matches);
      document.documentElement.dataset.theme = dark ? "dark" : "light";
      model.set({ dark });
    };
    apply();
    system.addEventListener("change", apply);
    return () => system.removeEventListener("change", apply);
  }, [model, theme]);
}
