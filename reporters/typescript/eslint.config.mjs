// SPDX-License-Identifier: Apache-2.0
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["build*/", "dist/", "src/wire/"] },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      complexity: ["error", 12],
      "max-lines": ["error", 500],
      eqeqeq: "error",
      "@typescript-eslint/consistent-type-exports": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/explicit-module-boundary-types": "error",
      // The runner of node:test waits for its tests by itself.
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: ["describe", "test"] }] },
      ],
    },
  },
);
