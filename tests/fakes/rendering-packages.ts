import { ApiError } from "../../core/http/api-error.ts";
import type { Platform } from "../../core/ports.ts";
import { mainContent } from "../../core/rendering/extract/mod.ts";

/** A platform where the packages that find the main content are not installed. */
export function withoutPackages(platform: Platform): Platform {
  const { background } = platform;
  return {
    ...platform,
    background: {
      ...background,
      run(task, input, signal) {
        if (task.name !== mainContent.name) return background.run(task, input, signal);
        return Promise.reject(new ApiError("missing_capability", { message: "extract: Install" }));
      },
    },
  };
}
